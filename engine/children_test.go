package engine_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/workflow"
)

// Ship is the workflow type of the children in the scripts. The children's own runs are not played:
// the script supplies their events.
var Ship = workflow.NewWorkflow[string, string]("ship")

// parents are the workflows of the script about children, by their names.
var parents = map[string]func(workflow.Context, string) (string, error){
	"parent": parent, "quiet": quiet, "leaver": leaver, "stopper": stopper, "patient": patient, "teller": teller,
}

// parent waits for the start of a child, and for its result.
func parent(ctx workflow.Context, item string) (string, error) {
	child := Ship.StartChild(ctx, item, workflow.ChildOptions{WorkflowID: "ship-" + item})
	run, err := child.Started(ctx)
	if err != nil {
		return "", err
	}
	result, err := child.Get(ctx)
	return fmt.Sprint(run, " ", result), err
}

// quiet waits only for the child's result.
func quiet(ctx workflow.Context, item string) (string, error) { return Ship.RunChild(ctx, item) }

// leaver starts a child with each policy, and returns when it receives a poke.
func leaver(ctx workflow.Context, _ string) (string, error) {
	for _, policy := range []workflow.ParentClosePolicy{workflow.TerminateChild, workflow.RequestCancelChild, workflow.AbandonChild} {
		Ship.StartChild(ctx, "", workflow.ChildOptions{WorkflowID: "ship-" + policy.String(), ParentClosePolicy: policy})
	}
	return Poke.Receive(ctx)
}

// stopper cancels the context of its child when it receives a poke. It does not wait until the
// child has ended.
func stopper(ctx workflow.Context, item string) (string, error) { return stop(ctx, item, false) }

// patient does the same as stopper, and waits until the child has ended.
func patient(ctx workflow.Context, item string) (string, error) { return stop(ctx, item, true) }

func stop(ctx workflow.Context, item string, waits bool) (string, error) {
	under, cancel := workflow.WithCancel(ctx)
	child := Ship.StartChild(under, item, workflow.ChildOptions{WorkflowID: "ship-" + item, WaitCancellation: waits})
	if _, err := Poke.Receive(ctx); err != nil {
		return "", err
	}
	cancel()
	result, err := child.Get(ctx)
	return fmt.Sprint(result, err), nil
}

// teller sends a signal to its child and to another workflow, and a cancellation to a third one.
func teller(ctx workflow.Context, text string) (string, error) {
	child := Ship.StartChild(ctx, "", workflow.ChildOptions{WorkflowID: "ship-1", ParentClosePolicy: workflow.AbandonChild})
	told := []workflow.Future[workflow.None]{
		Poke.SendTo(ctx, child, text), Poke.SendTo(ctx, workflow.External("cart-42"), text), workflow.External("cart-43").Cancel(ctx, "enough"),
	}
	var came []string
	for _, one := range told {
		text := "it arrived"
		if _, err := one.Get(ctx); err != nil {
			text = err.Error()
		}
		came = append(came, text)
	}
	return strings.Join(came, ", "), nil
}

// news returns the event of another workflow in a command, or nil for another command.
func (p *player) news(d *datadriven.TestData) history.Attributes {
	id, _ := strconv.ParseInt(arg(d, "event"), 10, 64)
	run := history.NewRunID(1, [8]byte{9})
	f := failure.FromError(failure.New(arg(d, "error"), "it failed"))
	switch d.Cmd {
	case "child-started":
		return &history.ChildWorkflowExecutionStarted{InitiatedEventID: id, RunID: run}
	case "child-not-started":
		return &history.StartChildWorkflowExecutionFailed{InitiatedEventID: id, Failure: f}
	case "child-completed":
		return &history.ChildWorkflowExecutionCompleted{InitiatedEventID: id, RunID: run, Result: payload(arg(d, "result"))}
	case "child-failed":
		return &history.ChildWorkflowExecutionFailed{InitiatedEventID: id, RunID: run, Failure: f}
	case "child-canceled":
		return &history.ChildWorkflowExecutionCanceled{InitiatedEventID: id, RunID: run}
	case "arrived":
		return &history.ExternalWorkflowExecutionSignaled{InitiatedEventID: id}
	case "not-arrived":
		return &history.SignalExternalWorkflowExecutionFailed{InitiatedEventID: id, Failure: f}
	case "asked":
		return &history.ExternalWorkflowExecutionCancelRequested{InitiatedEventID: id}
	}
	return nil
}

// bring delivers an event of another workflow, if the run waits for it.
func (p *player) bring(a history.Attributes) {
	awaited := p.run.Awaited(history.Of(a))
	if len(awaited) == 0 {
		p.printf("nobody waits for it")
		return
	}
	p.step(engine.Task{InputEvents: awaited})
}
