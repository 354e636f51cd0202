// Package cart is a workflow whose names other packages list.
package cart

import "github.com/seed-41655fb1/weft/workflow"

// These are the cart's declarations.
var (
	Workflow = workflow.NewWorkflow[string, string]("cart")
	Add      = workflow.NewUpdate[int, int]("add")
	Contents = workflow.NewQuery[workflow.None, int]("contents")
	Note     = workflow.NewSignal[string]("note")
	Region   = workflow.NewAttribute[string]("Region")
	Customer = workflow.NewMemo[string]("customer")
)

// Names are the cart's.
var Names = workflow.Names(Add, Contents, Note, Region, Customer)

type cart struct{ items int }

// Run is the cart.
func Run(ctx workflow.Context, owner string) (string, error) {
	c := &cart{}
	workflow.UpsertSearchAttributes(ctx, Region.Set("eu"))
	workflow.UpsertMemo(ctx, Customer.Set(owner))
	c.handle(ctx)
	return Note.Receive(ctx)
}

func (c *cart) handle(ctx workflow.Context) {
	Add.Handle(ctx, func(_ workflow.Context, n int) (int, error) { c.items += n; return c.items, nil })
	Contents.Handle(ctx, func(workflow.None) (int, error) { return c.items, nil })
}
