package history

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// constants returns the names of the constants of type Type, as event.go declares them.
func constants(t *testing.T) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			if typ, ok := v.Type.(*ast.Ident); ok && typ.Name == "Type" {
				names = append(names, v.Names[0].Name)
			}
		}
		return true
	})
	slices.Sort(names)
	return names
}

// Each type of event has a row with the name of its constant.
func TestEachTypeHasARow(t *testing.T) {
	t.Parallel()
	var rows []string
	for typ, k := range kinds {
		rows = append(rows, "Type"+k.name)
		if a := k.make(); a.Type() != typ || typ.String() != k.name {
			t.Errorf("the row of %s returns attributes of the type %s", typ, a.Type())
		}
	}
	slices.Sort(rows)
	if want := constants(t); !slices.Equal(rows, want) || len(want) < 40 {
		t.Errorf("there are the rows\n%q\nand the constants\n%q", rows, want)
	}
}

// started returns how many things an event starts.
func started(a Attributes) (n int) {
	what := InitiatedBy(a)
	for _, is := range []bool{what.Activity != nil, what.Timer != nil, what.Child != nil, what.External != nil} {
		if is {
			n++
		}
	}
	return n
}

// The columns of a type of event fit its role.
func TestColumnsFitTheRoles(t *testing.T) {
	t.Parallel()
	for typ, k := range kinds {
		a := k.make()
		_, news := a.(News)
		_, record := a.(Record)
		_, closing := a.(Closing)
		_, initiation := a.(Initiation)
		_, step := a.(TaskStep)
		_, arrival := a.(Arrival)
		roles := 0
		for _, is := range []bool{news, record, closing, initiation, step, arrival} {
			if is {
				roles++
			}
		}
		command := record || closing || initiation
		switch {
		case roles != 1:
			t.Errorf("%s has %d roles", typ, roles)
		case news && k.resolves == nil && typ != TypeChildWorkflowExecutionStarted:
			t.Errorf("%s is news, and resolves nothing", typ)
		case initiation == (k.starts == nil), initiation && started(a) != 1:
			t.Errorf("%s starts %d things", typ, started(a))
		case closing && (k.ends == nil || EndOf(a).Status == Running), arrival && k.ends != nil && EndOf(a).Status == Running:
			t.Errorf("%s ends its run without a status", typ)
		case !command && (k.named != nil || k.refers != nil || k.says != nil):
			t.Errorf("%s is not a command, and has an identity", typ)
		}
	}
}

// News resolve something if their members are set. A message to another workflow arrives by an
// event from outside, and both of its answers resolve it.
func TestColumnsAgree(t *testing.T) {
	t.Parallel()
	for typ, k := range kinds {
		a := k.make()
		fill(a, 1, false)
		if k.resolves != nil && ResolutionOf(a).ID() == 0 {
			t.Errorf("%s resolves nothing: %+v", typ, a)
		}
		d := InitiatedBy(a).External
		if d == nil {
			continue
		}
		if _, ok := d.Arrives("request").(Arrival); !ok || d.WorkflowID == "" {
			t.Errorf("%s does not arrive at a workflow", typ)
		}
		for _, f := range []*failure.Failure{nil, {}} {
			if id := ResolutionOf(d.Answer(7, f)).External; id != 7 {
				t.Errorf("an answer resolves the %s of event %d, want 7", typ, id)
			}
		}
	}
}
