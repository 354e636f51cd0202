// Package orders is the shop's one workflow: an order that grows by updates until it is paid, or until its time is over.
package orders

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow is an order, and what can be said to it.
var (
	Workflow = workflow.NewWorkflow[Order, Receipt]("order")
	Add      = workflow.NewUpdate[Line, int]("add")
	Pay      = workflow.NewSignal[string]("pay")
	Charge   = activity.New("orders.charge", charge)

	ErrQuantity = workflow.NewError("quantity", "an order takes 1 to 99 of a thing at a time")
)

// Order is how an order begins.
type Order struct {
	Customer string `json:"customer"`
	// Seconds is how long the shop waits for the payment.
	Seconds int `json:"seconds"`
}

// Line is so many of a thing, at so much each.
type Line struct {
	Thing    string `json:"thing"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"`
}

// Bill is what a card is charged.
type Bill struct {
	Card  string `json:"card"`
	Cents int    `json:"cents"`
}

// Receipt is how an order ends: with a payment, or without one if the time was over.
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

// charge is where the bank would be called.
func charge(_ context.Context, b Bill) (string, error) {
	return fmt.Sprintf("%d cents from %s", b.Cents, b.Card), nil
}

// Registrations is all that the shop runs.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Charge}
}
