package turn

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// Observed is what the service tells of its work; the handlers around it tell the same hub.
func (s *Service) Observed() *observe.Hub { return s.options.Observe }

// Now is the time by the service's clock.
func (s *Service) Now() time.Time { return s.world.Now() }

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
		run, state := runner.Ident(c.run, c.commit.RunID, opens), c.run.State
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
		r := runner.Ident(run, "", nil)
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
	c.on, c.verdict, c.decided = runner.Ident(run, "", nil), verdict, now
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
	ending := runner.Ended(f)
	if w.pending {
		ending = observe.Pending
	}
	ended(ending, runner.KindOf(f), s.world.Now())
	return ctx, result, f
}
