// Package cart is Weft's main example: a shopping cart that is a workflow.
//
//   - An update adds items. It refuses what cannot be sold, and returns the total.
//   - The update checkout runs three activities, and returns the receipt.
//   - A reminder is sent when the cart is idle.
package cart

import (
	"time"

	"github.com/seed-41655fb1/weft/workflow"
)

// The cart's declarations. Their comments are in its contract (contract.json).
var (
	// Workflow is a shopping cart. It ends when it has been checked out.
	Workflow = workflow.NewWorkflow[Start, Receipt]("cart")
	// AddItem adds an item, and returns the total.
	AddItem = workflow.NewUpdate[Item, Total]("addItem", workflow.Errors(ErrQuantity, ErrUnknownSKU, ErrCheckingOut))
	// Checkout reserves, charges and ships what the cart has, and returns the receipt.
	Checkout = workflow.NewUpdate[workflow.None, Receipt]("checkout", workflow.Errors(ErrEmpty, ErrCheckingOut))
	// Contents returns what the cart has.
	Contents = workflow.NewQuery[workflow.None, Contained]("cart")
	// Note adds a note for those who pack the cart.
	Note = workflow.NewSignal[string]("note")
)

// Names are all that a cart handles, for whoever binds Workflow to Run.
var Names = workflow.Names(AddItem, Checkout, Contents, Note)

// idleAfter is how long a cart lies idle before its owner is reminded.
const idleAfter = 24 * time.Hour

// Run is the life of one cart: it ends when the cart has been checked out.
func Run(ctx workflow.Context, in Start) (Receipt, error) {
	c := &cart{owner: in.Owner, lines: []Item{}, notes: []string{}, touched: workflow.Now(ctx)}
	Contents.Handle(ctx, func(workflow.None) (Contained, error) { return c.contained(), nil })
	AddItem.Handle(ctx, c.add, workflow.Validate(c.canAdd))
	Checkout.Handle(ctx, c.checkOut, workflow.Validate(c.canCheckOut))

	wake := c.remindAt()
	for c.receipt == nil {
		err := workflow.Select(ctx,
			workflow.OnCondition(func() bool { return c.receipt != nil }),
			workflow.OnSignal(Note, func(text string) { c.notes = append(c.notes, text) }),
			workflow.OnTimer(wake, func() { wake = c.remind(ctx) }))
		if err != nil {
			return Receipt{}, err
		}
	}
	if err := workflow.AwaitHandlers(ctx); err != nil {
		return Receipt{}, err
	}
	return *c.receipt, nil
}

// cart is the state of one cart. Its methods are the handlers.
type cart struct {
	owner       string
	lines       []Item
	notes       []string
	touched     time.Time // when an item was last added
	reminded    int
	checkingOut bool
	receipt     *Receipt
}

func (c *cart) canAdd(item Item) error {
	switch {
	case item.Quantity < 1 || item.Quantity > 99:
		return ErrQuantity
	case prices[item.SKU] == 0:
		return ErrUnknownSKU
	case c.checkingOut:
		return ErrCheckingOut
	}
	return nil
}

func (c *cart) add(ctx workflow.Context, item Item) (Total, error) {
	c.lines = append(c.lines, item)
	c.touched = workflow.Now(ctx)
	return c.total(), nil
}

func (c *cart) canCheckOut(workflow.None) error {
	switch {
	case len(c.lines) == 0:
		return ErrEmpty
	case c.checkingOut:
		return ErrCheckingOut
	}
	return nil
}

// checkOut reserves, charges and ships. If that fails, the caller gets the error, and the cart is
// open again.
func (c *cart) checkOut(ctx workflow.Context, _ workflow.None) (Receipt, error) {
	c.checkingOut = true
	defer func() { c.checkingOut = false }()
	order := Order{Owner: c.owner, Lines: c.lines, Cents: c.total().Cents}
	reservation, err := Reserve.Run(ctx, order)
	if err != nil {
		return Receipt{}, err
	}
	payment, err := Charge.Run(ctx, order)
	if err != nil {
		return Receipt{}, err
	}
	parcel, err := Ship.Run(ctx, reservation)
	if err != nil {
		return Receipt{}, err
	}
	c.receipt = &Receipt{Owner: c.owner, Items: c.total().Items, Cents: order.Cents, Payment: payment, Parcel: parcel}
	return *c.receipt, nil
}

// remindAt returns when the owner is reminded if nothing happens, a day later each time.
func (c *cart) remindAt() time.Time { return c.touched.Add(time.Duration(c.reminded+1) * idleAfter) }

// remind reminds the owner, unless an item was added since the timer was started, and returns when
// to look again. So items need no new timer, which would cost a message each time.
func (c *cart) remind(ctx workflow.Context) time.Time {
	if !c.checkingOut && !c.remindAt().After(workflow.Now(ctx)) {
		c.reminded++
		Remind.Start(ctx, c.owner)
	}
	return c.remindAt()
}

func (c *cart) total() Total {
	var t Total
	for _, line := range c.lines {
		t.Items += line.Quantity
		t.Cents += int64(line.Quantity) * prices[line.SKU]
	}
	return t
}

func (c *cart) contained() Contained {
	return Contained{Owner: c.owner, Lines: c.lines, Notes: c.notes, Total: c.total(), CheckingOut: c.checkingOut, Reminders: c.reminded}
}

// Registrations returns everything that a program has to register to run carts.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, Names), Reserve, Charge, Ship, Remind}
}
