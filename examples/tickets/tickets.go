// Package tickets is the workflow of the README: it sells the seats of a show.
package tickets

import (
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// The workflow, and what can be said to it.
var (
	Workflow = workflow.Declare[int, int]("tickets")
	Buy      = workflow.NewUpdate[Order, string]("buy")
	Close    = workflow.NewSignal[workflow.None]("close")
	Charge   = activity.New("tickets.charge", charge)

	ErrNotLeft = workflow.NewError("notLeft", "there are not that many seats left")
)

// Order is what somebody wants to buy.
type Order struct {
	Buyer string `json:"buyer"`
	Seats int    `json:"seats"`
}

// Run sells seats until the box office closes, and returns how many are left.
func Run(ctx workflow.Context, left int) (int, error) {
	Buy.Handle(ctx, func(ctx workflow.Context, o Order) (ticket string, err error) {
		left -= o.Seats // nobody else gets them while the card is charged
		if ticket, err = Charge.Run(ctx, o); err != nil {
			left += o.Seats
		}
		return ticket, err
	}, workflow.Validate(func(o Order) error {
		if o.Seats < 1 || o.Seats > left {
			return ErrNotLeft // no write, no message: as if it had never been asked
		}
		return nil
	}))
	if _, err := Close.Receive(ctx); err != nil {
		return left, err
	}
	err := workflow.AwaitHandlers(ctx)
	return left, err
}
