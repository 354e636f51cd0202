package turn

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
)

// Observed is what the service tells of its work; the handlers around it tell the same hub.
func (s *Service) Observed() *observe.Hub { return s.options.Observe }

// Now is the time by the service's clock.
func (s *Service) Now() time.Time { return s.world.Now() }

// ranTask is a workflow task that was run, and of which nobody knows yet what comes of it.
type ranTask struct {
	ctx context.Context
	observe.Task
}

// ident says which run something happened to, before its first commit has landed as well: runID and started are of that
// then.
func ident(run *engine.Run, runID history.RunID, started *history.WorkflowExecutionStarted) observe.Run {
	r := observe.Run{WorkflowID: run.WorkflowID, RunID: cmp.Or(run.State.RunID, runID)}
	if run.State.Started != nil {
		started = run.State.Started
	}
	if started != nil {
		r.Type, r.FirstRunID, r.TraceParent = started.WorkflowType, cmp.Or(started.FirstRunID, started.OriginalRunID), started.TraceParent
	}
	return r
}

// ran notes a workflow task that was run, and tells operators if it failed. The failure's own text may hold what users
// gave, and stays in the history. What a check of validators has found is logged without that.
func (t *session) ran(ctx context.Context, run *engine.Run, w *engine.Writer, task engine.Task, began time.Time, transition *engine.Transition) {
	f := transition.Failure
	if f == nil && !t.Observed().On() {
		return
	}
	now := t.world.Now()
	r := ranTask{ctx: ctx, Task: observe.Task{
		Run: ident(run, w.RunID, (&history.Commit{Brought: task.Brought}).Opens()), Commit: w.Commit, Trigger: trigger(task), Kind: transition.Task.Kind,
		Attempt: transition.Task.Attempt, Failure: kindOf(f), Impure: transition.Impure, Stuck: f != nil && run.State.Pending == history.PendingRetry, Began: began, Ran: now.Sub(began),
	}}
	if c := transition.Commit; c != nil {
		r.Events = c.NextEventID() - c.FirstEventID
	}
	if f != nil {
		attrs := []any{"workflowId", t.workflowID, "runId", r.RunID, "kind", r.Failure}
		if f.EventID != 0 {
			attrs = append(attrs, "eventId", f.EventID)
		}
		attrs = append(attrs, "attempt", r.Attempt)
		if r.Impure != "" {
			attrs = append(attrs, "reason", r.Impure)
		}
		t.options.Logger.WarnContext(observe.InTask(ctx, &r.Run, w.Commit), "workflow task failed", attrs...)
	}
	if t.Observed().On() {
		t.tasks = append(t.tasks, r)
	}
}

func kindOf(f *failure.Failure) string {
	if f == nil {
		return ""
	}
	return f.Kind.String()
}

// trigger is what a task brought, in a word.
func trigger(task engine.Task) string {
	if len(task.Brought) == 0 {
		switch {
		case len(task.Updates) > 0:
			return "update"
		case task.First:
			return "start"
		}
		return "retry"
	}
	switch task.Brought[0].Attributes.(type) {
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
	switch about := history.ResolutionOf(task.Brought[len(task.Brought)-1].Attributes); {
	case about.External != 0:
		return "external"
	case about.Activity == 0:
		return "child"
	}
	return "activity"
}

// told tells what came of the tasks that were run: those that made one of these changes came to what err says, and the
// others to nothing.
func (t *session) told(err error, changes ...*change) {
	if len(t.tasks) == 0 {
		return
	}
	now := t.world.Now()
	for i := range t.tasks {
		r := &t.tasks[i]
		r.Outcome, r.Ended = observe.Discarded, now
		for _, c := range changes {
			if c.commit.ID == r.Commit {
				r.Outcome = committed(err)
			}
		}
		t.Observed().Observe(r.ctx, &r.Task)
	}
	t.tasks = nil
}

// committed returns what became of a task whose commit came to err.
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

// tellLanded tells what commits say that have landed, and are not yet part of what is known.
func (t *session) tellLanded(ctx context.Context, changes []*change) {
	if !t.Observed().On() {
		return
	}
	now := t.world.Now()
	var opens *history.WorkflowExecutionStarted
	for _, c := range changes {
		if o := c.commit.Opens(); o != nil {
			opens = o // a reset opens a run with several commits
		}
		run, state := ident(c.run, c.commit.RunID, opens), c.run.State
		for _, e := range c.commit.Brought {
			fired, _ := e.Attributes.(*history.TimerFired)
			if fired == nil || state.Timers[fired.StartedEventID] == nil {
				continue
			}
			timer := state.Timers[fired.StartedEventID]
			t.Observed().Observe(ctx, &observe.Timer{
				Run: run, EventID: timer.EventID, Commit: timer.Commit, Began: c.run.TimeOf(timer.Slot).Time(), Ended: now,
			})
		}
		if c.commit.Task != nil && c.commit.Task.Reset != nil {
			t.Observed().Observe(ctx, &observe.Reset{Run: run, Commit: c.commit.ID, From: c.commit.Task.Reset.BaseRunID, At: now})
		}
		if c.commit.Status.Closed() && c.commit.Status != history.Void {
			began := cmp.Or(state.StartTime, c.commit.Time)
			t.Observed().Observe(ctx, &observe.Closed{
				Run: run, Status: c.commit.Status, Events: c.commit.NextEventID() - 1, Began: began.Time(), Ended: c.commit.Time.Time(),
			})
		}
	}
}

// worked notes which run a request was carried out on.
func (t *session) worked(ctx context.Context) {
	if run := t.run(); run != nil && t.Observed().On() {
		r := ident(run, "", nil)
		observe.On(ctx, &r)
	}
}

// tellUpdate tells the verdict on an update, if there was one.
func (s *Service) tellUpdate(ctx context.Context, c *updateCall) {
	if c.verdict == "" || !s.Observed().On() {
		return
	}
	observe.On(ctx, &c.on)
	s.Observed().Observe(ctx, &observe.Update{
		Run: c.on, UpdateID: c.request.ID, Name: c.request.Name, Outcome: c.verdict, Began: c.began, Ended: c.decided,
	})
}

// decide notes the verdict on an update that the code has seen, or that it never came to.
func (c *updateCall) decide(now time.Time, run *engine.Run, verdict observe.Outcome) {
	c.on, c.verdict, c.decided = ident(run, "", nil), verdict, now
}

// metered returns a context of the handling of messages, and what tells its cost when that has ended.
func (s *Service) metered(ctx context.Context) (context.Context, func()) {
	ctx, m := meter.With(ctx)
	return ctx, func() {
		if cost := m.Cost(); cost != (meter.Cost{}) {
			s.Observed().Observe(ctx, &observe.Spent{Cost: cost})
		}
	}
}

// attempt makes an attempt at an activity, and tells of it. A nil failure is success. What follows from the attempt gets the
// context, which says so.
func (s *Service) attempt(ctx context.Context, w *work) (context.Context, history.Payload, *failure.Failure) {
	ctx, ended := s.Observed().Attempt(ctx, &observe.Attempt{
		Run: w.run, ActivityType: w.activity.ActivityType, EventID: w.activity.EventID, Commit: w.activity.Commit, Number: w.number, Began: s.world.Now(),
	})
	result, f := s.carryOutAttempt(ctx, w)
	ending := came(f)
	if w.pending {
		ending = observe.Pending
	}
	ended(ending, kindOf(f), s.world.Now())
	return ctx, result, f
}

// came is what an attempt came to that ended with this failure, or none.
func came(f *failure.Failure) observe.Outcome {
	switch {
	case f == nil:
		return observe.Completed
	case f.Kind == failure.KindTimeout:
		return observe.TimedOut
	}
	return observe.Failed
}
