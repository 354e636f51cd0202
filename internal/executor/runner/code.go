package runner

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Kept is the code that a process keeps of a workflow between sessions. The zero value is none.
type Kept struct {
	// Instance is at the end of the latest run's log, or before it; or nil.
	Instance *engine.Instance
	// Grown is how many bytes the process has allocated while the instance's code ran: at least
	// what the code keeps.
	Grown int64
}

// Log reads the commits of a run, page by page, from a slot on.
type Log interface {
	Pages(ctx context.Context, run *engine.Run, from uint32) iter.Seq2[[]*history.Commit, error]
}

// Code is the code of a workflow's latest run, as one session has it.
type Code struct {
	kept *Kept
	// Tainted says that code which did not return still holds the run that the session knows.
	Tainted bool
	// Unsettled says that a task has run on the instance, and that it is not known yet whether the
	// instance stays.
	Unsettled bool
	// Active says that code has run in this session.
	Active bool
	// Tasks are the tasks that were run and whose outcome is not known yet.
	Tasks Tasks

	runner     *Runner
	workflowID string
	log        Log
	began      time.Time
}

// Code returns the code of a workflow for a session that begins now.
func (r *Runner) Code(workflowID string, kept *Kept, log Log) Code {
	return Code{
		kept: kept, Tasks: Tasks{runner: r},
		runner: r, workflowID: workflowID, log: log, began: r.host.Now(),
	}
}

// Reset replaces what is kept. No code of the session hangs in it.
func (c *Code) Reset(kept *Kept) { c.kept, c.Tainted = kept, false }

// Drop throws the instance away: it is ahead of the log, or of no use.
func (c *Code) Drop() {
	in := c.kept.Instance
	c.kept.Instance, c.kept.Grown, c.Unsettled = nil, 0, false
	if in != nil {
		c.runner.Close(c.workflowID, in)
	}
}

// IsAhead reports whether the instance has failed, is ahead of the log of the latest run, or is of
// another run.
func (c *Code) IsAhead(latest *engine.Run) bool {
	return c.Unsettled || c.kept.Instance != nil && c.kept.Instance.RunID() != latest.State.RunID
}

// IsFull reports whether the instance has recorded as much for checks as it may.
func (c *Code) IsFull() bool { return c.kept.Instance != nil && c.kept.Instance.LooksFull() }

// ensure returns the instance of a run, at the end of its log or before it. It drops the instance
// of another run.
func (c *Code) ensure(run *engine.Run, runID history.RunID, started *history.WorkflowExecutionStarted) *engine.Instance {
	if in := c.kept.Instance; in != nil && in.RunID() != runID {
		c.Drop()
	}
	if c.kept.Instance == nil {
		c.kept.Instance = engine.NewInstance(c.runner.registry.Workflow(started.WorkflowType), c.workflowID, runID)
		if c.runner.checks.on() {
			c.kept.Instance.RecordLooks(func(who string) bool { return c.runner.checks.left(started.WorkflowType, who) })
		}
	}
	return c.kept.Instance
}

// Step runs a task of a run. It first replays what the code has not seen of the log, and then calls
// writer. It returns an error if a page of the log cannot be read. Nothing has run then.
func (c *Code) Step(ctx context.Context, run *engine.Run, task engine.Task, writer func() *engine.Writer) (*engine.Transition, error) {
	if f := c.runner.Barred(CodeTask, c.workflowID, run.State.RunID); f != nil {
		return passOver(c, run, writer(), task, f), nil
	}
	began := c.runner.host.Now()
	lost, err := c.CatchUp(ctx, run, CodeTask)
	if err != nil {
		return nil, err
	}
	w := writer()
	if lost == nil {
		return c.step(ctx, run, w, task), nil
	}
	failed := run.Fail(w, task, lost)
	c.Tasks.Ran(ctx, run, w, task, began, failed)
	return failed, nil
}

// FirstStep runs the first task of a run that has no commit yet.
func (c *Code) FirstStep(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task) *engine.Transition {
	if f := c.runner.Barred(CodeTask, c.workflowID, w.RunID); f != nil {
		return passOver(c, run, w, task, f)
	}
	return c.step(ctx, run, w, task)
}

// step runs a task. The instance is ahead of the log afterwards: it stays only if the transition's
// commit lands.
func (c *Code) step(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task) *engine.Transition {
	started, runID := run.State.Started, run.State.RunID
	if run.State.NextSlot == 0 {
		started, runID = task.InputEvents[0].Attributes.(*history.WorkflowExecutionStarted), w.RunID
	}
	in, began := c.ensure(run, runID, started), c.runner.host.Now()
	in.BoundValidators(c.runner.options.ValidateFor, func(fn func()) bool { return c.validate(in, fn) })
	before := in.Looked()
	c.Unsettled = true
	transition := c.guardTask(in, run, w, task, (*engine.Run).Step)
	transition = c.locals(ctx, in, run, w, task, transition)
	transition = c.check(ctx, in, before, run, w, task, transition)
	c.Tasks.Ran(ctx, run, w, task, began, transition)
	c.Tasks.reportPanics(ctx, run, w.RunID, task, transition)
	return transition
}

// taskPart is code that runs a part of a task: engine.Run.Step, or what continues that.
type taskPart func(*engine.Run, *engine.Instance, *engine.Writer, engine.Task) *engine.Transition

// guardTask runs a part of a task with fn, and returns its transition. If the code does not return
// or ends its goroutine, that is a failure of the task.
func (c *Code) guardTask(in *engine.Instance, run *engine.Run, w *engine.Writer, task engine.Task, fn taskPart) *engine.Transition {
	var came *engine.Transition // read only if the code has ended: it may still set it
	note := c.beginTask(in, task.Updates)
	ended := c.guard(c.runner.options.DeadlockAfter, in, func() { defer c.leave(in, note); came = fn(run, in, w, task) })
	if ended && came != nil {
		return came
	}
	failed := run.Fail(w, task, c.lost(in, ended, c.runner.options.DeadlockAfter))
	failed.Blamed = in.RunningUpdate()
	return failed
}

// guard runs code of an instance, which the code leaves at its end. It returns false for code that
// does not return within limit. The session has lost the instance then, and the run that it holds;
// the run is blocked until the code returns, and the instance is closed then.
func (c *Code) guard(limit time.Duration, in *engine.Instance, fn func()) bool {
	in.Enter()
	c.Active = true
	before := c.runner.options.Allocated()
	defer func() {
		if c.kept.Instance == in {
			c.kept.Grown += c.runner.options.Allocated() - before
		}
	}()
	if c.runner.host.Guard(limit, fn) {
		return true
	}
	c.runner.reportHung(c.workflowID, in)
	c.Drop()
	c.Tainted = true
	return false
}

// validate runs a validator. It returns false if that does not return in time. It holds only its
// instance then, which is thrown away with the task, and closed when the validator returns.
func (c *Code) validate(in *engine.Instance, fn func()) bool {
	if c.runner.host.Guard(c.runner.options.ValidateFor, fn) {
		return true
	}
	c.runner.block(c.workflowID, in.RunID(), "a validator", in.Gone)
	c.runner.options.Logger.Error("a validator does not return; its instance is abandoned", "workflowId", c.workflowID, "after", c.runner.options.ValidateFor)
	return false
}

// lost returns the failure of code that did not return (a deadlock), or that ended its goroutine.
func (c *Code) lost(in *engine.Instance, ended bool, limit time.Duration) *failure.Failure {
	if ended {
		if f := failure.FromError(in.Err()); f != nil {
			return f
		}
		return &failure.Failure{Kind: failure.KindMisuse, Message: "workflow code ended its goroutine"}
	}
	return &failure.Failure{
		Kind:    failure.KindDeadlock,
		Message: "workflow code did not come back within " + limit.String() + ": it blocks on something that is not the engine's",
		Stack:   in.Stuck(),
	}
}

// passOver fails a task with f without running its code. The task's events are kept, and a message
// retries the task later.
func passOver(c *Code, run *engine.Run, w *engine.Writer, task engine.Task, f *failure.Failure) *engine.Transition {
	c.Drop() // it has not seen the task's events
	return run.Fail(w, task, f)
}

// Query runs the handler of a query. It first runs the events of a failed task, and what waits for
// a start delay, and forgets that. The instance of the latest run stays if only the query's handler
// ran.
func (c *Code) Query(latest, run *engine.Run, w *engine.Writer, name string, input history.Payload) (history.Payload, error) {
	in := c.ensure(run, run.State.RunID, run.State.Started)
	keep := false
	defer func() {
		if !keep {
			c.Drop()
		}
	}()
	var answer struct { // read only if the code has ended: it may still set it
		result   history.Payload
		err      error
		returned bool
	}
	if err := c.readyForQuery(in, run, w); err != nil {
		return nil, err
	}
	note := c.runner.Begin(CodeQuery, c.workflowID, in.RunID(), Hash(name))
	ended := c.guard(c.runner.options.QueryFor, in, func() {
		defer c.leave(in, note)
		answer.result, answer.err = in.Query(name, input)
		answer.returned = true
	})
	if !ended || !answer.returned {
		return nil, c.lost(in, ended, c.runner.options.QueryFor).Err()
	}
	var refused *engine.QueryError
	keep = run == latest && run.State.AtRest() && (answer.err == nil || errors.As(answer.err, &refused))
	return answer.result, answer.err
}

// readyForQuery brings the code of a run to the point where it answers queries. That may replay a
// long history, and has the time limit of a task.
func (c *Code) readyForQuery(in *engine.Instance, run *engine.Run, w *engine.Writer) error {
	if run.State.AtRest() && in.Slot() == run.State.NextSlot {
		return nil // it is ready
	}
	came := make(chan error, 1) // not a variable: code that does not return may still write to it
	note := c.runner.Begin(CodeQuery, c.workflowID, in.RunID(), 0)
	ended := c.guard(c.runner.options.DeadlockAfter, in, func() { defer c.leave(in, note); came <- run.Ready(in, w) })
	if !ended || len(came) == 0 {
		return c.lost(in, ended, c.runner.options.DeadlockAfter).Err()
	}
	return <-came
}
