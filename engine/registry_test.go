package engine_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
)

// Messages name the place of a program's type. A type of Weft's own has none that its user knows.
func TestWhereOwnTypesAre(t *testing.T) {
	t.Parallel()
	r := &engine.Registry{}
	for _, name := range []string{"order", "weft.order"} {
		if err := errors.Join(r.AddWorkflow(&engine.Workflow{Name: name, Where: "shop.go:1"}), r.AddActivity(&engine.Activity{Name: name, Where: "shop.go:2"})); err != nil {
			t.Fatal(err)
		}
	}
	got := []string{r.Workflow("order").Where, r.Activity("order").Where, r.Workflow("weft.order").Where, r.Activity("weft.order").Where}
	if want := []string{"shop.go:1", "shop.go:2", "a workflow of Weft's own", "an activity of Weft's own"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
