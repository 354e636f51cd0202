package cart_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/workflow"
)

// add puts an item into a cart, and opens the cart if none is open. The second result says what is
// wrong with the item.
func add(ctx context.Context, c *client.Client, item cart.Item) (cart.Total, string, error) {
	total, err := cart.AddItem.Call(ctx, c, "cart-42", item,
		workflow.CallOptions{Start: cart.Workflow.WithStart(cart.Start{Owner: "ada"})})
	var refused *client.Rejected
	switch {
	case errors.Is(err, cart.ErrQuantity), errors.Is(err, cart.ErrUnknownSKU):
		return total, "choose something else: " + err.Error(), nil
	case errors.As(err, &refused): // for another reason; nothing was written
		return total, "not now: " + refused.Error(), nil
	case errors.Is(err, client.ErrUpdatesInFlight): // there is a limit
		return total, "later, when the others are done", nil
	}
	return total, "", err // of the handler, or none
}

// checkOut checks a cart out.
func checkOut(ctx context.Context, c *client.Client) (cart.Receipt, error) {
	handle, err := cart.Checkout.Send(ctx, c, "cart-42", workflow.None{}) // returns when it is accepted: it is durable
	if err != nil {
		return cart.Receipt{}, err
	}
	return handle.Get(ctx) // waits for the outcome: the handler's result, or its error
}

// The code that docs/updates.md quotes works.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := start(t)
		if total, wrong, err := add(ctx, p.Client, cart.Item{SKU: "tea", Quantity: 2}); total.Items != 2 || wrong != "" || err != nil {
			t.Errorf("%+v, %q, %v", total, wrong, err)
		}
		if _, wrong, err := add(ctx, p.Client, cart.Item{SKU: "tea"}); err != nil || wrong != "choose something else: update rejected: the quantity must be between 1 and 99" {
			t.Errorf("%q, %v", wrong, err)
		}
		receipt, err := checkOut(ctx, p.Client)
		if err != nil || receipt.Items != 2 {
			t.Errorf("%+v, %v", receipt, err)
		}
	})
}
