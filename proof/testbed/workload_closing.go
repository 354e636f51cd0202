package testbed

import "github.com/seed-41655fb1/weft/workflow"

// leaver closes its run in different ways, while update handlers run that ignore it.
var (
	leaver = workflow.NewWorkflow[workflow.None, int]("leaver")
	stay   = workflow.NewUpdate[workflow.None, int]("stay")
	linger = workflow.NewUpdate[workflow.None, int]("linger") // the same as before, on purpose
	part   = workflow.NewUpdate[string, int]("part")          // ends the run as its input says
	unread = workflow.NewSignal[workflow.None]("x")           // that the code does not receive
)

func runLeaver(ctx workflow.Context, _ workflow.None) (int, error) {
	how := ""
	forever := func(ctx workflow.Context, _ workflow.None) (int, error) {
		return 0, workflow.Await(workflow.Disconnected(ctx), func() bool { return false })
	}
	stay.Handle(ctx, forever)
	linger.Handle(ctx, forever, workflow.HandlerOptions[workflow.None]{Abandon: true})
	part.Handle(ctx, func(_ workflow.Context, as string) (int, error) { how = as; return 0, nil })
	if err := workflow.Await(ctx, func() bool { return how != "" }); err != nil {
		return 0, err
	}
	switch how {
	case "fail":
		return 0, workflow.NewError("failed", "failed")
	case "continue":
		return leaver.ContinueAsNew(ctx, workflow.None{})
	}
	return 0, nil
}
