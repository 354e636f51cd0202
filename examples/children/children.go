// Package children shows a workflow that consists of workflows. A trip has a child for each of its
// parts, such as a flight or a hotel. A child runs separately, with a history and an id of its own.
// A part signals its parent when it has a seat or a room, and waits for the parent's signal. A part
// that is canceled cancels its booking. Look at Run: if a part cannot be booked, canceling one
// context undoes all the others, and the run fails with the error of that part.
package children

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow books a trip. Part is its child, and books one part of the trip.
var (
	Workflow = workflow.NewWorkflow[Trip, []string]("children")
	Part     = workflow.NewWorkflow[Booking, string]("children.part")

	Held    = workflow.NewSignal[string]("held")           // from a part to its trip
	Confirm = workflow.NewSignal[workflow.None]("confirm") // from the trip to a part

	Reserve = activity.New("children.reserve", reserve)
	Release = activity.New("children.release", release)
)

// ErrSoldOut says that a part cannot be booked.
var ErrSoldOut = workflow.NewError("soldOut", "sold out")

// Trip is what to book.
type Trip struct {
	Traveller string   `json:"traveller"`
	Parts     []string `json:"parts"`
}

// Booking is a part of a trip.
type Booking struct {
	Traveller string `json:"traveller"`
	What      string `json:"what"`
}

// Run books all parts of a trip, or none.
func Run(ctx workflow.Context, trip Trip) ([]string, error) {
	booking, undo := workflow.WithCancel(ctx)
	var parts []workflow.Child[string]
	for _, what := range trip.Parts {
		parts = append(parts, Part.StartChild(booking, Booking{trip.Traveller, what}, workflow.ChildOptions{WaitCancellation: true}))
	}
	if err := allHeld(ctx, parts); err != nil {
		undo()
		for _, part := range parts {
			_, _ = part.Get(ctx) // the part gives its booking back; the reason is known already
		}
		return nil, err
	}
	var tickets []string
	for _, part := range parts {
		if _, err := Confirm.SendTo(ctx, part, workflow.None{}).Get(ctx); err != nil {
			return nil, err
		}
		ticket, err := part.Get(ctx)
		if err != nil {
			return nil, err
		}
		tickets = append(tickets, ticket)
	}
	return tickets, nil
}

// allHeld waits until each part holds its booking. It returns the error of the first part that
// cannot.
func allHeld(ctx workflow.Context, parts []workflow.Child[string]) (err error) {
	held := 0
	for held < len(parts) && err == nil {
		cases := []workflow.Case{workflow.OnSignal(Held, func(string) { held++ })}
		for _, part := range parts {
			cases = append(cases, workflow.OnFuture(part.Result(), func(_ string, failed error) { err = failed }))
		}
		if waitErr := workflow.Select(ctx, cases...); waitErr != nil {
			return waitErr
		}
	}
	return err
}

// RunPart books a part of a trip. If it is canceled before it was confirmed, it cancels the
// booking.
func RunPart(ctx workflow.Context, b Booking) (string, error) {
	seat, err := Reserve.Run(ctx, b)
	if err != nil {
		return "", err
	}
	trip := workflow.External(workflow.InfoOf(ctx).Parent.WorkflowID)
	if _, err = Held.SendTo(ctx, trip, seat).Get(ctx); err == nil {
		_, err = Confirm.Receive(ctx)
	}
	if err != nil {
		if _, releaseErr := Release.Run(workflow.Disconnected(ctx), seat); releaseErr != nil {
			return "", releaseErr
		}
		return "", err
	}
	return seat, nil
}

// reserve and release simulate the services of a travel agency.
func reserve(_ context.Context, b Booking) (string, error) {
	if b.What == "a room with a view" {
		return "", ErrSoldOut.Final()
	}
	return b.What + " for " + b.Traveller, nil
}

func release(_ context.Context, seat string) (string, error) { return seat + " is free again", nil }

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Held)), workflow.Bind(Part, RunPart, workflow.Names(Confirm)), Reserve, Release}
}
