package flow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/workflow"
)

// recent is how many ended runs a description has.
const recent = 10

func (f *flow) arrive(r stored.Run) { f.do(f.Machine.Arrive(r)) }

// do carries out a decision.
func (f *flow) do(d schedule.Decision) {
	for _, r := range f.Running {
		if d.Cancel || d.Terminate {
			f.end(r, d.Terminate)
		}
	}
	for _, r := range d.Start {
		f.start(r)
	}
}

// spawn runs fn in a coroutine that no cancellation of the schedule reaches. fn calls begun when it
// has issued its first command. The schedule's run does not end before that.
func (f *flow) spawn(fn func(ctx workflow.Context, begun func())) {
	f.beginning++
	waits := true
	begun := func() {
		if waits {
			waits = false
			f.beginning--
		}
	}
	workflow.Go(workflow.Disconnected(f.ctx), func(ctx workflow.Context) {
		defer begun()
		fn(ctx, begun)
	})
}

// end asks a run to end, or terminates it. It repeats that while the run is not found, because the
// run may not have begun yet. It waits longer each time, because the run may also have closed, with
// the message of that still on its way.
func (f *flow) end(r stored.Run, terminate bool) {
	const reason = "the schedule's next run takes its place"
	run := workflow.External(r.WorkflowID)
	f.spawn(func(ctx workflow.Context, begun func()) {
		for pause := time.Second; slices.ContainsFunc(f.Running, same(r)); pause = min(2*pause, time.Hour) {
			ask := run.Cancel
			if terminate {
				ask = run.Terminate
			}
			answer := ask(ctx, reason)
			begun()
			if _, err := answer.Get(ctx); !errors.Is(err, workflow.ErrNotFound) || workflow.Sleep(ctx, pause) != nil {
				return
			}
		}
	})
}

// same returns a function that recognizes a run.
func same(r stored.Run) func(stored.Run) bool {
	return func(other stored.Run) bool {
		return other.WorkflowID == r.WorkflowID && other.StartedAt.Equal(*r.StartedAt)
	}
}

// start starts a run. It outlives the schedule.
func (f *flow) start(r stored.Run) {
	now := workflow.Now(f.ctx)
	f.Started++
	r.StartedAt, r.Status = &now, history.Running.String()
	if r.WorkflowID == "" {
		r.WorkflowID = f.workflowID(r.At)
	}
	f.Running = append(f.Running, r)
	f.Recent = append(f.Recent, r)
	f.Recent = f.Recent[max(len(f.Recent)-recent, 0):]
	action := f.Schedule.Action
	f.spawn(func(ctx workflow.Context, begun func()) {
		f.closed(ctx, r, runChild(ctx, begun, action, workflow.ChildOptions{
			WorkflowID: r.WorkflowID, ParentClosePolicy: workflow.AbandonChild, Quiet: true, RunTimeout: time.Duration(action.RunTimeout), Retry: retry(action.Retry),
			Memo: memo(action.Memo), SearchAttributes: action.SearchAttributes,
		}))
	})
}

// retry returns the form that a retry policy has in workflow code.
func retry(p *stored.Retry) *workflow.Retry {
	if p == nil {
		return nil
	}
	r := &workflow.Retry{
		InitialInterval: time.Duration(p.InitialInterval), BackoffCoefficient: p.BackoffCoefficient,
		MaxInterval: time.Duration(p.MaximumInterval), MaxAttempts: p.MaximumAttempts,
	}
	for _, typ := range p.NonRetryableTypes {
		r.NonRetryable = append(r.NonRetryable, workflow.NewError(typ, ""))
	}
	return r
}

// memo returns the form that a memo has in workflow code.
func memo(m history.Memo) (fields []workflow.MemoField) {
	for _, f := range m {
		fields = append(fields, workflow.MemoField{Name: f.Name, Value: f.Value})
	}
	return fields
}

// workflowID returns the id of the run of a moment. Two moments may be within one second, because
// an interval's offset may have a fraction.
func (f *flow) workflowID(at time.Time) string {
	id := f.Schedule.Action.WorkflowID
	if id == "" {
		id = f.ID
	}
	return id + "-" + at.UTC().Format(time.RFC3339Nano)
}

// runChild starts a run and waits for its end.
func runChild(ctx workflow.Context, begun func(), a stored.Action, o workflow.ChildOptions) error {
	var run workflow.Child[json.RawMessage]
	if len(a.Input) == 0 {
		run = workflow.NewWorkflow[workflow.None, json.RawMessage](a.Type).StartChild(ctx, workflow.None{}, o)
	} else {
		run = workflow.NewWorkflow[json.RawMessage, json.RawMessage](a.Type).StartChild(ctx, a.Input, o)
	}
	begun()
	_, err := run.Get(ctx)
	return err
}

// closed handles the end of a run. First it handles the moments that passed while the run was open,
// and those that passed before the end pauses the schedule.
func (f *flow) closed(ctx workflow.Context, r stored.Run, err error) {
	status, why := outcome(err)
	pauses := f.Schedule.PauseOnFailure && (status == history.Failed || status == history.TimedOut)
	for !f.Schedule.Paused && f.Machine.Waits(f.Schedule.Overlap) && f.catchUp() {
		if workflow.Sleep(ctx, partEvery) != nil {
			break
		}
	}
	if pauses && !f.Schedule.Paused && !f.Machine.Waits(f.Schedule.Overlap) {
		if f.look(); !f.resume.IsZero() {
			f.missRest()
		}
	}
	f.Running = slices.DeleteFunc(f.Running, same(r))
	r.Status, r.Failure = status.String(), why
	if i := slices.IndexFunc(f.Recent, same(r)); i >= 0 {
		f.Recent[i] = r
	}
	if pauses {
		f.Schedule.Paused, f.Schedule.Note = true, fmt.Sprintf("paused because %s is %s", r.WorkflowID, r.Status)
	}
	if len(f.Running) > 0 || !f.suggested() { // if runs follow each other without a pause, this leaves a moment without runs, in which to continue as new
		f.settle()
	}
	f.woken = true
}

// settle records the end of runs that are no longer open, and starts the runs that wait for that.
func (f *flow) settle() {
	for f.Machine.Open > len(f.Running) {
		f.do(f.Machine.Closed())
	}
}

// outcome returns how a run ended.
func outcome(err error) (history.Status, *failure.Failure) {
	var child *workflow.ChildWorkflowError
	if errors.As(err, &child) {
		err = child.Cause
	}
	var timeout *workflow.TimeoutError
	f := failure.FromError(err)
	switch {
	case err == nil:
		return history.Completed, nil
	case errors.Is(err, workflow.ErrCanceled):
		return history.Canceled, f
	case f.Kind == failure.KindTerminated:
		return history.Terminated, f
	case errors.As(err, &timeout) && f.Kind == failure.KindTimeout:
		return history.TimedOut, f
	}
	return history.Failed, f
}
