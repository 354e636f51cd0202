//go:build e2e

// Package e2e_test tests a deployed shop: `make e2e URL=https://...`.
package e2e_test

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/client/sigv4"

	"example.com/shop/orders"
)

// deployed returns a client of the deployment, with the AWS credentials of the user who runs the
// test.
func deployed(t *testing.T) (context.Context, *client.Client) {
	t.Helper()
	url := os.Getenv("SHOP_URL")
	if url == "" {
		t.Fatal("SHOP_URL is not set: it is the address that the deployment printed")
	}
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	signing, err := sigv4.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return t.Context(), client.New(url, client.Options{HTTP: signing})
}

// begin starts an order with a new id.
func begin(ctx context.Context, t *testing.T, c *client.Client, seconds int) (id string, result func() (orders.Receipt, error)) {
	t.Helper()
	id = "e2e-" + rand.Text()
	run, err := orders.Workflow.Start(ctx, c, id, orders.Order{Customer: "ada", Seconds: seconds})
	if err != nil {
		t.Fatal(err)
	}
	return id, func() (orders.Receipt, error) { return run.Result(ctx) }
}

// An order refuses an invalid line, grows, and is paid. The card is charged.
func TestPaid(t *testing.T) {
	t.Parallel()
	ctx, c := deployed(t)
	id, result := begin(ctx, t, c, 86400)
	if cents, err := orders.Add.Call(ctx, c, id, orders.Line{Thing: "tea", Quantity: 100, Cents: 450}); !errors.Is(err, orders.ErrQuantity) {
		t.Errorf("%d, %v; want a refusal", cents, err)
	}
	if cents, err := orders.Add.Call(ctx, c, id, orders.Line{Thing: "tea", Quantity: 2, Cents: 450}); err != nil || cents != 900 {
		t.Errorf("%d, %v; want 900 cents", cents, err)
	}
	if err := orders.Pay.Send(ctx, c, id, "card-7"); err != nil {
		t.Fatal(err)
	}
	want := orders.Receipt{Cents: 900, Payment: "900 cents from card-7"}
	if receipt, err := result(); err != nil || receipt != want {
		t.Errorf("%+v, %v; want %+v", receipt, err, want)
	}
}

// An order that is not paid ends when its timer fires.
func TestNotPaid(t *testing.T) {
	t.Parallel()
	ctx, c := deployed(t)
	_, result := begin(ctx, t, c, 1)
	if receipt, err := result(); err != nil || receipt != (orders.Receipt{}) {
		t.Errorf("%+v, %v; want no receipt", receipt, err)
	}
}
