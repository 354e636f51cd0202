// Package protobuf shows declarations whose values are Protobuf messages, by a Converter.
// Everything that reads the values sees JSON: the API, the page, and clients in other languages.
// protoc has generated package shoppb from shop.proto.
//
//	protoc --go_out=shoppb --go_opt=paths=source_relative shop.proto
package protobuf

import (
	"context"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/examples/protobuf/shoppb"
	"github.com/seed-41655fb1/weft/workflow"
)

// The declarations of a cart. Each has the converter.
var (
	by       = workflow.By(Converter{})
	Workflow = workflow.NewWorkflow[*shoppb.Start, *shoppb.Total]("protobuf", by)
	AddItem  = workflow.NewUpdate[*shoppb.Item, *shoppb.Total]("protobuf.addItem", by)
	Contents = workflow.NewQuery[workflow.None, *shoppb.Total]("protobuf.contents", by)
	Checkout = workflow.NewSignal[workflow.None]("protobuf.checkout")

	Price = activity.New("protobuf.price", price, activity.Options{Converter: Converter{}})
)

// price is the price of an item.
func price(_ context.Context, item *shoppb.Item) (*shoppb.Total, error) {
	return &shoppb.Total{Cents: int64(item.GetQuantity()) * int64(100*len(item.GetSku()))}, nil
}

// Run adds items until the customer checks out.
func Run(ctx workflow.Context, _ *shoppb.Start) (*shoppb.Total, error) {
	total := &shoppb.Total{Quantities: map[string]int32{}}
	Contents.Handle(ctx, func(workflow.None) (*shoppb.Total, error) { return total, nil })
	AddItem.Handle(ctx, func(ctx workflow.Context, item *shoppb.Item) (*shoppb.Total, error) {
		cost, err := Price.Run(ctx, item)
		if err != nil {
			return nil, err
		}
		total.Cents += cost.GetCents()
		total.Quantities[item.GetSku()] += item.GetQuantity()
		if total.Size = shoppb.Size_SIZE_SMALL; len(total.GetQuantities()) > 2 {
			total.Size = shoppb.Size_SIZE_LARGE
		}
		return total, nil
	})
	if _, err := Checkout.Receive(ctx); err != nil {
		return total, err
	}
	return total, workflow.AwaitHandlers(ctx)
}

// Registrations returns everything that a program has to register to run this.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(AddItem, Contents, Checkout)), Price}
}
