package attributes_test

import (
	"errors"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/attributes"
	"github.com/seed-41655fb1/weft/weftest"
)

func TestOrdersAreFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, attributes.Registrations()...)
		ctx, c := t.Context(), env.Client()
		for id, o := range map[string]attributes.Order{
			"order-1": {Region: "eu", Cents: 900, Buyer: attributes.Person{Name: "Ada"}},
			"order-2": {Region: "eu", Cents: 25_000, Buyer: attributes.Person{Name: "Bob"}},
			"order-3": {Region: "us", Cents: 25_000, Buyer: attributes.Person{Name: "Eve"}},
		} {
			if _, err := attributes.Start(ctx, c, id, o); err != nil {
				t.Fatal(err)
			}
		}
		finds := func(filter string, want map[string]string) {
			t.Helper()
			if found, err := attributes.Found(ctx, c, filter); err != nil || !maps.Equal(found, want) {
				t.Errorf("%s: %v, %v; want %v", filter, found, err, want)
			}
		}
		finds("Region = 'eu' AND Cents > 10000", map[string]string{"order-2": "Bob"})
		finds("Region IN ('eu', 'us') AND Cents = 25000", map[string]string{"order-2": "Bob", "order-3": "Eve"})

		if before, err := attributes.Advance.Call(ctx, c, "order-3", "shipped"); err != nil || before != "ordered" {
			t.Errorf("the stage was %q, %v", before, err)
		}
		found, _, err := env.Client().List(t.Context(), "Stage = 'shipped' AND Region = 'us'", "")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		if due, _ := attributes.Due.Of(found[0].SearchAttributes); !due.Equal(time.Now().Add(48 * time.Hour)) {
			t.Errorf("it is due %v", due)
		}
		if _, err := attributes.Advance.Call(ctx, c, "order-2", "lost"); !errors.Is(err, attributes.ErrNoStage) {
			t.Errorf("an invalid stage: %v", err)
		}
		finds("Stage = 'ordered'", map[string]string{"order-1": "Ada", "order-2": "Bob"})
		finds("Due < '2000-01-04T00:00:00Z' AND ExecutionStatus = 'Running'", map[string]string{"order-3": "Eve"})

		if _, err := attributes.Advance.Call(ctx, c, "order-3", "delivered"); err != nil {
			t.Fatal(err)
		}
		run := attributes.Workflow.Get(c, "order-3")
		if last, err := run.Result(ctx); err != nil || last != "delivered" {
			t.Errorf("order-3 ended as %q, %v", last, err)
		}
		finds("Stage = 'delivered' AND CloseTime IS NOT NULL AND Due IS NULL", map[string]string{"order-3": "Eve"})

		d, err := c.Describe(ctx, "order-2", "")
		if err != nil {
			t.Fatal(err)
		}
		if stage, ok := attributes.Stage.Of(d.SearchAttributes); stage != "ordered" || !ok {
			t.Errorf("order-2 is %q", stage)
		}
		if due, ok := attributes.Due.Of(d.SearchAttributes); ok || due != (time.Time{}) {
			t.Errorf("order-2 is due %v", due)
		}
		for _, id := range []string{"order-1", "order-2"} {
			if err := attributes.Workflow.Get(c, id).Terminate(ctx, "the test is over"); err != nil {
				t.Error(err)
			}
		}
	})
}
