package callbacks_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/callbacks"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

func TestCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, callbacks.Registrations()...)
		start := func(number string) workflow.Run[callbacks.Receipt] {
			run, err := callbacks.Workflow.Start(ctx, p.Client, number, callbacks.Invoice{Number: number, Cents: 1250})
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
		paid, refused, ignored := start("i-1"), start("i-2"), start("i-3")
		time.Sleep(5 * 24 * time.Hour)
		receipt := callbacks.Receipt{Cents: 1250, By: "card"}
		for range 2 { // a webhook that is called twice
			if err := callbacks.Paid(ctx, p.Client, callbacks.Provider.Token("i-1"), receipt); err != nil {
				t.Fatal(err)
			}
		}
		if err := callbacks.Refused(ctx, p.Client, callbacks.Provider.Token("i-1")); !errors.Is(err, client.ErrActivityEnded) {
			t.Errorf("the second call of the webhook: %v", err)
		}
		if err := callbacks.Refused(ctx, p.Client, callbacks.Provider.Token("i-2")); err != nil {
			t.Fatal(err)
		}
		if got, err := paid.Result(ctx); err != nil || got != receipt {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := refused.Result(ctx); !errors.Is(err, callbacks.ErrRefused) {
			t.Errorf("%v, want a refusal", err)
		}
		time.Sleep(9 * 24 * time.Hour) // two weeks pass: a client that waited for them would ask every 20 seconds
		var timeout *workflow.TimeoutError
		if _, err := ignored.Result(ctx); !errors.As(err, &timeout) {
			t.Errorf("%v, want a time-out", err)
		}
		if err := callbacks.Paid(ctx, p.Client, "a guess", receipt); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an invalid token: %v", err)
		}
	})
}
