// Package errors shows how an error is passed on, from an activity through the workflow to the
// caller, with its type, its data and what it wraps. Look at the variables, which errors.Is finds
// everywhere, and in the test at what is left of an ordinary error and of a panic.
package errors

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow sends a parcel. It pays a fee that it can afford, and gives up at any other failure.
var (
	Workflow = workflow.NewWorkflow[Parcel, string]("errors")
	Deliver  = activity.New("errors.deliver", deliver, activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
)

// The errors that callers check for. errors.Is compares their types, wherever they were sent.
var (
	ErrNobodyHome = activity.NewError("nobodyHome", "nobody opens the door")
	ErrUndeclared = activity.NewError("undeclared", "what is in the parcel must be declared")
)

// Parcel is what is to be delivered, with what goes wrong.
type Parcel struct {
	Wrong string `json:"wrong"`
	// Pays is the most that the sender pays, in cents.
	Pays int `json:"pays"`
}

// Fee is the data of an ErrUndeclared.
type Fee struct {
	Cents int `json:"cents"`
}

// Run sends one parcel.
func Run(ctx workflow.Context, p Parcel) (string, error) {
	receipt, err := Deliver.Run(ctx, p)
	if errors.Is(err, ErrNobodyHome) {
		return "left with the neighbors", nil
	}
	if fee, ok := workflow.DetailsOf[Fee](err, ErrUndeclared); ok && fee.Cents <= p.Pays {
		p.Wrong = ""
		return Deliver.Run(ctx, p)
	}
	if err != nil {
		return "", fmt.Errorf("the parcel comes back: %w", err)
	}
	return receipt, nil
}

func deliver(_ context.Context, p Parcel) (string, error) {
	switch p.Wrong {
	case "nobody home":
		return "", fmt.Errorf("rang twice: %w", ErrNobodyHome)
	case "undeclared":
		return "", ErrUndeclared.With(Fee{Cents: 1200})
	case "flat tire":
		return "", errors.New("the van has a flat tire")
	case "crash":
		var van []string
		return van[1], nil
	}
	return "signed for", nil
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Deliver}
}
