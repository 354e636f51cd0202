package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// Tasks are the workflow tasks that a session has run and whose outcome is not known yet.
type Tasks struct {
	runner *Runner
	ran    []ranTask
}

type ranTask struct {
	ctx context.Context
	observe.Task
}

// Ran records a task that was run, and logs it if it failed.
func (t *Tasks) Ran(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task, began time.Time, transition *engine.Transition) {
	f := transition.Failure
	if f == nil && !t.runner.options.Observe.On() {
		return
	}
	now := t.runner.host.Now()
	r := ranTask{ctx: ctx, Task: observe.Task{
		Run: Ident(run, w.RunID, (&history.Commit{InputEvents: task.InputEvents}).Opens()), Commit: w.Commit, Trigger: trigger(task), Kind: transition.Task.Kind,
		Attempt: transition.Task.Attempt, Failure: KindOf(f), Impure: transition.Impure, Blamed: transition.Blamed, Stuck: f != nil && (task.Confirm || run.State.Pending == history.PendingRetry), Began: began, Ran: now.Sub(began),
	}}
	if c := transition.Commit; c != nil {
		r.Events = c.NextEventID() - c.FirstEventID
	}
	if f != nil {
		before := cmp.Or(run.State.Stuck(), run.State.Refused())
		t.runner.options.Failures.Task(ctx, &r.Task, f, t.next(run, w.RunID, task, transition), before != nil && before.Same(f))
	}
	if t.runner.options.Observe.On() {
		t.ran = append(t.ran, r)
	}
}

// reportPanics logs the panics of the validators of a task's updates. Their callers get the texts.
func (t *Tasks) reportPanics(ctx context.Context, run *engine.Run, runID history.RunID, task engine.Task, transition *engine.Transition) {
	for i, u := range transition.Updates {
		if u.Panic != nil {
			about := Ident(run, runID, nil)
			t.runner.options.Failures.Panic(ctx, fmt.Sprintf("the validator of update %q", task.Updates[i].Name), &about, u.Panic)
		}
	}
}

// next returns when a failed task is retried, as far as that is known. Nothing retries the task of
// an update, and a task that a request has run leaves the retry to the message of an earlier one.
func (t *Tasks) next(run *engine.Run, runID history.RunID, task engine.Task, failed *engine.Transition) observe.Next {
	switch {
	case failed.Task.Kind == history.Normal:
		return observe.Next{In: engine.TaskRetryDelay(failed.Task.Attempt)}
	case task.Attempt > 0:
		return observe.Next{In: t.runner.RetryDelay(run.WorkflowID, runID, task.Attempt)}
	}
	return observe.Next{}
}

// Report reports the outcome of the tasks: err for those with one of these commits, and no commit
// for the others.
func (t *Tasks) Report(err error, commits ...history.CommitID) {
	if len(t.ran) == 0 {
		return
	}
	now := t.runner.host.Now()
	for i := range t.ran {
		r := &t.ran[i]
		r.Outcome, r.Ended = observe.Discarded, now
		for _, id := range commits {
			if id == r.Commit {
				r.Outcome = committed(err)
			}
		}
		t.runner.options.Observe.Observe(r.ctx, &r.Task)
	}
	t.ran = nil
}

// committed returns the outcome of a task whose commit returned err.
func committed(err error) observe.Outcome {
	switch {
	case err == nil:
		return observe.Committed
	case errors.Is(err, outcome.ErrLost):
		return observe.Lost
	case errors.Is(err, outcome.ErrUnknown):
		return observe.Unknown
	}
	return observe.Refused
}

// trigger returns what triggered a task, in a word.
func trigger(task engine.Task) string {
	if len(task.InputEvents) == 0 {
		switch {
		case len(task.Updates) > 0:
			return "update"
		case task.First:
			return "start"
		}
		return "retry"
	}
	switch task.InputEvents[0].Attributes.(type) {
	case *history.WorkflowExecutionStarted:
		return "start"
	case *history.WorkflowExecutionSignaled:
		return "signal"
	case *history.WorkflowExecutionCancelRequested:
		return "cancel"
	case *history.TimerFired:
		return "timer"
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // see what the last one resolves
	}
	switch about := history.ResolutionOf(task.InputEvents[len(task.InputEvents)-1].Attributes); {
	case about.External != 0:
		return "external"
	case about.Activity == 0:
		return "child"
	}
	return "activity"
}

// Ident names the run that an event of the observer is about. Before the run's first commit has
// landed, runID and started are those of that commit.
func Ident(run *engine.Run, runID history.RunID, started *history.WorkflowExecutionStarted) observe.Run {
	r := observe.Run{WorkflowID: run.WorkflowID, RunID: cmp.Or(run.State.RunID, runID)}
	if run.State.Started != nil {
		started = run.State.Started
	}
	if started != nil {
		r.Type, r.FirstRunID, r.TraceParent = started.WorkflowType, cmp.Or(started.FirstRunID, started.OriginalRunID), started.TraceParent
	}
	return r
}

// KindOf returns the kind of a failure in a word, or "" if there is none.
func KindOf(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	return f.Kind.String()
}

// Ended returns the outcome of an attempt that ended with this failure, or with none.
func Ended(f *failure.Failure) observe.Outcome {
	switch {
	case f == nil:
		return observe.Completed
	case f.Kind == failure.KindTimeout:
		return observe.TimedOut
	}
	return observe.Failed
}
