package activities

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// leaseMargin is how much longer than an attempt may take its message stays invisible: longer than it takes to commit its
// result, or to keep it where that fails (resultTime). SQS counts that time by its own clock.
const leaseMargin = 30 * time.Second

// longestLimit is the longest limit of an attempt: what is added to it may not overflow.
const longestLimit = 100 * 365 * 24 * time.Hour

// attemptAge is how long the message of a first attempt may have waited for the attempt to be made by what the process knows
// of the run. One that waited for longer, and one that follows another, looks at the log first: a strong read.
const attemptAge = 5 * time.Second

// Attempt is an attempt at an activity that is to be made.
type Attempt struct {
	Delivery    inbox.Delivery
	Activity    *engine.PendingActivity
	Number      int // of the attempt
	limit       time.Duration
	limited     string           // which limit of time that is
	details     history.Payload  // what the heartbeats of the attempts before it left
	last        *failure.Failure // of the attempt before it, where that is known here
	heartbeater *heartbeater
	run         observe.Run
	began       history.Timestamp
	pending     bool // the attempt goes on outside of this process
	Asked       bool // whoever goes on with it outside has been asked to end it

	looked      bool             // kept is what is recorded of the activity
	kept        *attempts.Record // nil is nothing
	stored      int              // the number of the last record of this attempt; 0 is none
	interrupted bool             // the attempt has begun, and its process has died
}

// Handle makes an attempt at the activity that a message names, and commits its result.
func Handle(ctx context.Context, s *session.Process, d inbox.Delivery) (found bool, err error) {
	w, found, err := admitted(ctx, s, d)
	var next *Attempt
	if w != nil && err == nil {
		next, err = runAttempt(ctx, s, w)
	}
	switch {
	case errors.Is(err, ErrBegun) && !d.Begun: // another delivery was faster, or came before: the record says what is left to do
		d.Begun = true
		return Handle(ctx, s, d)
	case err != nil || w == nil:
		return found || err != nil, err
	}
	for next != nil && err == nil {
		next, err = runAttempt(ctx, s, next)
	}
	if errors.Is(err, ErrBegun) {
		err = nil // a message of its own has begun what follows, and goes on with it
	}
	return true, err
}

// admitted decides what a message that asks for an attempt comes to. If that cannot be decided now, a copy takes the place of a
// first message, and comes sooner than a message whose handler has failed. A copy itself stays: it would have to claim the
// attempt.
func admitted(ctx context.Context, s *session.Process, d inbox.Delivery) (w *Attempt, found bool, err error) {
	err = s.At(ctx, d.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, d.Message)
		found = place != inbox.NotYet
		if err != nil || place != inbox.InLog {
			return err
		}
		w, err = admit(ctx, t, run, d)
		if errors.Is(err, errLate) {
			err = Replace(context.WithoutCancel(ctx), t, run, NewAttempt(run, d, t.Timestamp()), Later(d.Message, t.Timestamp().Add(CopyDelay)))
		}
		return err
	})
	var other *commit.OtherBuild
	if err != nil && !errors.As(err, &other) && !errors.Is(err, ErrOther) && !errors.Is(err, outcome.ErrDropped) && d.Look == 0 && s.Outbox.SendLater(context.WithoutCancel(ctx), d.Message, CopyDelay) == nil {
		return nil, true, nil
	}
	return w, found, err
}

// Later is a message as it is to be looked at again at a moment, or when it is due if that is later.
func Later(m *engine.Message, at history.Timestamp) engine.Message {
	again := *m
	again.Due = max(m.Due, at)
	return again
}

// runAttempt makes an attempt and commits its result. It returns the work that is to be done next in the same invocation, if
// there is any. The gate is open while the activity runs: it may take long, and may itself talk to the workflow.
func runAttempt(ctx context.Context, s *session.Process, w *Attempt) (next *Attempt, err error) {
	ctx, result, f, err := recordedAttempt(ctx, s, w)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if w.pending {
		err = pend(ctx, s, w)
	} else {
		next, err = finish(ctx, s, w, result, f)
	}
	if errors.Is(err, outcome.ErrDropped) {
		err = drop(ctx, s, w.Delivery.Message)
	}
	return next, err
}

// recordedAttempt makes an attempt, which is on record while it runs. It returns an error if the attempt cannot begin. A suspect of the
// recorder waits for its turn before the lease begins.
func recordedAttempt(ctx context.Context, s *session.Process, w *Attempt) (within context.Context, result history.Payload, f *failure.Failure, err error) {
	m := w.Delivery.Message
	note := s.Runner.Begin(runner.CodeActivity, m.WorkflowID, m.RunID, uint64(m.EventID))
	defer s.Runner.End(note)
	if lease := w.lease(); w.Delivery.Extend != nil && lease > 0 {
		if err := w.Delivery.Extend(ctx, lease); err != nil {
			return ctx, nil, nil, err
		}
	}
	begun, err := beginAttempt(ctx, s, w)
	if err == nil && !begun {
		err = ErrBegun
	}
	if err != nil {
		return ctx, nil, nil, err
	}
	within, result, f = observedAttempt(ctx, s, w)
	return within, result, f, nil
}

// admit decides what a message that asks for an attempt comes to: an attempt, or a result without one.
func admit(ctx context.Context, t *session.Session, run *engine.Run, d inbox.Delivery) (*Attempt, error) {
	if !run.Needed(d.Message) {
		return nil, inbox.Repair(ctx, t, run, d.Message)
	}
	w := NewAttempt(run, d, t.Timestamp())
	if early := d.Due.Sub(t.Timestamp()); d.Due != 0 && early > 0 {
		return nil, Replace(ctx, t, run, w, *d.Message)
	}
	if d.Attempt > 1 || t.Timestamp().Sub(d.Sent) > attemptAge {
		// Much may have happened since what is known here: code that no longer waits for the activity, a run that has closed.
		if err := t.RequireFresh(ctx, nil); err != nil {
			return nil, err
		}
	}
	a := w.Activity
	if mayHaveBegun(&d) || w.isCounted() && (w.Number > 1 || w.waited(t.Timestamp()) != nil) {
		if done, err := recall(ctx, t, run, w); done || err != nil {
			return nil, err
		}
	}
	if a.CancelRequested {
		return nil, resolve(ctx, t, run, w, history.Of(&history.ActivityTaskCanceled{ScheduledEventID: a.EventID, Attempt: w.Number}))
	}
	if w.interrupted {
		return nil, interrupt(ctx, t, run, w)
	}
	if f := engine.Oversize(a.ActivityTaskScheduled, t.Options.MaxPayload); f != nil {
		return nil, resolve(ctx, t, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.Number}))
	}
	if most := a.Retry.MaximumAttempts; most > 0 && w.Number > most { // as an earlier version counted
		return nil, resolve(ctx, t, run, w, w.timedOut(most, interruption()))
	}
	if err := mayAttempt(ctx, t, run, w); err != nil {
		return nil, err
	}
	if f := w.waited(t.Timestamp()); f != nil {
		return nil, resolve(ctx, t, run, w, w.timedOut(w.Number, f))
	}
	if reason := t.Runner.Parked(runner.CodeActivity, t.WorkflowID, run.State.RunID, uint64(a.EventID)); reason != "" {
		return nil, holdFor(ctx, t, run, w, reason)
	}
	if isLate(&d, w.limit, t.Timestamp()) {
		return nil, errLate
	}
	if longest := d.Longest; longest > 0 && w.limit > longest {
		return nil, hold(ctx, t, run, w, longest)
	}
	if w.limited == failure.ScheduleToClose && w.limit <= 0 {
		return nil, resolve(ctx, t, run, w, w.timedOut(w.Number, runner.TimedOut(failure.ScheduleToClose, "its time was over before the attempt began", nil)))
	}
	return pace(ctx, t, run, w)
}

// mayHaveBegun reports whether what is recorded of the attempt is looked at before it is made. A count of receives that is too
// low spares that look: then an attempt that is not counted is made once more, from the heartbeat that its message carries.
func mayHaveBegun(d *inbox.Delivery) bool { return d.Begun || d.Received > 1 || d.Seen > 0 }

// interrupt is what an attempt comes to that was interrupted: it has failed, and the retry policy says what follows.
func interrupt(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) error {
	f := interruption()
	e, next := w.Verdict(t.Timestamp(), nil, f)
	if next != nil {
		return NextAttempt(ctx, t.Process, w.Delivery.Message, w.Activity.EventID, *next, f)
	}
	return resolve(ctx, t, run, w, e)
}

// mayAttempt returns an OtherBuild if another build has to make an attempt, with the message that waits for it in the place of
// the one that came: it knows of the attempts that were interrupted.
func mayAttempt(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) error {
	err := commit.CheckBuild(ctx, t, run)
	var other *commit.OtherBuild
	if errors.As(err, &other) {
		m := *w.Delivery.Message
		m.Attempt, m.Details = w.Number, w.details
		other.Instead = &m
	}
	return err
}

// NewAttempt is an attempt that begins now, with the time that it has.
func NewAttempt(run *engine.Run, d inbox.Delivery, now history.Timestamp) *Attempt {
	a := run.State.Activities[d.EventID]
	w := &Attempt{
		Delivery: d, Activity: a, Number: d.Attempt, limit: time.Duration(a.StartToClose), limited: failure.StartToClose,
		run: runner.Ident(run, "", nil), details: d.Details, began: now,
	}
	if a.ScheduleToClose > 0 {
		if left := a.Time.Add(time.Duration(a.ScheduleToClose)).Sub(now); left < w.limit || w.limit == 0 {
			w.limit, w.limited = left, failure.ScheduleToClose
		}
	}
	w.limit = min(w.limit, longestLimit)
	return w
}

// next is the message of a further attempt.
func (w *Attempt) next(number int, due history.Timestamp) engine.Message {
	m := *w.Delivery.Message
	m.Kind, m.TaskQueue = engine.RunActivity, w.Activity.TaskQueue
	m.Attempt, m.Due, m.Sent = number, due, 0
	m.Reserved, m.Look, m.Copy = 0, 0, 0 // it takes a slot of its own, and nothing has taken its place
	m.Details = w.details
	if w.heartbeater != nil {
		m.Details = w.heartbeater.last()
	}
	return m
}

// carryOutAttempt runs the activity's code. A nil failure is success.
func carryOutAttempt(ctx context.Context, s *session.Process, w *Attempt) (result history.Payload, f *failure.Failure) {
	a := w.Activity
	code := s.Registry.Activity(a.ActivityType)
	if code == nil {
		return nil, runner.Unregistered(a.ActivityType)
	}
	limited, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), w.limit)
	defer cancel()
	w.heartbeater = &heartbeater{s: s, w: w}
	limited, _ = w.heartbeater.begin(limited)
	defer w.heartbeater.end()
	limited = attempt.With(limited, attempt.Info{
		WorkflowID: w.Delivery.WorkflowID, RunID: string(w.Delivery.RunID), ActivityType: a.ActivityType, EventID: a.EventID, Attempt: w.Number,
	}, w.heartbeater)
	o, hung := s.Runner.GuardAttempt(w.limit, func() runner.Attempted {
		return runner.CallActivity(header.Into(limited, a.Header), s.Registry.Code(code), a.Input)
	})
	if hung != nil {
		s.Options.Logger.ErrorContext(ctx, "an activity does not heed the end of its context; it is given up", "workflowId", w.Delivery.WorkflowID, "activityType", a.ActivityType)
		return nil, runner.TimedOut(w.limited, "the attempt took longer than "+w.limit.String()+", and did not end with its context", nil)
	}
	if o.Pending {
		w.pending = w.heartbeater.hasToken()
		return nil, tokenNotTaken(w)
	}
	switch {
	case o.Failure != nil && errors.Is(context.Cause(limited), errSilent):
		return nil, runner.TimedOut(failure.Heartbeat, "the attempt was silent for longer than "+time.Duration(a.Heartbeat).String(), o.Failure)
	case o.Failure != nil && w.heartbeater.canceled():
		return nil, o.Failure
	case o.Failure != nil && limited.Err() != nil:
		return nil, runner.TimedOut(w.limited, "the attempt took longer than "+w.limit.String(), o.Failure)
	case o.Failure == nil && len(o.Result) > s.Options.MaxPayload:
		return nil, failure.FromError(failure.Newf(failure.ErrTooLarge.Type, "the result has %d bytes, and may have %d: %s", len(o.Result), s.Options.MaxPayload, engine.Advice(s.Options.MaxPayload)).Final())
	}
	return o.Result, o.Failure
}

// errLate is an attempt for which there is no time left here, although there usually is: this process was held up.
var errLate = errors.New("turn: there is no time left for the attempt")

// isLate reports whether an attempt that may take this long would be cut off.
func isLate(d *inbox.Delivery, limit time.Duration, now history.Timestamp) bool {
	return !d.Deadline.IsZero() && (d.Longest == 0 || limit <= d.Longest) && history.At(d.Deadline).Sub(now) < limit
}

// finish does what follows from an attempt: its result is committed, or the next attempt is sent. It returns the activity
// that follows, where that is to be run here.
func finish(ctx context.Context, s *session.Process, w *Attempt, result history.Payload, f *failure.Failure) (*Attempt, error) {
	soft, last := resultTime(s, &w.Delivery)
	within, cancel := s.World.WithTimeout(ctx, soft)
	defer cancel()
	e, next := w.Verdict(s.Timestamp(), result, f)
	if next != nil {
		return nil, NextAttempt(within, s, w.Delivery.Message, w.Activity.EventID, *next, f)
	}
	follows := &continuation{s: s, of: w}
	if err := commitResult(within, s, w, e, follows); err != nil {
		within, cancel := s.World.WithTimeout(ctx, last)
		defer cancel()
		return nil, keepResult(within, s, w, e)
	}
	return follows.next, nil
}

// resultReserve is the time for keeping a result that could not be committed.
const resultReserve = 8 * time.Second

// resultTime is the time for committing a result, and for keeping it where that fails.
func resultTime(s *session.Process, d *inbox.Delivery) (commit, keep time.Duration) {
	commit, keep = s.Options.SoftLimit, resultReserve
	if !d.Deadline.IsZero() {
		left := d.Deadline.Sub(s.World.Now())
		commit, keep = min(commit, max(left/2, time.Second)), min(keep, max(left/3, time.Second))
	}
	return commit, keep
}

// keepResult sends a result that could not be committed, or may have been: to the workflow's queue, which brings results
// together, or to the timer queue if that refuses it. Whoever gets it finds out whether it is in the log, and sends what its
// commit owes. It tries until ctx ends: only then is the result lost, and the attempt's message is delivered again.
func keepResult(ctx context.Context, s *session.Process, w *Attempt, e history.Event) error {
	for try := 0; ; try++ {
		err := sendToWorkflowQueue(ctx, s, w, e, 0)
		if err != nil {
			err = sendToWorkflowQueue(ctx, s, w, e, s.Timestamp().Add(time.Second))
		}
		if err == nil || s.World.Wait(ctx, host.Backoff(s.World, try), nil) != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Verdict is what an attempt comes to that ends now: the event that ends the activity, or the message of a further attempt.
// A nil failure is success.
func (w *Attempt) Verdict(now history.Timestamp, result history.Payload, f *failure.Failure) (e history.Event, next *engine.Message) {
	a := w.Activity
	if f == nil {
		return history.Of(&history.ActivityTaskCompleted{ScheduledEventID: a.EventID, Result: result, Attempt: w.Number}), nil
	}
	at, again := engine.NextAttempt(a.ActivityTaskScheduled, a.Time, now, w.Number, f)
	switch {
	case w.Asked, w.heartbeater != nil && w.heartbeater.canceled():
		return history.Of(&history.ActivityTaskCanceled{ScheduledEventID: a.EventID, Failure: f, Attempt: w.Number}), nil
	case f.Timeout == failure.ScheduleToClose:
		return w.timedOut(w.Number, f), nil
	case again:
		m := w.next(w.Number+1, at)
		return e, &m
	case f.Kind == failure.KindTimeout:
		return w.timedOut(w.Number, f), nil
	}
	return history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.Number}), nil
}

func (w *Attempt) timedOut(number int, f *failure.Failure) history.Event {
	return history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: w.Activity.EventID, Failure: f, Attempt: number})
}

// resolve commits the end of an activity that no attempt has brought: here, or through the workflow's queue, as bringResult does.
func resolve(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, e history.Event) error {
	if over, apart := goesThroughQueue(t, run); over {
		if err := sendToWorkflowQueue(ctx, t.Process, w, e, 0); err == nil || apart {
			return err
		}
	}
	return commit.Events(ctx, t, run, []history.Event{e}, w.Delivery.Message)
}

// sendToWorkflowQueue sends a result to the workflow's queue, or to the timer queue if it is due at a moment.
func sendToWorkflowQueue(ctx context.Context, s *session.Process, w *Attempt, e history.Event, due history.Timestamp) error {
	return s.Outbox.Send(ctx, []engine.Message{resultMessage(w, e, due)})
}

// resultMessage is the message that brings a result to the workflow's queue, or to the timer queue if it is due at a moment.
func resultMessage(w *Attempt, e history.Event, due history.Timestamp) engine.Message {
	m := *w.Delivery.Message
	m.Kind, m.Activity, m.Result, m.Due, m.Reserved, m.Sent, m.Look, m.Copy = engine.TakeResult, nil, &e, due, 0, 0, 0, 0
	return m
}

// CopyDelay is the delay of that copy, of a message that was sent just now.
const CopyDelay = 2 * time.Second

// observedAttempt makes an attempt at an activity, and tells of it. A nil failure is success. What follows from the attempt gets the
// context, which says so.
func observedAttempt(ctx context.Context, s *session.Process, w *Attempt) (context.Context, history.Payload, *failure.Failure) {
	ctx, ended := s.Observed().Attempt(ctx, &observe.Attempt{
		Run: w.run, ActivityType: w.Activity.ActivityType, EventID: w.Activity.EventID, Commit: w.Activity.Commit, Number: w.Number, Began: s.World.Now(),
	})
	result, f := carryOutAttempt(ctx, s, w)
	ending := runner.Ended(f)
	if w.pending {
		ending = observe.Pending
	}
	ended(ending, runner.KindOf(f), s.World.Now())
	return ctx, result, f
}
