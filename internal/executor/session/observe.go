package session

import (
	"cmp"
	"context"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// reportLanded reports commits to the observers. They have landed, and are not yet part of what is
// known.
func reportLanded(ctx context.Context, t *Session, changes []*Change) {
	if !t.Process.Observed().On() {
		return
	}
	now := t.Process.World.Now()
	var opens *history.WorkflowExecutionStarted
	for _, c := range changes {
		if o := c.Commit.Opens(); o != nil {
			opens = o // a reset opens a run with several commits
		}
		run, state := runner.Ident(c.Run, c.Commit.RunID, opens), c.Run.State
		for _, e := range c.Commit.InputEvents {
			fired, _ := e.Attributes.(*history.TimerFired)
			if fired == nil || state.Timers[fired.StartedEventID] == nil {
				continue
			}
			timer := state.Timers[fired.StartedEventID]
			t.Process.Observed().Observe(ctx, &observe.Timer{
				Run: run, EventID: timer.EventID, Commit: timer.Commit, Began: c.Run.TimeOf(timer.Slot).Time(), Ended: now,
			})
		}
		if c.Commit.Task != nil && c.Commit.Task.Reset != nil {
			t.Process.Observed().Observe(ctx, &observe.Reset{Run: run, Commit: c.Commit.ID, From: c.Commit.Task.Reset.BaseRunID, At: now})
		}
		if c.Commit.Status.Closed() && c.Commit.Status != history.Void {
			began := cmp.Or(state.StartTime, c.Commit.Time)
			t.Process.Observed().Observe(ctx, &observe.Closed{
				Run: run, Status: c.Commit.Status, Events: c.Commit.NextEventID() - 1, Began: began.Time(), Ended: c.Commit.Time.Time(),
			})
		}
	}
}

// RecordRun records which run a request was carried out on.
func RecordRun(ctx context.Context, t *Session) {
	if run := t.Run(); run != nil && t.Process.Observed().On() {
		r := runner.Ident(run, "", nil)
		observe.On(ctx, &r)
	}
}

// Metered returns a context for handling messages, and a function that reports their cost when that
// has ended.
func (s *Process) Metered(ctx context.Context) (context.Context, func()) {
	ctx, m := meter.With(ctx)
	return ctx, func() {
		if cost := m.Cost(); cost != (meter.Cost{}) {
			s.Observed().Observe(ctx, &observe.Spent{Cost: cost})
		}
	}
}
