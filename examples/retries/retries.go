// Package retries shows how a failing activity is retried, with growing waits, until it succeeds,
// fails with a final error, or has used up its attempts. Look at the options of Charge, and at how
// Run distinguishes the three ends.
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

// Charge has at most five attempts: at once, and then after 1 s, 2 s, 4 s and 5 s. A declined card
// is not retried.
var Charge = activity.New("retries.charge", charge, activity.Options{Retry: activity.Retry{
	InitialInterval:    time.Second,
	BackoffCoefficient: 2,
	MaxInterval:        5 * time.Second,
	MaxAttempts:        5,
	NonRetryable:       []*activity.Error{ErrDeclined},
}})

// The reasons why a charge fails.
var (
	ErrDeclined = activity.NewError("declined", "the card was declined")
	ErrDown     = activity.NewError("providerDown", "the payment provider does not answer")
)

// Order is what is to be paid, with the reason why that fails.
type Order struct {
	// Stolen says that the card is stolen.
	Stolen bool `json:"stolen"`
	// DownFor is how many attempts find the payment provider down.
	DownFor int `json:"downFor"`
}

// Paid is the outcome of the payment.
type Paid struct {
	Attempts int    `json:"attempts"`
	Problem  string `json:"problem,omitempty"`
}

// Run charges the card. An error that the retries could not fix is an ordinary error here.
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

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Charge}
}
