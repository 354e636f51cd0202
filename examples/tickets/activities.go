package tickets

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Charge charges a card, and returns the ticket.
var Charge = activity.New("tickets.charge", charge)

// ErrNotLeft refuses an order of more seats than there are.
var ErrNotLeft = workflow.NewError("notLeft", "there are not that many seats left")

// Order is what a customer wants to buy.
type Order struct {
	Buyer string `json:"buyer"`
	Seats int    `json:"seats"`
}

// charge stands for a call to a payment service. It may run again with the same key.
func charge(ctx context.Context, o Order) (string, error) {
	info := activity.InfoOf(ctx)
	key := fmt.Sprintf("%s-%d", info.WorkflowID, info.EventID)
	return fmt.Sprintf("ticket %s for %s", key, o.Buyer), nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Buy, Close)), Charge}
}
