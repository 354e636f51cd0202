// Package attributes shows search attributes and a memo: what lists show of an order, and how
// callers find it. The workflow changes them with each step, in the write that the step needs
// anyway.
package attributes

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// These are the names that callers use.
var (
	Workflow = workflow.NewWorkflow[Order, string]("attributes")
	Advance  = workflow.NewUpdate[string, string]("advance")

	// The attributes by which orders are found. They are always plain text.
	Region = workflow.NewAttribute[string]("Region")
	Cents  = workflow.NewAttribute[int64]("Cents")
	Stage  = workflow.NewAttribute[string]("Stage")
	Due    = workflow.NewAttribute[time.Time]("Due")

	// The memo can be read, but not searched for. It is encrypted if payloads are.
	Customer = workflow.NewMemo[Person]("customer")

	ErrNoStage = workflow.NewError("noStage", "there is no such stage: it is packed, shipped, or delivered")
)

// Order is what somebody has bought.
type Order struct {
	Region string `json:"region"`
	Cents  int64  `json:"cents"`
	Buyer  Person `json:"buyer"`
}

// Person is a customer.
type Person struct {
	Name string `json:"name"`
}

// Start starts an order that can be found from the beginning.
func Start(ctx context.Context, c *client.Client, id string, o Order) (workflow.Run[string], error) {
	return Workflow.Start(ctx, c, id, o, workflow.StartOptions{
		SearchAttributes: []workflow.SearchAttribute{Region.Set(o.Region), Cents.Set(o.Cents), Stage.Set("ordered")},
		Memo:             []workflow.MemoField{Customer.Set(o.Buyer)},
	})
}

// Run takes an order from stage to stage, and returns the last one. After it is shipped it is due
// within two days.
func Run(ctx workflow.Context, _ Order) (string, error) {
	Advance.Handle(ctx, func(ctx workflow.Context, stage string) (before string, err error) {
		before, _ = Stage.Get(ctx)
		due := Due.Unset()
		if stage == "shipped" {
			due = Due.Set(workflow.Now(ctx).Add(48 * time.Hour))
		}
		workflow.UpsertSearchAttributes(ctx, Stage.Set(stage), due)
		return before, nil
	}, workflow.Validate(func(stage string) error {
		switch stage {
		case "packed", "shipped", "delivered":
			return nil
		}
		return ErrNoStage // the order's attributes are unchanged
	}))
	at := func() string {
		stage, _ := Stage.Get(ctx)
		return stage
	}
	err := workflow.Await(ctx, func() bool { return at() == "delivered" })
	return at(), err
}

// Found returns the workflow ids that a filter finds, with their customers. It allows attributes
// that no run has at the moment: once all orders are delivered, none has Due.
func Found(ctx context.Context, c *client.Client, filter string) (map[string]string, error) {
	found := map[string]string{}
	for token := ""; ; {
		page, err := c.ListPage(ctx, client.ListOptions{Filter: filter, PageToken: token, AllowUnknown: true})
		if err != nil {
			return nil, err
		}
		for _, run := range page.Workflows {
			buyer, _ := Customer.Of(run.Memo)
			found[run.WorkflowID] = buyer.Name
		}
		if token = page.NextPageToken; token == "" {
			return found, nil // a page may be empty, and still have a next one
		}
	}
}

// Registrations returns everything that a program has to register to run it.
func Registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(Workflow, Run, workflow.Names(Advance, Region, Cents, Stage, Due, Customer))}
}
