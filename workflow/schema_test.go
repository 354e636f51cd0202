package workflow_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/invopop/jsonschema"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// colour limits its values by its schema.
type colour string

// JSONSchema lists the colours.
func (colour) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Enum: []any{"red", "blue"}}
}

var (
	painted = workflow.NewWorkflow[colour, colour]("painted")
	paint   = workflow.NewUpdate[colour, colour]("paint")
)

// A value beyond the schema of a named string is refused before anything is written.
func TestSchemaOfANamedString(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(painted, func(ctx workflow.Context, c colour) (colour, error) {
			paint.Handle(ctx, func(_ workflow.Context, to colour) (colour, error) {
				c = to
				return c, nil
			})
			return c, workflow.Await(ctx, func() bool { return c == "blue" })
		}, workflow.Names(paint)))
		ctx, c := t.Context(), env.Client()
		want := `want one of "red", "blue", got "green"`
		if _, err := painted.Start(ctx, c, "p", "green"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a start: %v", err)
		}
		if _, err := painted.Start(ctx, c, "p", "red"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Call(ctx, "p", "paint", []byte(`"green"`), client.UpdateOptions{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("an update: %v", err)
		}
		if to, err := paint.Call(ctx, c, "p", "blue"); err != nil || to != "blue" {
			t.Errorf("%v, %v", to, err)
		}
	})
}
