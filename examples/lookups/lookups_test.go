package lookups_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/lookups"
	"github.com/seed-41655fb1/weft/weftest"
)

// The whole run is two writes, the start and the update, and not one message.
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
			t.Errorf("it cost %v, want 2 writes and no message", cost)
		}
	})
}

// A lookup that no retry can fix fails at once. Others are retried within the task.
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
			t.Errorf("%v after %d attempts, want the last of 3 to find no such article", err, prices.Count())
		}
		if cost := env.Cost(); cost.Writes != 1 || cost.Messages != 0 {
			t.Errorf("it cost %v, want 1 write and no message", cost)
		}
	})
}
