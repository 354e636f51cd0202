// Package errors shows how an error travels: from an activity through the workflow to whoever asked for the result, with
// its type, its data and what it wraps. Look at the variables, which errors.Is finds in every place, and in the test at
// what is left of an ordinary error and of a panic.
package errors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow sends a parcel. It gives up at the first failure.
var (
	Workflow = workflow.Declare[Parcel, string]("errors")
	Deliver  = activity.New("errors.deliver", deliver, activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
)

// The errors that callers branch on: they are told apart by their types, wherever they travel.
var (
	ErrNobodyHome = activity.NewError("nobodyHome", "nobody opens the door")
	ErrUndeclared = activity.NewError("undeclared", "what is in the parcel must be declared")
)

// Parcel is what is to be delivered, and what goes wrong.
type Parcel struct {
	Wrong string `json:"wrong"`
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
		fee, err := json.Marshal(Fee{Cents: 1200})
		if err != nil {
			return "", err
		}
		undeclared := *ErrUndeclared
		undeclared.Details = fee
		return "", &undeclared
	case "flat tire":
		return "", errors.New("the van has a flat tire")
	case "crash":
		var van []string
		return van[1], nil
	}
	return "signed for", nil
}

// FeeOf is the fee of an error that is an ErrUndeclared.
func FeeOf(err error) (fee Fee, ok bool) {
	var e *workflow.Error
	for ; errors.As(err, &e); err = e.Unwrap() {
		if e.Is(ErrUndeclared) {
			return fee, json.Unmarshal(e.Details, &fee) == nil
		}
	}
	return fee, false
}

// Registrations is all that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run), Deliver}
}
