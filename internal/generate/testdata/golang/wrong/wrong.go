// Package wrong uses a generated client in ways that do not compile. A comment marks each line.
package wrong

import (
	"context"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/generate/testdata/golang/cart"
	"github.com/seed-41655fb1/weft/internal/generate/testdata/golang/types"
	"github.com/seed-41655fb1/weft/workflow"
)

func wrong(ctx context.Context, c *client.Client) {
	_, _ = cart.Cart.Start(ctx, c, "cart-1", cart.Start{Owned: "ada"})                       // wrong: there is no such field
	_, _ = cart.Cart.Start(ctx, c, "cart-1", workflow.None{})                                // wrong: a cart needs an owner
	_, _ = cart.Approval.Start(ctx, c, "desk-1", cart.Start{})                               // wrong: an approval takes no input
	_, _ = cart.Cart.AddItems.Call(ctx, c, "cart-1", cart.Item{})                            // wrong: there is no such update
	_, _ = cart.Cart.AddItem.Call(ctx, c, "cart-1", cart.Item{Quantiy: 1})                   // wrong: a field is misspelt
	_, _ = cart.Cart.AddItem.Call(ctx, c, "cart-1", cart.Item{SKU: "tea", Quantity: "1"})    // wrong: a quantity is a number
	_, _ = cart.Cart.Cart.Call(ctx, c, "cart-1", workflow.None{})                            // wrong: a query is no update
	_ = cart.Cart.Note.Send(ctx, c, "cart-1", 1)                                             // wrong: a note is a text
	_ = cart.ErrUnknownSKU.With(cart.Item{})                                                 // wrong: its details are others
	_ = cart.ErrUnknownSku                                                                   // wrong: there is no such error
	total, _ := cart.Cart.AddItem.Call(ctx, c, "cart-1", cart.Item{SKU: "tea", Quantity: 1}) // right
	_ = total.Items + total.Price                                                            // wrong: the total has no such member
	details, ok := cart.ErrUnknownSKU.DetailsOf(context.Canceled)                            // right
	_ = ok && details.SKUs == ""                                                             // wrong: the details have no such member
	contents, _ := cart.Cart.Cart.Ask(ctx, c, "cart-1", workflow.None{})                     // right
	_ = contents.Total.Items + contents.Notes                                                // wrong: notes are no number
}

func starts() {
	_ = workflow.StartOptions{
		SearchAttributes: []workflow.SearchAttribute{
			types.AllTypes.Region.Set("eu"),    // right
			types.AllTypes.Amount.Set(1),       // right
			types.AllTypes.Regoin.Set("eu"),    // wrong: an attribute is misspelt
			types.AllTypes.Amount.Set("1"),     // wrong: an attribute has another type
			types.AllTypes.Customer.Set("Ada"), // wrong: a field of the memo is no attribute
		},
		Memo: []workflow.MemoField{
			types.AllTypes.Customer.Set(types.Customer{Name: "Ada"}), // right
			types.AllTypes.Costumer.Set(types.Customer{Name: "Ada"}), // wrong: a field of the memo is misspelt
			types.AllTypes.Customer.Set("Ada"),                       // wrong: a field of the memo has another type
		},
	}
}
