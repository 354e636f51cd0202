package queries_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/queries"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, queries.Registrations()...)
		if _, err := queries.Workflow.Start(ctx, p.Client, "bakery-1", 4); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			after    time.Duration
			progress float64
			second   string // the state of the second loaf
		}{
			{0, 0, "not yet"},
			{30 * time.Second, 0.25, "not yet"},
			{20 * time.Second, 0.5, "baked"},
			{time.Hour, 1, "baked"}, // the workflow has ended
		} {
			time.Sleep(test.after)
			before, err := p.History(ctx, "bakery-1")
			if err != nil {
				t.Fatal(err)
			}
			asking, m := meter.With(ctx)
			progress, err := queries.Progress.Ask(asking, p.Client, "bakery-1", workflow.None{})
			if err != nil || progress != test.progress {
				t.Errorf("progress %v, %v; want %v", progress, err, test.progress)
			}
			loaf, err := queries.Loaf.Ask(asking, p.Client, "bakery-1", 2)
			if err != nil || loaf != test.second {
				t.Errorf("the second loaf: %q, %v; want %q", loaf, err, test.second)
			}
			if cost := m.Cost(); cost.Writes != 0 || cost.Messages != 0 {
				t.Errorf("two queries cost %v, want no write and no message", cost)
			}
			if after, err := p.History(ctx, "bakery-1"); err != nil || len(after) != len(before) {
				t.Errorf("%d events before the queries and %d after, %v", len(before), len(after), err)
			}
		}
	})
}

func TestQueriesWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, queries.Registrations()...)
		if _, err := queries.Workflow.Start(ctx, p.Client, "bakery-1", 1); err != nil {
			t.Fatal(err)
		}
		unknown := workflow.NewQuery[workflow.None, string]("queries.weather")
		for name, test := range map[string]struct {
			ask  func() error
			want error
		}{
			"the handler's error": {func() error {
				_, err := queries.Loaf.Ask(ctx, p.Client, "bakery-1", 2)
				return err
			}, queries.ErrNoSuchLoaf},
			"an unknown query": {func() error {
				_, err := unknown.Ask(ctx, p.Client, "bakery-1", workflow.None{})
				return err
			}, client.ErrNotFound},
			"an unknown workflow": {func() error {
				_, err := queries.Loaf.Ask(ctx, p.Client, "bakery-2", 1)
				return err
			}, client.ErrNotFound},
			"an input that does not decode": {func() error {
				_, err := p.Query(ctx, "bakery-1", "", queries.Loaf.Name(), []byte(`"two"`))
				return err
			}, client.ErrInvalid},
		} {
			if err := test.ask(); !errors.Is(err, test.want) {
				t.Errorf("%s: %v, want %v", name, err, test.want)
			}
		}
	})
}
