package cart_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// fill opens a cart with two packets of tea in it.
func fill(t *testing.T, env *weftest.Env) {
	t.Helper()
	start := workflow.CallOptions{Start: cart.Workflow.WithStart(cart.Start{Owner: "ada"})}
	if _, err := cart.AddItem.Call(t.Context(), env.Client(), "cart-1", cart.Item{SKU: "tea", Quantity: 2}, start); err != nil {
		t.Fatal(err)
	}
}

func TestABankThatAnswersLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, cart.Registrations()...)
		charge := weftest.Mock(env, cart.Charge, func(_ context.Context, o cart.Order) (string, error) {
			time.Sleep(5 * time.Second) // takes no time
			return "payment-of-" + o.Owner, nil
		}).Fail(2, errors.New("the bank does not answer"))

		fill(t, env)
		receipt, err := cart.Checkout.Call(t.Context(), env.Client(), "cart-1", workflow.None{})
		if err != nil || receipt.Payment != "payment-of-ada" {
			t.Errorf("receipt %+v, %v", receipt, err)
		}
		if charge.Count() != 3 || charge.Inputs()[2].Cents != 900 {
			t.Errorf("charged %+v", charge.Calls())
		}
	})
}

func TestACartThatIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, cart.Registrations()...)
		remind := weftest.Mock(env, cart.Remind, func(context.Context, string) (activity.None, error) { return activity.None{}, nil })
		fill(t, env)
		env.After(71*time.Hour, func() {
			if err := cart.Note.Send(t.Context(), env.Client(), "cart-1", "I am back"); err != nil {
				t.Error(err)
			}
		})
		env.Sleep(72 * time.Hour)
		contents, err := cart.Contents.Ask(t.Context(), env.Client(), "cart-1", workflow.None{})
		if err != nil || len(contents.Notes) != 1 || remind.Count() != contents.Reminders || remind.Count() == 0 {
			t.Errorf("contents %+v, %v; %d reminders", contents, err, remind.Count())
		}
	})
}

func TestWhatAnItemCosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, cart.Registrations()...)
		fill(t, env)
		before := env.Cost()
		if _, err := cart.AddItem.Call(t.Context(), env.Client(), "cart-1", cart.Item{SKU: "cup", Quantity: 0}); !errors.Is(err, cart.ErrQuantity) {
			t.Errorf("a quantity of 0: %v", err)
		}
		if after := env.Cost(); after.Writes != before.Writes || after.Messages != before.Messages {
			t.Errorf("what is refused costs writes or messages: %v, and then %v", before, after)
		}
		h := env.History("cart-1")
		if accepted := h.Count(history.TypeWorkflowExecutionUpdateAccepted); accepted != 1 {
			t.Errorf("%d updates are in\n%s", accepted, h)
		}
	})
}

// A cart that an earlier build checked out replays with today's code.
func TestRecordedHistories(t *testing.T) {
	t.Parallel()
	weftest.Replay(t, cart.Registrations(), weftest.Files("testdata/*.json"))
}
