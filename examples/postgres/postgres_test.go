package postgres

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	"github.com/seed-41655fb1/weft/store/storetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// opener returns a function that connects to a new schema, and closes the earlier connections.
func opener(t *testing.T) func() *pgxpool.Pool {
	url := database(t)
	var last *pgxpool.Pool
	closeLast := func() {
		if last != nil {
			last.Close()
		}
	}
	t.Cleanup(closeLast)
	return func() *pgxpool.Pool {
		closeLast()
		var err error
		if last, err = connect(context.Background(), url); err != nil {
			t.Fatal(err)
		}
		return last
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			open := opener(t)
			return func() storetest.Store { return &Store{open()} }
		},
		MaxBody: MaxBody, PageBytes: pageBytes, Reopens: true, Lists: true, Expires: true,
	})
}

func TestQueue(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
			open, clock := opener(t), queuetest.NewClock()
			return func() queuetest.Queue {
				q := NewQueue(open(), settings, clock.Now)
				clock.OnMove(q.wake)
				return q
			}, clock
		},
		MaxBody: MaxMessage, Reopens: true, Inspects: true, Redrives: true, Browses: true,
	})
}

// A cart runs in the local server. One update is accepted and another one refused, and a restarted
// server continues. The checkout runs three activities, whose messages go through the queue.
func TestServer(t *testing.T) {
	t.Parallel()
	url, data := database(t), filepath.Join(t.TempDir(), "data")
	serve(t, url, data, func(c *client.Client) {
		total, err := cart.AddItem.Call(t.Context(), c, "cart-42", cart.Item{SKU: "tea", Quantity: 2},
			workflow.CallOptions{Start: cart.Workflow.WithStart(cart.Start{Owner: "ada"})})
		if err != nil || total.Items != 2 {
			t.Errorf("an item: %+v, %v", total, err)
		}
		if _, err := cart.AddItem.Call(t.Context(), c, "cart-42", cart.Item{SKU: "tea"}); !errors.Is(err, cart.ErrQuantity) {
			t.Errorf("a quantity of 0: %v, want %v", err, cart.ErrQuantity)
		}
	})
	serve(t, url, data, func(c *client.Client) {
		receipt, err := cart.Checkout.Call(t.Context(), c, "cart-42", workflow.None{})
		if err != nil || receipt.Items != 2 {
			t.Errorf("the checkout: %+v, %v", receipt, err)
		}
		result, err := cart.Workflow.Get(c, "cart-42").Result(t.Context())
		if err != nil || result != receipt {
			t.Errorf("the result: %+v, %v; want %+v", result, err, receipt)
		}
	})
}

// serve runs a local server over a database while do runs.
func serve(t *testing.T, url, data string, do func(c *client.Client)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- weft.Serve(ctx, weft.Register(cart.Registrations()...), weft.Options{
			Addr: "127.0.0.1:0", Data: data, Backend: Open(url), SmallPayloads: true,
			Greeting: func(_ io.Writer, url string) { ready <- url },
		})
	}()
	select {
	case address := <-ready:
		do(client.New(address))
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	case err := <-ended:
		stop()
		t.Fatalf("the server did not start: %v", err)
	}
}
