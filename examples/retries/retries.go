// Package retries shows what becomes of an activity that fails: it is tried again, with waits that grow, until it
// succeeds, fails in a way that no further attempt can mend, or has used up its attempts. Look at the options of Charge,
// and at how Run tells the three ends apart.
package retries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow pays an order.
var Workflow = workflow.NewWorkflow[Order, Paid]("retries")

// Charge is tried five times at most: at once, and then after 1 s, 2 s, 4 s and 5 s. A card that was declined is not
// tried again.
var Charge = activity.New("retries.charge", charge, activity.Options{Retry: activity.Retry{
	InitialInterval:    time.Second,
	BackoffCoefficient: 2,
	MaxInterval:        5 * time.Second,
	MaxAttempts:        5,
	NonRetryable:       []*activity.Error{ErrDeclined},
}})

// Why a charge fails.
var (
	ErrDeclined = activity.NewError("declined", "the card was declined")
	ErrDown     = activity.NewError("providerDown", "the payment provider does not answer")
)

// Order is what is to be paid, and what stands in the way of that.
type Order struct {
	// Stolen says that the card is.
	Stolen bool `json:"stolen"`
	// DownFor is how many attempts find the payment provider down.
	DownFor int `json:"downFor"`
}

// Paid is how it ended.
type Paid struct {
	Attempts int    `json:"attempts"`
	Problem  string `json:"problem,omitempty"`
}

// Run charges the card. What the retries could not mend is an ordinary error here.
func Run(ctx workflow.Context, order Order) (Paid, error) {
	attempts, err := Charge.Run(ctx, order)
	switch {
	case errors.Is(err, ErrDeclined):
		return Paid{Problem: "ask for another card"}, nil
	case errors.Is(err, ErrDown):
		return Paid{Problem: err.Error()}, nil // the failure of the last attempt
	case err != nil:
		return Paid{}, err
	}
	return Paid{Attempts: attempts}, nil
}

func charge(ctx context.Context, order Order) (attempts int, err error) {
	attempt := activity.InfoOf(ctx).Attempt
	switch {
	case order.Stolen:
		return 0, ErrDeclined
	case attempt <= order.DownFor:
		return 0, fmt.Errorf("attempt %d: %w", attempt, ErrDown)
	}
	return attempt, nil
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Charge}
}
