package schemas

import (
	"fmt"
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
		var common []reflect.Type // of the fields that both may have
		for range 3 {
			common = append(common, drawType(rt, 1))
		}
		for i := range documents {
			var fields []reflect.StructField
			for j, typ := range common {
				tag := rapid.SampledFrom([]string{``, `json:",omitempty"`, `jsonschema:"optional"`, `jsonschema:"minimum=1"`, `jsonschema:"maxLength=2"`}).Draw(rt, "tag")
				field := reflect.StructField{Name: fmt.Sprintf("F%d", j), Type: typ, Tag: reflect.StructTag(tag)}
				switch rapid.IntRange(0, 9).Draw(rt, "change") {
				case 0:
					continue
				case 1:
					field.Type = drawType(rt, 1)
				case 2:
					field.Type = reflect.PointerTo(typ)
				}
				fields = append(fields, field)
			}
			typ := reflect.StructOf(fields)
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
	t.Log(accepted, "values were accepted")
	if accepted == 0 {
		t.Error("no value was accepted")
	}
}
