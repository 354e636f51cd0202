package schemas

import (
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/internal/contract/diff"
)

// If a change of an input breaks no callers, the new schema accepts what the old one accepts.
func TestChangesThatBreakNothing(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(rt *rapid.T) {
		var judges [2]*jsonschema.Schema
		var documents [2]*contract.Document
		for i := range documents {
			typ := drawType(rt, 2)
			if rapid.Bool().Draw(rt, "struct") {
				typ = reflect.StructOf([]reflect.StructField{{Name: "A", Type: typ}, {Name: "B", Type: drawType(rt, 1), Tag: `json:",omitempty"`}})
			}
			d, root, judge := validator(t, typ, rapid.Bool().Draw(rt, "lenient"))
			d.Version, d.Workflows = 1, map[string]*contract.Workflow{"w": {Updates: map[string]*contract.Update{"u": {Input: root}}}}
			documents[i], judges[i] = d, judge
		}
		changes := diff.Compare(documents[0], documents[1])
		for _, c := range changes {
			if c.Callers == diff.Breaks {
				return
			}
		}
		for range 5 {
			text := writer{d: documents[0], t: rt}.value(documents[0].Workflows["w"].Updates["u"].Input, 0)
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				rt.Fatal(err)
			}
			if judges[0].Validate(value) != nil {
				continue
			}
			accepted++
			if err := judges[1].Validate(value); err != nil {
				rt.Fatalf("the new schema refuses %s: %v\n%s%sthe changes: %+v", text, err, documents[0].Text(), documents[1].Text(), changes)
			}
		}
	})
	if accepted < 20 {
		t.Errorf("only %d values were accepted", accepted)
	}
}
