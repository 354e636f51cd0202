// Package orders has the shop's only workflow: an order that grows by updates until it is paid, or
// until its time has passed.
package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is an order, with its update and its signal.
var (
	Workflow = workflow.NewWorkflow[Order, Receipt]("order")
	Add      = workflow.NewUpdate[Line, int]("add")
	Pay      = workflow.NewSignal[string]("pay")
	Charge   = activity.New("orders.charge", charge)

	ErrQuantity = workflow.NewError("quantity", "an order takes 1 to 99 of a thing at a time")
)

// Order is the input of an order.
type Order struct {
	Customer string `json:"customer"`
	// Seconds is how long the shop waits for the payment.
	Seconds int `json:"seconds"`
}

// Line is a quantity of one article, with its price.
type Line struct {
	Thing    string `json:"thing"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

// Bill is what is charged to a card.
type Bill struct {
	Card  string `json:"card"`
	Cents int    `json:"cents"`
}

// Receipt is the result of an order. It has no payment if the time has passed.
type Receipt struct {
	Cents   int    `json:"cents"`
	Payment string `json:"payment,omitempty"`
}

// Run is the life of an order.
func Run(ctx workflow.Context, o Order) (Receipt, error) {
	cents := 0
	Add.Handle(ctx, func(_ workflow.Context, l Line) (int, error) {
		cents += l.Quantity * l.Cents
		return cents, nil
	}, workflow.Validate(func(l Line) error {
		if l.Quantity < 1 || l.Quantity > 99 {
			return ErrQuantity
		}
		return nil
	}))
	card := ""
	err := workflow.Select(ctx,
		workflow.OnSignal(Pay, func(number string) { card = number }),
		workflow.OnTimeout(time.Duration(o.Seconds)*time.Second, func() {}))
	if err != nil || card == "" {
		return Receipt{}, err
	}
	payment, err := Charge.Run(ctx, Bill{card, cents})
	return Receipt{cents, payment}, err
}

// charge simulates the call to the bank.
func charge(_ context.Context, b Bill) (string, error) {
	return fmt.Sprintf("%d cents from %s", b.Cents, b.Card), nil
}

// Registrations returns everything that the shop runs.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Add, Pay)), Charge}
}
