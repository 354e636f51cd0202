package orders_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/weftest"

	"example.com/shop/orders"
)

func TestPaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, env := t.Context(), weftest.New(t, orders.Registrations()...)
		c := env.Client()
		run, err := orders.Workflow.Start(ctx, c, "order-1", orders.Order{Customer: "ada", Seconds: 3600})
		if err != nil {
			t.Fatal(err)
		}
		if cents, err := orders.Add.Call(ctx, c, "order-1", orders.Line{Thing: "tea", Quantity: 2, Cents: 450}); err != nil || cents != 900 {
			t.Errorf("%d, %v; want 900 cents", cents, err)
		}
		if cents, err := orders.Add.Call(ctx, c, "order-1", orders.Line{Thing: "tea", Quantity: 100, Cents: 450}); !errors.Is(err, orders.ErrQuantity) {
			t.Errorf("%d, %v; want a refusal", cents, err)
		}
		if err := orders.Pay.Send(ctx, c, "order-1", "card-7"); err != nil {
			t.Fatal(err)
		}
		want := orders.Receipt{Cents: 900, Payment: "900 cents from card-7"}
		if receipt, err := run.Result(ctx); err != nil || receipt != want {
			t.Errorf("%+v, %v; want %+v", receipt, err, want)
		}
	})
}

func TestNotPaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, orders.Registrations()...)
		run, err := orders.Workflow.Start(t.Context(), env.Client(), "order-1", orders.Order{Customer: "ada", Seconds: 3600})
		if err != nil {
			t.Fatal(err)
		}
		begun := env.Now()
		if receipt, err := run.Result(t.Context()); err != nil || receipt != (orders.Receipt{}) {
			t.Errorf("%+v, %v; want no receipt", receipt, err)
		}
		if waited := env.Now().Sub(begun); waited != time.Hour {
			t.Errorf("the order waited %v, want an hour", waited)
		}
	})
}
