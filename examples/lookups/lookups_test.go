package lookups_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/lookups"
	"github.com/seed-41655fb1/weft/weftest"
)

// The whole run costs two writes, for the start and the update, and no message.
func TestQuote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, lookups.Registrations()...)
		prices := weftest.Watch(env, lookups.Price)
		run, err := lookups.Workflow.Start(t.Context(), env.Client(), "quote-1", []string{"tea", "cake", "tea"})
		if err != nil {
			t.Fatal(err)
		}
		want := lookups.Quote{Cents: 1146, Currency: "CHF"}
		if quote, err := lookups.Take.Call(t.Context(), env.Client(), "quote-1", "CHF"); err != nil || quote != want {
			t.Errorf("%+v, %v; want %+v", quote, err, want)
		}
		if quote, err := run.Result(t.Context()); err != nil || quote != want || prices.Count() != 3 {
			t.Errorf("%+v, %v after %d prices; want %+v after 3", quote, err, prices.Count(), want)
		}
		if cost := env.Cost(); cost.Writes != 2 || cost.Messages != 0 {
			t.Errorf("the run cost %v, want 2 writes and no message", cost)
		}
	})
}

// A lookup with a final error fails at once. Other lookups are retried within the task.
func TestPricesFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, lookups.Registrations()...)
		prices := weftest.Watch(env, lookups.Price).Fail(2, errors.New("the shop does not answer"))
		run, err := lookups.Workflow.Start(t.Context(), env.Client(), "quote-1", []string{"pie"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); !errors.Is(err, lookups.ErrUnknownArticle) || prices.Count() != 3 {
			t.Errorf("%v after %d attempts, want an unknown article after 3", err, prices.Count())
		}
		if cost := env.Cost(); cost.Writes != 1 || cost.Messages != 0 {
			t.Errorf("the run cost %v, want 1 write and no message", cost)
		}
	})
}
