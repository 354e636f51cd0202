// Package tickets is the workflow of the README: it sells the seats of a show.
package tickets

import "github.com/seed-41655fb1/weft/workflow"

// The workflow, its update and its signal.
var (
	Workflow = workflow.NewWorkflow[int, int]("tickets")
	Buy      = workflow.NewUpdate[Order, string]("buy")
	Close    = workflow.NewSignal[workflow.None]("close")
)

// Run sells seats until the box office closes, and returns how many are left.
func Run(ctx workflow.Context, left int) (int, error) {
	Buy.Handle(ctx, func(ctx workflow.Context, o Order) (string, error) {
		left -= o.Seats // reserved while the card is charged
		ticket, err := Charge.Run(ctx, o)
		if err != nil {
			left += o.Seats
		}
		return ticket, err
	}, workflow.Validate(func(o Order) error {
		if o.Seats < 1 || o.Seats > left {
			return ErrNotLeft // refused: nothing is written, no message is sent
		}
		return nil
	}))
	if _, err := Close.Receive(ctx); err != nil {
		return left, err
	}
	err := workflow.AwaitHandlers(ctx)
	return left, err
}
