package orders_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/client"

	"example.com/shop/orders"
)

// serve runs the shop on Weft's local server until the test ends.
func serve(t *testing.T) *client.Client {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- weft.Serve(ctx, weft.Register(orders.Registrations()...), weft.Options{
			Addr: "127.0.0.1:0", Data: t.TempDir(), Greeting: func(_ io.Writer, url string) { ready <- url },
		})
	}()
	select {
	case url := <-ready:
		t.Cleanup(func() {
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
		return client.New(url)
	case err := <-ended:
		stop()
		t.Fatal(err)
		return nil
	}
}

func TestPaid(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), serve(t)
	run, err := orders.Workflow.Start(ctx, c, "order-1", orders.Order{Customer: "ada", Seconds: 3600})
	if err != nil {
		t.Fatal(err)
	}
	if cents, err := orders.Add.Call(ctx, c, "order-1", orders.Line{Thing: "tea", Quantity: 2, Cents: 450}); err != nil || cents != 900 {
		t.Errorf("%d, %v; want 900 cents", cents, err)
	}
	if cents, err := orders.Add.Call(ctx, c, "order-1", orders.Line{Thing: "tea", Quantity: 100, Cents: 450}); !errors.Is(err, orders.ErrQuantity) {
		t.Errorf("%d, %v; want that it is refused", cents, err)
	}
	if err := orders.Pay.Send(ctx, c, "order-1", "card-7"); err != nil {
		t.Fatal(err)
	}
	want := orders.Receipt{Cents: 900, Payment: "900 cents from card-7"}
	if receipt, err := run.Result(ctx); err != nil || receipt != want {
		t.Errorf("%+v, %v; want %+v", receipt, err, want)
	}
}

func TestNotPaid(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), serve(t)
	run, err := orders.Workflow.Start(ctx, c, "order-1", orders.Order{Customer: "ada", Seconds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if receipt, err := run.Result(ctx); err != nil || receipt != (orders.Receipt{}) {
		t.Errorf("%+v, %v; want no receipt", receipt, err)
	}
}
