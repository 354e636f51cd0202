package cart_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

func start(t *testing.T) (context.Context, *testbed.Process) {
	t.Helper()
	p := testbed.New(t).Start(executor.Options{}, cart.Registrations()...)
	return t.Context(), p
}

func TestCheckout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := start(t)
		run, err := cart.Workflow.Start(ctx, p.Client, "cart-42", cart.Start{Owner: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			item cart.Item
			want error
		}{
			{cart.Item{SKU: "tea", Quantity: 0}, cart.ErrQuantity},
			{cart.Item{SKU: "tea", Quantity: 100}, cart.ErrQuantity},
			{cart.Item{SKU: "unicorn", Quantity: 1}, cart.ErrUnknownSKU},
		} {
			_, err := cart.AddItem.Call(ctx, p.Client, "cart-42", test.item)
			var refused *client.Rejected
			if !errors.As(err, &refused) || !errors.Is(err, test.want) {
				t.Errorf("%v: %v, want a rejection with %v", test.item, err, test.want)
			}
		}
		if _, err := cart.Checkout.Call(ctx, p.Client, "cart-42", workflow.None{}); !errors.Is(err, cart.ErrEmpty) {
			t.Errorf("checkout of an empty cart: %v", err)
		}
		total, err := cart.AddItem.Call(ctx, p.Client, "cart-42", cart.Item{SKU: "tea", Quantity: 2})
		if err != nil || total != (cart.Total{Items: 2, Cents: 900}) {
			t.Fatalf("total %v, %v", total, err)
		}
		if err := cart.Note.Send(ctx, p.Client, "cart-42", "as a present, please"); err != nil {
			t.Fatal(err)
		}
		contents, err := cart.Contents.Ask(ctx, p.Client, "cart-42", workflow.None{})
		if err != nil || len(contents.Notes) != 1 || contents.Total != total {
			t.Fatalf("contents %+v, %v", contents, err)
		}
		receipt, err := cart.Checkout.Call(ctx, p.Client, "cart-42", workflow.None{})
		if err != nil || receipt.Cents != 900 || receipt.Parcel == "" {
			t.Fatalf("receipt %+v, %v", receipt, err)
		}
		result, err := run.Result(ctx)
		if err != nil || result != receipt {
			t.Fatalf("result %+v, %v; want the receipt", result, err)
		}
	})
}

func TestADeclinedCardLeavesTheCartOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := start(t)
		if _, err := cart.Workflow.Start(ctx, p.Client, "cart-1", cart.Start{Owner: "mallory"}); err != nil {
			t.Fatal(err)
		}
		if _, err := cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "kettle", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		_, err := cart.Checkout.Call(ctx, p.Client, "cart-1", workflow.None{})
		var failed *workflow.ActivityError
		if !errors.Is(err, cart.ErrDeclined) || !errors.As(err, &failed) || failed.ActivityType != "charge" {
			t.Errorf("checkout: %v, want a failure of activity charge with declined", err)
		}
		if _, err := cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "cup", Quantity: 1}); err != nil {
			t.Errorf("the cart is not open again: %v", err)
		}
	})
}

func TestAnIdleCartReminds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := start(t)
		if _, err := cart.Workflow.Start(ctx, p.Client, "cart-1", cart.Start{Owner: "ada"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Hour)
		if _, err := cart.AddItem.Call(ctx, p.Client, "cart-1", cart.Item{SKU: "tea", Quantity: 1}); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			after time.Duration
			want  int
		}{{23 * time.Hour, 0}, {2 * time.Hour, 1}, {24 * time.Hour, 2}} {
			time.Sleep(test.after)
			contents, err := cart.Contents.Ask(ctx, p.Client, "cart-1", workflow.None{})
			if err != nil || contents.Reminders != test.want {
				t.Errorf("after %v more: %d reminders, %v; want %d", test.after, contents.Reminders, err, test.want)
			}
		}
	})
}

// The first item opens the cart. So does a note, if the cart is not open yet.
func TestTheFirstItemOpensTheCart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p := start(t)
		if err := cart.Note.Send(ctx, p.Client, "cart-7", "hurry", workflow.SendOptions{Start: cart.Workflow.WithStart(cart.Start{Owner: "ada"})}); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			total, err := cart.AddItem.Call(ctx, p.Client, "cart-7", cart.Item{SKU: "tea", Quantity: 1}, workflow.CallOptions{
				Start: cart.Workflow.WithStart(cart.Start{Owner: "bob"}), // the cart is open
			})
			if err != nil || total.Items != i+1 {
				t.Errorf("total %v, %v", total, err)
			}
		}
		total, err := cart.AddItem.Call(ctx, p.Client, "cart-8", cart.Item{SKU: "tea", Quantity: 1}, workflow.CallOptions{
			Start: cart.Workflow.WithStart(cart.Start{Owner: "bob"}),
		})
		if err != nil || total.Items != 1 {
			t.Errorf("total %v, %v", total, err)
		}
		contents, err := cart.Contents.Ask(ctx, p.Client, "cart-7", workflow.None{})
		if err != nil || contents.Owner != "ada" || len(contents.Notes) != 1 {
			t.Errorf("contents %+v, %v", contents, err)
		}
	})
}
