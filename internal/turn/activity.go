package turn

import (
	"context"
	"errors"
	"runtime/debug"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// attemptGrace is how much longer than its time an attempt is waited for before it is given up: its context has ended,
// and it should have returned.
const attemptGrace = 2 * time.Second

// leaseMargin is how much longer than an attempt may take its message stays invisible: longer than it takes to commit its
// result, at worst.
const leaseMargin = 30 * time.Second

// attemptAge is how long the message of a first attempt may have waited for the attempt to be made by what the process knows
// of the run. One that waited for longer, and one that follows another, looks at the log first: a strong read.
const attemptAge = 5 * time.Second

// work is an attempt at an activity that is to be made.
type work struct {
	delivery Delivery
	activity *engine.PendingActivity
	number   int // of the attempt
	limit    time.Duration
	limited  string           // which limit of time that is
	details  history.Payload  // what the heartbeats of the attempts before it left
	last     *failure.Failure // of the attempt before it, where that is known here
	heart    *heart
	expires  history.Timestamp
	run      observe.Run
	began    history.Timestamp
	pending  bool // the attempt goes on outside of this process
	asked    bool // whoever goes on with it outside has been asked to end it
}

// handleActivity makes an attempt at the activity that a message names, and commits its result.
func (s *Service) handleActivity(ctx context.Context, d Delivery) (found bool, err error) {
	var w *work
	err = s.at(ctx, d.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, d.Message)
		found = place != notYet
		if err != nil || place != inLog {
			return err
		}
		w, err = t.admit(ctx, run, d)
		return err
	})
	var other *OtherBuild
	if errors.As(err, &other) {
		return true, err
	}
	if err != nil && !errors.Is(err, errUnsure) && (d.Received == 1 || errors.Is(err, errLate)) {
		// No attempt was made, so none may be counted: a copy takes the message's place. (Only the first time, but for want of
		// time: a message whose handlers overlap would multiply.)
		if s.sendLater(context.WithoutCancel(ctx), d.Message, copyDelay) == nil {
			return true, nil
		}
	}
	if err != nil {
		return true, err
	}
	if w == nil {
		return found, nil
	}
	for w != nil && err == nil {
		w, err = s.work(ctx, w)
	}
	return true, err
}

// work makes an attempt and commits its result. It returns the work that is to be done next in the same invocation, if
// there is any. The gate is open while the activity runs: it may take long, and may itself talk to the workflow.
func (s *Service) work(ctx context.Context, w *work) (next *work, err error) {
	if lease := w.lease(); w.delivery.Extend != nil && lease > 0 {
		if err := w.delivery.Extend(ctx, lease); err != nil {
			return nil, err
		}
	}
	ctx, result, f := s.attempt(ctx, w)
	if w.pending {
		return nil, s.pend(context.WithoutCancel(ctx), w)
	}
	return s.finish(context.WithoutCancel(ctx), w, result, f)
}

// admit decides what a message that asks for an attempt comes to: an attempt, or a result without one.
func (t *session) admit(ctx context.Context, run *engine.Run, d Delivery) (*work, error) {
	if !run.Needed(d.Message) {
		return nil, t.repair(ctx, run, d.Message)
	}
	if early := d.Due.Sub(t.now()); d.Due != 0 && early > 0 {
		return nil, t.send(ctx, []engine.Message{*d.Message})
	}
	if d.Attempt > 1 || t.now().Sub(d.Sent) > attemptAge {
		// Much may have happened since what is known here: code that no longer waits for the activity, a run that has closed.
		if err := t.final(ctx, nil); err != nil {
			return nil, err
		}
	}
	a := run.State.Activities[d.EventID]
	w := newWork(run, d, t.now())
	if a.CancelRequested {
		return nil, t.resolve(ctx, run, w, history.Of(&history.ActivityTaskCanceled{ScheduledEventID: a.EventID, Attempt: w.number}))
	}
	if f := engine.Oversize(a.ActivityTaskScheduled, t.options.MaxPayload); f != nil {
		return nil, t.resolve(ctx, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.number}))
	}
	if d.Received > 1 || d.Seen > 0 {
		// Delivered before, or sent again by a message that may have run this very attempt inline: it was that message that
		// had to send the next one.
		merged, err := t.redelivered(ctx, run, w)
		if merged || err != nil {
			return nil, err
		}
	}
	if a.Retry.MaximumAttempts > 0 && w.number > a.Retry.MaximumAttempts {
		f := timeout(failure.StartToClose, "an attempt was interrupted, and may have done its work or not; there may be no other", nil)
		return nil, t.resolve(ctx, run, w, w.timedOut(a.Retry.MaximumAttempts, f))
	}
	if err := t.mayAttempt(ctx, run, w); err != nil {
		return nil, err
	}
	if f := w.waited(t.now()); f != nil {
		return nil, t.resolve(ctx, run, w, w.timedOut(w.number, f))
	}
	if d.late(w.limit, t.now()) {
		return nil, errLate
	}
	if longest := d.Longest; longest > 0 && w.limit > longest {
		return nil, t.resolve(ctx, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: tooLong(a, w, longest), Attempt: w.number}))
	}
	if w.limited == failure.ScheduleToClose && w.limit <= 0 {
		return nil, t.resolve(ctx, run, w, w.timedOut(w.number, timeout(failure.ScheduleToClose, "its time was over before the attempt began", nil)))
	}
	return t.paced(ctx, w)
}

// mayAttempt returns an OtherBuild if another build has to make an attempt, with the message that waits for it in the place of
// the one that came: it knows of the attempts that were interrupted.
func (t *session) mayAttempt(ctx context.Context, run *engine.Run, w *work) error {
	err := t.mine(ctx, run)
	var other *OtherBuild
	if errors.As(err, &other) {
		m := *w.delivery.Message
		m.Attempt, m.Details = w.number, w.details
		other.Instead = &m
	}
	return err
}

// newWork is an attempt that begins now, with the time that it has.
func newWork(run *engine.Run, d Delivery, now history.Timestamp) *work {
	a := run.State.Activities[d.EventID]
	w := &work{
		delivery: d, activity: a, number: d.Attempt, limit: time.Duration(a.StartToClose), limited: failure.StartToClose,
		expires: run.State.Expires, run: ident(run, "", nil), details: d.Details, began: now,
	}
	if a.ScheduleToClose > 0 {
		if left := a.Time.Add(time.Duration(a.ScheduleToClose)).Sub(now); left < w.limit || w.limit == 0 {
			w.limit, w.limited = left, failure.ScheduleToClose
		}
	}
	return w
}

// redelivered looks at a message that was received before. Either its attempt ended, and only the next one's message may
// be missing: it is sent, and the message is done with (merged). Or the attempt was interrupted, and counts as one.
func (t *session) redelivered(ctx context.Context, run *engine.Run, w *work) (merged bool, err error) {
	recorded, err := t.recorded(ctx, t.workflowID, run.Number, w.activity.EventID)
	if err != nil {
		return false, err
	}
	if recorded != nil && recorded.number >= w.number {
		return true, t.send(ctx, []engine.Message{w.next(recorded.number+1, recorded.Next)})
	}
	if recorded != nil && recorded.Deadline != 0 && recorded.number == w.number-1 {
		// The attempt goes on outside, and only the message that looks after it may be missing.
		return true, t.send(ctx, []engine.Message{w.lookAfter(recorded)})
	}
	if recorded != nil {
		w.details, w.last = recorded.Details, recorded.Failure
	}
	w.number += w.delivery.Received - 1
	return false, nil
}

// next is the message of a further attempt.
func (w *work) next(number int, due history.Timestamp) engine.Message {
	m := *w.delivery.Message
	m.Kind, m.TaskQueue = engine.RunActivity, w.activity.TaskQueue
	m.Attempt, m.Due, m.Sent = number, due, 0
	m.Reserved = 0 // it takes a slot of its own
	m.Details = w.details
	if w.heart != nil {
		m.Details = w.heart.last()
	}
	return m
}

// carryOutAttempt runs the activity's code. A nil failure is success.
func (s *Service) carryOutAttempt(ctx context.Context, w *work) (result history.Payload, f *failure.Failure) {
	a := w.activity
	code := s.registry.Activity(a.ActivityType)
	if code == nil {
		return nil, unregistered(a.ActivityType)
	}
	limited, cancel := s.world.WithTimeout(context.WithoutCancel(ctx), w.limit)
	defer cancel()
	w.heart = &heart{s: s, w: w}
	limited, _ = w.heart.begin(limited)
	defer w.heart.end()
	limited = attempt.With(limited, attempt.Info{
		WorkflowID: w.delivery.WorkflowID, RunID: string(w.delivery.RunID), ActivityType: a.ActivityType, EventID: a.EventID, Attempt: w.number,
	}, w.heart)
	o, ended := s.guardAttempt(w.limit, func() attemptOutcome {
		return callActivity(header.Into(limited, a.Header), s.registry.Code(code), a.Input)
	})
	if !ended {
		s.options.Logger.ErrorContext(ctx, "an activity does not heed the end of its context; it is given up", "workflowId", w.delivery.WorkflowID, "activityType", a.ActivityType)
		return nil, timeout(w.limited, "the attempt took longer than "+w.limit.String()+", and did not end with its context", nil)
	}
	if o.pending {
		w.pending = w.heart.named()
		return nil, notNamed(w)
	}
	switch {
	case o.failure != nil && errors.Is(context.Cause(limited), errSilent):
		return nil, timeout(failure.Heartbeat, "the attempt was silent for longer than "+time.Duration(a.Heartbeat).String(), o.failure)
	case o.failure != nil && w.heart.canceled():
		return nil, o.failure
	case o.failure != nil && limited.Err() != nil:
		return nil, timeout(w.limited, "the attempt took longer than "+w.limit.String(), o.failure)
	case o.failure == nil && len(o.result) > s.options.MaxPayload:
		return nil, failure.FromError(failure.Newf("TooLarge", "the result has %d bytes, and may have %d: %s", len(o.result), s.options.MaxPayload, engine.Advice(s.options.MaxPayload)).Final())
	}
	return o.result, o.failure
}

type attemptOutcome struct {
	result  history.Payload
	failure *failure.Failure
	pending bool
}

func callActivity(ctx context.Context, code engine.ActivityCode, input history.Payload) (o attemptOutcome) {
	defer func() {
		if value := recover(); value != nil {
			o = attemptOutcome{failure: failure.Panic(value, debug.Stack())}
		}
	}()
	result, err := code(ctx, input)
	o = attemptOutcome{result, failure.FromError(err), errors.Is(err, attempt.ErrPending)}
	if ctx.Err() == nil && errors.Is(err, context.Canceled) { // of a context of its own
		o.failure.Uncancel()
	}
	return o
}

// errLate is an attempt for which there is no time left here, although there usually is: this process was held up.
var errLate = errors.New("turn: there is no time left for the attempt")

// late reports whether an attempt that may take this long would be cut off.
func (d *Delivery) late(limit time.Duration, now history.Timestamp) bool {
	return !d.Deadline.IsZero() && (d.Longest == 0 || limit <= d.Longest) && history.At(d.Deadline).Sub(now) < limit
}

// tooLong is the failure of an activity that could not end in time here.
func tooLong(a *engine.PendingActivity, w *work, longest time.Duration) *failure.Failure {
	return failure.FromError(failure.Newf("StartToCloseTooLong",
		"an attempt at activity %s may take %v, and the function that runs it allows %v: give it a shorter StartToClose, or the function a longer time-out",
		a.ActivityType, w.limit, longest.Truncate(time.Second)).Final())
}

func timeout(limit, message string, cause *failure.Failure) *failure.Failure {
	return &failure.Failure{Kind: failure.KindTimeout, Timeout: limit, Message: message, Cause: cause}
}

// finish does what follows from an attempt: its result is committed, or the next attempt is sent. It returns the activity
// that follows, where that is to be run here.
func (s *Service) finish(ctx context.Context, w *work, result history.Payload, f *failure.Failure) (*work, error) {
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	e, next := w.verdict(s.now(), result, f)
	if next != nil {
		return nil, s.nextAttempt(ctx, w.delivery.Message, w.activity.EventID, *next, f, w.expires)
	}
	follows := &continuation{of: w}
	err := s.at(ctx, w.delivery.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, w.delivery.Message)
		if err != nil || place != inLog {
			return err
		}
		if !run.Needed(w.delivery.Message) {
			return t.repair(ctx, run, w.delivery.Message)
		}
		t.follows = follows
		return t.resolve(ctx, run, w, e)
	})
	if errors.Is(err, errBusy) {
		return nil, s.handOver(ctx, w, e) // too many others write to this run: its queue brings results together
	}
	return follows.next, err
}

// verdict is what an attempt comes to that ends now: the event that ends the activity, or the message of a further attempt.
// A nil failure is success.
func (w *work) verdict(now history.Timestamp, result history.Payload, f *failure.Failure) (e history.Event, next *engine.Message) {
	a := w.activity
	if f == nil {
		return history.Of(&history.ActivityTaskCompleted{ScheduledEventID: a.EventID, Result: result, Attempt: w.number}), nil
	}
	at, again := engine.NextAttempt(a.ActivityTaskScheduled, a.Time, now, w.number, f)
	switch {
	case w.asked, w.heart != nil && w.heart.canceled():
		return history.Of(&history.ActivityTaskCanceled{ScheduledEventID: a.EventID, Failure: f, Attempt: w.number}), nil
	case f.Timeout == failure.ScheduleToClose:
		return w.timedOut(w.number, f), nil
	case again:
		m := w.next(w.number+1, at)
		return e, &m
	case f.Kind == failure.KindTimeout:
		return w.timedOut(w.number, f), nil
	}
	return history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.number}), nil
}

func (w *work) timedOut(number int, f *failure.Failure) history.Event {
	return history.Of(&history.ActivityTaskTimedOut{ScheduledEventID: w.activity.EventID, Failure: f, Attempt: number})
}

// resolve commits the result of an activity: here, if it is the only one that is pending, and through the workflow's
// queue otherwise, where results that come together become one commit. So it goes where this process has no code of the
// workflow: activities can be deployed apart, and the run may have been moved to another build meanwhile.
func (t *session) resolve(ctx context.Context, run *engine.Run, w *work, e history.Event) error {
	if len(run.State.Activities) > 1 || t.elsewhere(run) || t.registry.Workflow(run.State.Started.WorkflowType) == nil {
		return t.handOver(ctx, w, e)
	}
	return t.commitEvents(ctx, run, []history.Event{e}, w.delivery.Message)
}

// handOver sends a result to the workflow's queue.
func (s *Service) handOver(ctx context.Context, w *work, e history.Event) error {
	m := *w.delivery.Message
	m.Kind, m.Activity, m.Result, m.Due, m.Reserved, m.Sent = engine.TakeResult, nil, &e, 0, 0, 0
	return s.send(ctx, []engine.Message{m})
}

// HandleResults commits the results that messages of one workflow bring, as many in one commit as fit. Where it returns
// nil the messages are to be deleted.
func (s *Service) HandleResults(ctx context.Context, workflowID string, messages []*engine.Message) error {
	ctx, ended := s.metered(ctx)
	defer ended()
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	for len(messages) > 0 {
		n := s.fitting(messages)
		err := s.at(ctx, workflowID, func(ctx context.Context, t *session) error { return t.takeResults(ctx, messages[:n]) })
		if err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// fitting is how many of the results fit into one commit, and leave room for what the code does about them.
func (s *Service) fitting(messages []*engine.Message) int {
	size := 0
	for i, m := range messages {
		switch a := m.Result.Attributes.(type) {
		case *history.ActivityTaskCompleted:
			size += len(a.Result)
		case *history.ChildWorkflowExecutionCompleted:
			size += len(a.Result)
		}
		if i > 0 && size > s.options.MaxCommit/2 {
			return i
		}
	}
	return len(messages)
}

func (t *session) takeResults(ctx context.Context, messages []*engine.Message) error {
	// Find them all first: that may read, and what was known before the read says nothing about what is needed after it.
	var triggers []*engine.Message
	for _, m := range messages {
		m.Again = true // nobody tells
		_, place, err := t.named(ctx, m)
		if err != nil {
			return err
		}
		if place == inLog {
			triggers = append(triggers, m) // of the others the run has closed, or is gone: their results are moot
		}
	}
	if len(triggers) == 0 {
		return nil
	}
	run := t.run()
	var events []history.Event
	for _, m := range triggers {
		if m.RunID == run.State.RunID {
			events = append(events, *m.Result)
		}
	}
	if events = run.Awaited(events...); len(events) == 0 {
		return t.send(ctx, run.Owed(triggers, nil))
	}
	if err := t.mine(ctx, run); err != nil {
		return err
	}
	return t.commitEvents(ctx, run, events, triggers...)
}

// tooLarge is the failure of a task whose commit would be larger than a commit may be.
func tooLarge() *failure.Failure {
	return &failure.Failure{
		Kind:    failure.KindMisuse,
		Message: "what the workflow's code does in this task is larger than a commit may be: start fewer activities at once, receive signals before continuing as new, or pass large inputs by reference",
	}
}
