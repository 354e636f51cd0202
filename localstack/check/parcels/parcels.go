// Package parcels is an addition of localstack/deploy-check to the shop of examples/deploy: a
// pinned workflow in two versions, whose contracts differ. In the second version the update takes
// less, the signal and the query have other names, and the activity has a result of another type.
package parcels

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

// Workflow packs a parcel for a customer, and returns how many things are in it.
var (
	Workflow = workflow.NewWorkflow[string, int]("parcel")
	// Tokens has the token of the attempt that weighs the parcel.
	Tokens = workflow.NewTopic[string]("tokens")
)

// The names of the first version.
var (
	Add   = workflow.NewUpdate[Things, int]("add")
	Hurry = workflow.NewSignal[string]("hurry")
	Count = workflow.NewQuery[workflow.None, int]("count")
	Weigh = activity.New("parcel.weigh", weigh[Grams], byHand)
)

// The names of the second version.
var (
	AddFew = workflow.NewUpdate[Few, int]("add")
	Ship   = workflow.NewSignal[string]("ship")
	Total  = workflow.NewQuery[workflow.None, int]("total")
	Scale  = activity.New("parcel.weigh", weigh[Pounds], byHand)
)

// byHand is longer than the deployment of another version takes. The message that ends the attempt
// in time stays in the table: tests of the same deployment look at those of the next hour.
var byHand = activity.Options{Pending: 24 * time.Hour}

// Things are added to a parcel of the first version.
type Things struct {
	Quantity int `json:"quantity" jsonschema:"minimum=1,maximum=99"`
}

// Few things are added to a parcel of the second version.
type Few struct {
	Quantity int `json:"quantity" jsonschema:"minimum=1,maximum=9"`
}

// Grams is a weight of the first version.
type Grams struct {
	Grams int `json:"grams"`
}

// Pounds is a weight of the second version.
type Pounds struct {
	Pounds int `json:"pounds"`
}

// weigh waits for somebody who has the token.
func weigh[T any](ctx context.Context, _ activity.None) (weight T, err error) {
	token, err := activity.Token(ctx)
	if err == nil {
		err = activity.Publish(ctx, Tokens, token)
	}
	if err == nil {
		err = activity.ErrPending
	}
	return weight, err
}

func first(ctx workflow.Context, _ string) (int, error) {
	things := 0
	Count.Handle(ctx, func(workflow.None) (int, error) { return things, nil })
	Add.Handle(ctx, func(_ workflow.Context, t Things) (int, error) { things += t.Quantity; return things, nil })
	if _, err := Weigh.Run(ctx, activity.None{}); err != nil {
		return things, err
	}
	_, err := Hurry.Receive(ctx)
	return things, err
}

func second(ctx workflow.Context, _ string) (int, error) {
	things := 0
	Total.Handle(ctx, func(workflow.None) (int, error) { return things, nil })
	AddFew.Handle(ctx, func(_ workflow.Context, f Few) (int, error) { things += f.Quantity; return things, nil })
	if _, err := Scale.Run(ctx, activity.None{}); err != nil {
		return things, err
	}
	_, err := Ship.Receive(ctx)
	return things, err
}

// First registers the first version.
func First() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(Workflow, first, workflow.BindOptions{Pinned: true}, workflow.Names(Add, Hurry, Count, Tokens)), Weigh,
	}
}

// Second registers the second version.
func Second() []workflow.Registration {
	return []workflow.Registration{
		workflow.Bind(Workflow, second, workflow.BindOptions{Pinned: true}, workflow.Names(AddFew, Ship, Total, Tokens)), Scale,
	}
}
