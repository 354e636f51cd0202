package activities

import (
	"cmp"
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

// leaseMargin is how long an attempt's message stays invisible beyond the attempt's limit. It is
// longer than committing the result takes, or keeping the result if the commit fails (resultTime).
// SQS measures that time by its own clock.
const leaseMargin = 30 * time.Second

// longestLimit caps the limit of an attempt, so that adding to it cannot overflow.
const longestLimit = 100 * 365 * 24 * time.Hour

// attemptAge is the age up to which the message of a first attempt is handled without a read, by
// what the process knows of the run. An older message, and one of a later attempt, costs a strong
// read.
const attemptAge = 5 * time.Second

// Attempt is one attempt at an activity.
type Attempt struct {
	Delivery    inbox.Delivery
	Activity    *engine.PendingActivity
	Number      int // of the attempt
	limit       time.Duration
	limited     string            // which limit of time that is
	details     history.Payload   // what the heartbeats of the attempts before it left
	firstFailed history.Timestamp // when the first attempt failed, or 0
	last        *failure.Failure  // of the attempt before it, if it is known here
	heartbeater *heartbeater
	publisher   *publisher
	since       engine.Execution // had published the last batch before this execution
	run         observe.Run
	began       history.Timestamp
	pending     bool // the attempt continues outside this process
	Asked       bool // the outside worker has been asked to end it

	looked      bool             // kept is what is recorded of the activity
	kept        *attempts.Record // nil if nothing is recorded
	stored      int              // the number of the last record of this attempt; 0 is none
	interrupted bool             // the attempt has begun, and its process has died
	turn        int              // of code that is suspected of ending processes: see runner.Recorder
}

// Handle makes the attempt that a message asks for, and commits its result.
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
		err = nil // another message has begun the next attempt, and continues it
	}
	return true, err
}

// admitted decides whether a message leads to an attempt, and returns that attempt. If it cannot
// decide now and the message is not a copy, it sends a delayed copy instead: that is faster than a
// redelivery. A copy stays in its queue, because replacing it would require a claim.
func admitted(ctx context.Context, s *session.Process, d inbox.Delivery) (w *Attempt, found bool, err error) {
	err = s.At(ctx, d.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, d.Message)
		found = place != inbox.NotYet
		if err != nil || place != inbox.InLog {
			return err
		}
		w, err = admit(ctx, t, run, d)
		if errors.Is(err, errLate) {
			err = Replace(context.WithoutCancel(ctx), t, run, NewAttempt(run, d, t.Process.Timestamp()), Later(d.Message, t.Process.Timestamp().Add(CopyDelay)))
		}
		return err
	})
	var other *commit.OtherBuild
	if err != nil && !errors.As(err, &other) && !errors.Is(err, ErrOther) && !errors.Is(err, outcome.ErrDropped) && d.Look == 0 && s.Outbox.SendLater(context.WithoutCancel(ctx), d.Message, CopyDelay) == nil {
		return nil, true, nil
	}
	return w, found, err
}

// Later returns a copy of a message that is due at a moment, or when the message is due if that is
// later.
func Later(m *engine.Message, at history.Timestamp) engine.Message {
	again := *m
	again.Due = max(m.Due, at)
	return again
}

// runAttempt makes an attempt and commits its result. It returns the next attempt for the same
// invocation, or nil. It does not hold the workflow's lock while the activity runs: the activity
// may take long, and may itself call the workflow.
func runAttempt(ctx context.Context, s *session.Process, w *Attempt) (next *Attempt, err error) {
	ctx, result, f, err := attemptInTurn(ctx, s, w)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	switch {
	case w.publisher != nil && w.publisher.fenced():
		err = errOvertaken // what follows is the other execution's
	case w.pending:
		err = pend(ctx, s, w)
	default:
		next, err = finish(ctx, s, w, result, f)
	}
	overtaken := errors.Is(err, errOvertaken)
	if errors.Is(err, outcome.ErrDropped) {
		err = drop(ctx, s, w.Delivery.Message)
	}
	if overtaken && errors.Is(err, outcome.ErrDropped) {
		err = cmp.Or(dropOvertaken(ctx, s, w), err)
	}
	return next, err
}

// attemptInTurn makes an attempt, and returns an error if the attempt cannot begin. If the recorder
// suspects the code of ending processes, the attempt waits for its turn before its lease begins.
func attemptInTurn(ctx context.Context, s *session.Process, w *Attempt) (within context.Context, result history.Payload, f *failure.Failure, err error) {
	m := w.Delivery.Message
	w.turn = s.Runner.Await(runner.CodeActivity, m.WorkflowID, m.RunID, uint64(m.EventID))
	defer s.Runner.Leave(w.turn) // if the attempt does not begin, or the writes before it panic
	if err := prepareAttempt(ctx, s, w); err != nil {
		return ctx, nil, nil, err
	}
	within, result, f = observedAttempt(ctx, s, w)
	return within, result, f, nil
}

// prepareAttempt extends the lease of an attempt's message, and records that the attempt begins, if
// attempts are counted.
func prepareAttempt(ctx context.Context, s *session.Process, w *Attempt) error {
	if lease := w.lease(); w.Delivery.Extend != nil && lease > 0 {
		if err := w.Delivery.Extend(ctx, lease); err != nil {
			return err
		}
	}
	begun, err := beginAttempt(ctx, s, w)
	if err == nil && !begun {
		err = ErrBegun
	}
	return err
}

// admit returns the attempt that a message asks for, or nil if it committed a result without one.
func admit(ctx context.Context, t *session.Session, run *engine.Run, d inbox.Delivery) (*Attempt, error) {
	if !run.Needed(d.Message) {
		return nil, inbox.Repair(ctx, t, run, d.Message)
	}
	w := NewAttempt(run, d, t.Process.Timestamp())
	if early := d.Due.Sub(t.Process.Timestamp()); d.Due != 0 && early > 0 {
		return nil, Replace(ctx, t, run, w, *d.Message)
	}
	if d.Attempt > 1 || t.Process.Timestamp().Sub(d.Sent) > attemptAge {
		// The run may have closed, or its code may no longer wait for the activity.
		if err := t.RequireFresh(ctx, nil); err != nil {
			return nil, err
		}
	}
	a := w.Activity
	if mayHaveBegun(&d) || w.isCounted() && (w.Number > 1 || w.waited(t.Process.Timestamp()) != nil) {
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
	if f := engine.Oversize(a.ActivityTaskScheduled, t.Process.Options.MaxPayload); f != nil {
		return nil, resolve(ctx, t, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.Number}))
	}
	if most := a.Retry.MaximumAttempts; most > 0 && w.Number > most { // as an earlier version counted
		return nil, resolve(ctx, t, run, w, w.timedOut(most, interruption()))
	}
	if err := checkBuild(ctx, t, run, w); err != nil {
		return nil, err
	}
	if f := w.waited(t.Process.Timestamp()); f != nil {
		return nil, resolve(ctx, t, run, w, w.timedOut(w.Number, f))
	}
	if run.State.Paused != nil {
		return nil, keepHeld(ctx, t, run, w, HeldByPause)
	}
	if reason := t.Process.Runner.Parked(runner.CodeActivity, t.WorkflowID, run.State.RunID, uint64(a.EventID)); reason != "" {
		return nil, holdFor(ctx, t, run, w, reason)
	}
	if isLate(&d, w.limit, t.Process.Timestamp()) {
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

// mayHaveBegun reports whether the attempt's record must be read before the attempt runs. If the
// count of receives is too low, an attempt that is not counted runs once more, from the heartbeat
// that its message carries.
func mayHaveBegun(d *inbox.Delivery) bool {
	return d.Begun || d.Received > 1 || d.Seen > 0 || d.Duplicate
}

// interrupt records that an interrupted attempt has failed. The retry policy decides what follows.
func interrupt(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) error {
	f := interruption()
	e, next := w.Verdict(t.Process.Timestamp(), nil, f)
	if next == nil {
		return resolve(ctx, t, run, w, e)
	}
	if err := NextAttempt(ctx, t.Process, w.Delivery.Message, w.Activity.EventID, *next, f); err != nil {
		return err
	}
	w.Report(ctx, t.Process, f, next)
	return nil
}

// checkBuild returns an OtherBuild if only another build may make the attempt. The error has the
// message that waits for that build in place of the delivered one: it counts the interrupted
// attempts.
func checkBuild(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) error {
	err := commit.CheckBuild(ctx, t, run)
	var other *commit.OtherBuild
	if errors.As(err, &other) {
		m := *w.Delivery.Message
		m.Attempt, m.Details = w.Number, w.details
		other.Instead = &m
	}
	return err
}

// NewAttempt returns an attempt that begins now, with the time left to it.
func NewAttempt(run *engine.Run, d inbox.Delivery, now history.Timestamp) *Attempt {
	a := run.State.Activities[d.EventID]
	w := &Attempt{
		Delivery: d, Activity: a, Number: d.Attempt, limit: time.Duration(a.StartToClose), limited: failure.StartToClose,
		run: runner.Ident(run, "", nil), details: d.Details, firstFailed: d.FirstFailed, began: now,
	}
	if a.ScheduleToClose > 0 {
		if left := a.Time.Add(time.Duration(a.ScheduleToClose)).Sub(now); left < w.limit || w.limit == 0 {
			w.limit, w.limited = left, failure.ScheduleToClose
		}
	}
	w.limit = min(w.limit, longestLimit)
	if a.Publishing != nil {
		w.since = *a.Publishing
	}
	return w
}

// next returns the message of a further attempt.
func (w *Attempt) next(number int, due history.Timestamp) engine.Message {
	m := *w.Delivery.Message
	m.Kind, m.TaskQueue = engine.RunActivity, w.Activity.TaskQueue
	m.Attempt, m.Due, m.Sent = number, due, 0
	m.Reserved, m.Look, m.Copy, m.Duplicate, m.Yields = 0, 0, 0, false, 0 // it makes its own reservation, and no copy has replaced it
	m.Details, m.FirstFailed = w.details, w.firstFailed
	if w.heartbeater != nil {
		m.Details = w.heartbeater.last()
	}
	return m
}

// carryOutAttempt runs the activity's code. A nil failure is success. The recorder lists the code
// while it runs, also after the attempt was given up, and not during Weft's own writes: a process
// that dies in one of those did not die of the code.
func carryOutAttempt(ctx context.Context, s *session.Process, w *Attempt) (result history.Payload, f *failure.Failure) {
	a, m := w.Activity, w.Delivery.Message
	code := s.Registry.Activity(a.ActivityType)
	switch {
	case code == nil:
		return nil, runner.Unregistered(a.ActivityType)
	case engine.OwnType(a.ActivityType) && !engine.OwnType(w.run.Type):
		return nil, failure.FromError(failure.Newf(failure.ErrInvalid.Type, "activity type %q is one of Weft's own, which only its own workflows start: start one of the program", a.ActivityType).Final())
	}
	limited, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), w.limit)
	defer cancel()
	w.heartbeater = &heartbeater{s: s, w: w}
	limited, _ = w.heartbeater.begin(limited)
	defer w.heartbeater.end()
	limited = attempt.With(limited, attempt.Info{
		WorkflowID: m.WorkflowID, RunID: string(m.RunID), ActivityType: a.ActivityType, EventID: a.EventID, Attempt: w.Number,
	}, w.heartbeater)
	w.publisher = newPublisher(limited, w.heartbeater.cancel, s, w)
	defer w.publisher.close()
	limited = attempt.WithPublisher(limited, w.publisher)
	if s.Own != nil && engine.OwnType(a.ActivityType) {
		limited = s.Own(limited)
	}
	o, hung := s.Runner.GuardAttempt(w.limit, func() runner.Attempted {
		note := s.Runner.BeginIn(w.turn, runner.CodeActivity, m.WorkflowID, m.RunID, uint64(m.EventID))
		defer s.Runner.End(note)
		return runner.CallActivity(header.Into(limited, a.Header), s.Registry.Code(code), a.Input)
	})
	if hung != nil {
		s.Options.Logger.ErrorContext(ctx, "an activity does not heed the end of its context; it is given up", "workflowId", m.WorkflowID, "activityType", a.ActivityType)
		return nil, runner.TimedOut(w.limited, "the attempt took longer than "+w.limit.String()+", and did not end with its context", nil)
	}
	if o.Pending {
		if err := publishRest(limited, w.publisher); err != nil {
			return nil, failure.FromError(err)
		}
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

// errLate says that no time is left here for an attempt that usually fits, because this process was
// delayed.
var errLate = errors.New("executor: there is no time left for the attempt")

// isLate reports whether an attempt that may take this long would be cut off.
func isLate(d *inbox.Delivery, limit time.Duration, now history.Timestamp) bool {
	return !d.Deadline.IsZero() && (d.Longest == 0 || limit <= d.Longest) && history.At(d.Deadline).Sub(now) < limit
}

// finish commits the result of an attempt, or sends the next attempt. It returns the activity that
// follows, if this process is to run it.
func finish(ctx context.Context, s *session.Process, w *Attempt, result history.Payload, f *failure.Failure) (*Attempt, error) {
	soft, last := resultTime(s, &w.Delivery)
	within, cancel := s.World.WithTimeout(ctx, soft)
	defer cancel()
	items, f, err := lastItems(within, w, f)
	if err != nil {
		return nil, err
	}
	e, next := w.Verdict(s.Timestamp(), result, f)
	if next != nil {
		if err := checkOvertaken(within, s, w); err != nil {
			return nil, err
		}
	}
	if next != nil || FailureOf(e) != nil {
		w.Report(ctx, s, f, next)
	}
	if next != nil {
		return nil, NextAttempt(within, s, w.Delivery.Message, w.Activity.EventID, *next, f)
	}
	follows := &continuation{s: s, of: w}
	err = commitResult(within, s, w, e, items, follows)
	switch {
	case err == nil:
		return follows.next, nil
	case !errors.Is(err, outcome.ErrDropped) && (items == nil || !isRefused(err)):
		within, cancel := s.World.WithTimeout(ctx, last)
		defer cancel()
		err = keepEnd(within, s, w, e, items)
	}
	if items != nil && isRefused(err) { // the run cannot have the items
		return finish(ctx, s, w, nil, failure.FromError(err))
	}
	return nil, err
}

// keepEnd is keepResult for an attempt with a last batch, which is committed before.
func keepEnd(ctx context.Context, s *session.Process, w *Attempt, e history.Event, items *history.ActivityItemsPublished) error {
	if items != nil {
		if err := w.publisher.commit(ctx, items); err != nil {
			return err
		}
	}
	return keepResult(ctx, s, w, e)
}

// lastItems returns the event of the last batch of an attempt that has succeeded. If a batch is
// refused for good, the attempt has failed. After any other error it has not ended: without its
// items, it has not succeeded.
func lastItems(ctx context.Context, w *Attempt, f *failure.Failure) (*history.ActivityItemsPublished, *failure.Failure, error) {
	if f != nil || w.publisher == nil {
		return nil, f, nil
	}
	items, err := w.publisher.last(ctx)
	if isRefused(err) {
		return nil, failure.FromError(err), nil
	}
	return items, nil, dropped(err)
}

// resultReserve is the time for keeping a result that could not be committed.
const resultReserve = 8 * time.Second

// resultTime returns the time for committing a result, and the time for keeping it if that fails.
func resultTime(s *session.Process, d *inbox.Delivery) (commit, keep time.Duration) {
	commit, keep = s.Options.SoftLimit, resultReserve
	if !d.Deadline.IsZero() {
		left := d.Deadline.Sub(s.World.Now())
		commit, keep = min(commit, max(left/2, time.Second)), min(keep, max(left/3, time.Second))
	}
	return commit, keep
}

// keepResult sends a result whose commit failed or is uncertain. It sends to the workflow's queue,
// which batches results, or to the timer queue if that refuses it. The receiver finds out whether
// the result is in the log, and sends what its commit owes. keepResult retries until ctx ends. Only
// then is the result lost, and the attempt's message is redelivered.
func keepResult(ctx context.Context, s *session.Process, w *Attempt, e history.Event) error {
	for try := 0; ; try++ {
		err := s.Outbox.Send(ctx, []engine.Message{endMessage(w, e, 0)})
		if err != nil {
			err = s.Outbox.Send(ctx, []engine.Message{endMessage(w, e, s.Timestamp().Add(time.Second))})
		}
		if err == nil || s.World.Wait(ctx, host.Backoff(s.World, try), nil) != nil || ctx.Err() != nil {
			return err
		}
	}
}

// Verdict decides what follows from an attempt that ends now: the event that ends the activity, or
// the message of a further attempt. A nil failure is success.
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
		if w.Number == 1 {
			m.FirstFailed = now
		}
		return e, &m
	case f.Kind == failure.KindTimeout:
		return w.timedOut(w.Number, f), nil
	}
	return history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.Number}), nil
}

func (w *Attempt) timedOut(number int, f *failure.Failure) history.Event {
	return history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: w.Activity.EventID, Failure: f, Attempt: number})
}

// Report logs that the attempt has failed. A nil next says that no attempt follows.
func (w *Attempt) Report(ctx context.Context, s *session.Process, f *failure.Failure, next *engine.Message) {
	follows := observe.Next{Last: next == nil}
	if next != nil {
		follows.In = max(next.Due.Sub(s.Timestamp()), time.Millisecond) // 0 would be unknown
	}
	s.Failures.Attempt(ctx, &observe.Attempt{Run: w.run, ActivityType: w.Activity.ActivityType, EventID: w.Activity.EventID, Number: w.Number}, f, follows)
}

// FailureOf returns the failure of an event that ends an activity, or nil if it succeeded or was
// canceled.
func FailureOf(e history.Event) *failure.Failure {
	switch a := e.Attributes.(type) {
	case *history.ActivityTaskFailed:
		return a.Failure
	case *history.ActivityTaskTimedOut:
		return a.Failure
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // it has not failed
	}
	return nil
}

// resolve commits the end of an activity without an attempt, and logs it if that is a failure.
func resolve(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, e history.Event) error {
	if err := commitEnd(ctx, t, run, w, e); err != nil {
		return err
	}
	if f := FailureOf(e); f != nil {
		w.Report(ctx, t.Process, f, nil)
	}
	return nil
}

// commitEnd commits the end of an activity, here or through the workflow's queue, as commitResult
// does.
func commitEnd(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, e history.Event) error {
	if over, queueOnly := goesThroughQueue(ctx, t, run); over {
		if err := t.Process.Outbox.Send(ctx, []engine.Message{resultMessage(w, e, 0)}); err == nil || queueOnly {
			return err
		}
	}
	return commit.Events(ctx, t, run, []history.Event{e}, w.Delivery.Message)
}

// resultMessage returns the message that carries a result to the workflow's queue, or to the timer
// queue if it has a due time.
func resultMessage(w *Attempt, e history.Event, due history.Timestamp) engine.Message {
	m := *w.Delivery.Message
	m.Kind, m.Activity, m.Result, m.Due, m.Reserved, m.Sent, m.Look, m.Copy = engine.TakeResult, nil, &e, due, 0, 0, 0, 0
	return m
}

// endMessage is resultMessage for the end of an execution of the attempt. It has what AttemptAgain
// needs.
func endMessage(w *Attempt, e history.Event, due history.Timestamp) engine.Message {
	m, since, of := resultMessage(w, e, due), w.knows(nil), w.Delivery.Message
	m.Since, m.By, m.Look, m.Copy = &since, of.Send, of.Look, of.Copy
	return m
}

// CopyDelay is the delay of the copy of a message that was sent just now.
const CopyDelay = 2 * time.Second

// observedAttempt makes an attempt and reports it to the observers. A nil failure is success.
// Whatever follows from the attempt runs with the context that it returns, which identifies the
// attempt.
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
