package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/contract"
	"github.com/seed-41655fb1/weft/workflow"
)

type (
	parcel struct {
		To     string            `json:"to" jsonschema:"minLength=1,description=Where it goes."`
		Weight *float64          `json:"weight" jsonschema:"maximum=30"`
		Marks  []string          `json:"marks,omitempty" jsonschema:"enum=fragile,enum=urgent"`
		Labels map[string]string `json:"labels,omitempty"`
		Inner  struct {
			Deep []parcel `json:"deep"`
		} `json:"inner"`
	}
	tracked struct{ At string }
)

// postal returns workflows whose contract has something of everything.
func postal() []workflow.Registration {
	send := workflow.NewWorkflow[parcel, workflow.None]("send")
	names := workflow.Names(
		workflow.NewUpdate[parcel, *tracked]("readdress"), workflow.NewUpdate[workflow.None, workflow.None]("stop"), workflow.NewQuery[workflow.None, []tracked]("where"),
		workflow.NewSignal[string]("note"), workflow.NewAttribute[int64]("Weight"), workflow.NewMemo[tracked]("last"),
	)
	code := func(workflow.Context, parcel) (workflow.None, error) { return workflow.None{}, nil }
	return []workflow.Registration{
		workflow.Bind(send, code, names, workflow.BindOptions{Pinned: true, Dynamic: workflow.Signals}),
		activity.NewLocal("send", func(context.Context, string) (tracked, error) { return tracked{}, nil }),
		activity.New("carry", func(context.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }),
	}
}

func TestTypes(t *testing.T) {
	t.Parallel()
	at := "--url=" + work(t, t.TempDir(), append(cart.Registrations(), postal()...)...)
	for line, want := range map[string]string{
		"types -o table": `
KIND      TYPE     PINNED  TASK QUEUE  START TO CLOSE  NAMES
workflow  cart                                         updates addItem, checkout; query cart; signal note
workflow  send     pinned                              updates readdress, stop; query where; signal note; any other signals
activity  carry                                   30s
activity  charge                                  10s
activity  remind                                  30s
activity  reserve                                 30s
activity  send
activity  ship                                    30s
`,
		"types -q": "\ncart\nsend\ncarry\ncharge\nremind\nreserve\nsend\nship\n",
		"types send -o table": `
workflow send(parcel), pinned, any other signals

updates
  readdress(parcel) -> tracked or null
  stop()

queries
  where() -> list of tracked or null

signals
  note(string)

search attributes
  Weight: int

memo
  last: tracked

local activity send(string) -> tracked

types
  parcel: object
    to      string of at least 1 character
      Where it goes.
    weight  number of at most 30 or null
    marks   list of one of "fragile", "urgent" or null, optional
    labels  map of string or null, optional
    inner   object
      deep  list of parcel or null
  tracked: object
    At  string
`,
		"types carry -o table": "\nactivity carry()\n",
		"types carry -q":       "\ncarry\n",
	} {
		out, err := command(t, line+" "+at)
		if diff := cmp.Diff(want, "\n"+out); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
	}
	out, err := command(t, "types send -o json "+at)
	if err != nil {
		t.Fatal(err)
	}
	if d, err := contract.Read([]byte(out)); err != nil || d.Workflows["send"] == nil {
		t.Errorf("%v: %s", err, out)
	}
	if out, err = command(t, "types -o json "+at); err != nil || !json.Valid([]byte(out)) || !strings.Contains(out, `"signals": [`) {
		t.Errorf("%v: %s", err, out)
	}
	for line, code := range map[string]cli.Code{"types sned ": cli.NotFound, "types --build=b9 ": cli.Refused, "types send --build=b9 ": cli.Refused} {
		if _, err := command(t, line+at); cli.CodeOf(err) != code || err == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// A comment is printed below what it is about, and what a terminal would obey is not printed.
func TestTypesOfComments(t *testing.T) {
	t.Parallel()
	p := &contractPage{session: &cli.Session{}}
	p.workflow("cart", &contract.Workflow{
		Doc: "Workflow is\nthe cart.", Lenient: true,
		Updates: map[string]*contract.Update{"add\x1b[2J": {Doc: "Adds.", Errors: []contract.ErrorType{{Type: "unknownSku", Message: "there is none", Details: contract.Reference("Sku")}, {Type: "closed"}}}},
	}, false)
	const want = `workflow cart(), lenient
  Workflow is
  the cart.

updates
  add\x1b[2J()
    Adds.
    error unknownSku with Sku: there is none
    error closed`
	if diff := cmp.Diff(want, strings.Join(p.lines, "\n")); diff != "" {
		t.Error(diff)
	}
}

// The list has a row for the types that it does not have and the program has code for. The contract
// of such a type says so.
func TestDynamicTypes(t *testing.T) {
	t.Parallel()
	at := " --url=" + work(t, t.TempDir(),
		workflow.Dynamic(func(workflow.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil }),
		activity.Dynamic(func(context.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil }))
	for line, want := range map[string]string{
		"types -o table":      "\nKIND      TYPE         PINNED  TASK QUEUE  START TO CLOSE  NAMES\nworkflow  (any other)\nactivity  (any other)\n",
		"types -q":            "\n",
		"types -o jsonl":      "\n{\"kind\":\"workflow\",\"name\":\"\",\"any\":true}\n{\"kind\":\"activity\",\"name\":\"\",\"any\":true}\n",
		"types mail -o table": "\nworkflow mail(any value) -> any value, like any type that is not listed, any other queries, any other signals, any other topics, any other updates\n\nactivity mail(any value) -> any value, like any type that is not listed\n",
	} {
		out, err := command(t, line+at)
		if diff := cmp.Diff(want, "\n"+out); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", line, err, diff)
		}
	}
}
