package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// leaseMargin is how much longer than an attempt may take its message stays invisible: longer than it takes to commit its
// result, or to keep it where that fails (resultTime). SQS counts that time by its own clock.
const leaseMargin = 30 * time.Second

// longestLimit is the longest limit of an attempt: what is added to it may not overflow.
const longestLimit = 100 * 365 * 24 * time.Hour

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
	run      observe.Run
	began    history.Timestamp
	pending  bool // the attempt goes on outside of this process
	asked    bool // whoever goes on with it outside has been asked to end it

	looked      bool             // kept is what is recorded of the activity
	kept        *attempts.Record // nil is nothing
	stored      int              // the number of the last record of this attempt; 0 is none
	interrupted bool             // the attempt has begun, and its process has died
}

// handleActivity makes an attempt at the activity that a message names, and commits its result.
func (s *Service) handleActivity(ctx context.Context, d Delivery) (found bool, err error) {
	w, found, err := s.admitted(ctx, d)
	var next *work
	if w != nil && err == nil {
		next, err = s.work(ctx, w)
	}
	switch {
	case errors.Is(err, errBegun) && !d.begun: // another delivery was faster, or came before: the record says what is left to do
		d.begun = true
		return s.handleActivity(ctx, d)
	case err != nil || w == nil:
		return found || err != nil, err
	}
	for next != nil && err == nil {
		next, err = s.work(ctx, next)
	}
	if errors.Is(err, errBegun) {
		err = nil // a message of its own has begun what follows, and goes on with it
	}
	return true, err
}

// admitted decides what a message that asks for an attempt comes to. If that cannot be decided now, a copy takes the place of a
// first message, and comes sooner than a message whose handler has failed. A copy itself stays: it would have to claim the
// attempt.
func (s *Service) admitted(ctx context.Context, d Delivery) (w *work, found bool, err error) {
	err = s.at(ctx, d.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, d.Message)
		found = place != notYet
		if err != nil || place != inLog {
			return err
		}
		w, err = t.admit(ctx, run, d)
		if errors.Is(err, errLate) {
			err = t.replace(context.WithoutCancel(ctx), run, newWork(run, d, t.now()), later(d.Message, t.now().Add(copyDelay)))
		}
		return err
	})
	var other *OtherBuild
	if err != nil && !errors.As(err, &other) && !errors.Is(err, errOther) && !errors.Is(err, outcome.ErrDropped) && d.Look == 0 && s.outbox.SendLater(context.WithoutCancel(ctx), d.Message, copyDelay) == nil {
		return nil, true, nil
	}
	return w, found, err
}

// later is a message as it is to be looked at again at a moment, or when it is due if that is later.
func later(m *engine.Message, at history.Timestamp) engine.Message {
	again := *m
	again.Due = max(m.Due, at)
	return again
}

// work makes an attempt and commits its result. It returns the work that is to be done next in the same invocation, if
// there is any. The gate is open while the activity runs: it may take long, and may itself talk to the workflow.
func (s *Service) work(ctx context.Context, w *work) (next *work, err error) {
	ctx, result, f, err := s.recordedAttempt(ctx, w)
	if err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if w.pending {
		err = s.pend(ctx, w)
	} else {
		next, err = s.finish(ctx, w, result, f)
	}
	if errors.Is(err, outcome.ErrDropped) {
		err = s.drop(ctx, w.delivery.Message)
	}
	return next, err
}

// recordedAttempt makes an attempt, which is on record while it runs. It returns an error if the attempt cannot begin. A suspect of the
// recorder waits for its turn before the lease begins.
func (s *Service) recordedAttempt(ctx context.Context, w *work) (within context.Context, result history.Payload, f *failure.Failure, err error) {
	m := w.delivery.Message
	note := s.runner.Begin(runner.CodeActivity, m.WorkflowID, m.RunID, uint64(m.EventID))
	defer s.runner.End(note)
	if lease := w.lease(); w.delivery.Extend != nil && lease > 0 {
		if err := w.delivery.Extend(ctx, lease); err != nil {
			return ctx, nil, nil, err
		}
	}
	begun, err := s.beginAttempt(ctx, w)
	if err == nil && !begun {
		err = errBegun
	}
	if err != nil {
		return ctx, nil, nil, err
	}
	within, result, f = s.attempt(ctx, w)
	return within, result, f, nil
}

// admit decides what a message that asks for an attempt comes to: an attempt, or a result without one.
func (t *session) admit(ctx context.Context, run *engine.Run, d Delivery) (*work, error) {
	if !run.Needed(d.Message) {
		return nil, t.repair(ctx, run, d.Message)
	}
	w := newWork(run, d, t.now())
	if early := d.Due.Sub(t.now()); d.Due != 0 && early > 0 {
		return nil, t.replace(ctx, run, w, *d.Message)
	}
	if d.Attempt > 1 || t.now().Sub(d.Sent) > attemptAge {
		// Much may have happened since what is known here: code that no longer waits for the activity, a run that has closed.
		if err := t.final(ctx, nil); err != nil {
			return nil, err
		}
	}
	a := w.activity
	if d.mayHaveBegun() || w.counted() && (w.number > 1 || w.waited(t.now()) != nil) {
		if done, err := t.recall(ctx, run, w); done || err != nil {
			return nil, err
		}
	}
	if a.CancelRequested {
		return nil, t.resolve(ctx, run, w, history.Of(&history.ActivityTaskCanceled{ScheduledEventID: a.EventID, Attempt: w.number}))
	}
	if w.interrupted {
		return nil, t.interrupt(ctx, run, w)
	}
	if f := engine.Oversize(a.ActivityTaskScheduled, t.options.MaxPayload); f != nil {
		return nil, t.resolve(ctx, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: a.EventID, Failure: f, Attempt: w.number}))
	}
	if most := a.Retry.MaximumAttempts; most > 0 && w.number > most { // as an earlier version counted
		return nil, t.resolve(ctx, run, w, w.timedOut(most, interrupted()))
	}
	if err := t.mayAttempt(ctx, run, w); err != nil {
		return nil, err
	}
	if f := w.waited(t.now()); f != nil {
		return nil, t.resolve(ctx, run, w, w.timedOut(w.number, f))
	}
	if reason := t.runner.Parked(runner.CodeActivity, t.workflowID, run.State.RunID, uint64(a.EventID)); reason != "" {
		return nil, t.holdFor(ctx, run, w, reason)
	}
	if d.late(w.limit, t.now()) {
		return nil, errLate
	}
	if longest := d.Longest; longest > 0 && w.limit > longest {
		return nil, t.hold(ctx, run, w, longest)
	}
	if w.limited == failure.ScheduleToClose && w.limit <= 0 {
		return nil, t.resolve(ctx, run, w, w.timedOut(w.number, runner.TimedOut(failure.ScheduleToClose, "its time was over before the attempt began", nil)))
	}
	return t.paced(ctx, run, w)
}

// mayHaveBegun reports whether what is recorded of the attempt is looked at before it is made. A count of receives that is too
// low spares that look: then an attempt that is not counted is made once more, from the heartbeat that its message carries.
func (d *Delivery) mayHaveBegun() bool { return d.begun || d.Received > 1 || d.Seen > 0 }

// interrupt is what an attempt comes to that was interrupted: it has failed, and the retry policy says what follows.
func (t *session) interrupt(ctx context.Context, run *engine.Run, w *work) error {
	f := interrupted()
	e, next := w.verdict(t.now(), nil, f)
	if next != nil {
		return t.nextAttempt(ctx, w.delivery.Message, w.activity.EventID, *next, f)
	}
	return t.resolve(ctx, run, w, e)
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
func (w *work) next(number int, due history.Timestamp) engine.Message {
	m := *w.delivery.Message
	m.Kind, m.TaskQueue = engine.RunActivity, w.activity.TaskQueue
	m.Attempt, m.Due, m.Sent = number, due, 0
	m.Reserved, m.Look, m.Copy = 0, 0, 0 // it takes a slot of its own, and nothing has taken its place
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
		return nil, runner.Unregistered(a.ActivityType)
	}
	limited, cancel := s.world.WithTimeout(context.WithoutCancel(ctx), w.limit)
	defer cancel()
	w.heart = &heart{s: s, w: w}
	limited, _ = w.heart.begin(limited)
	defer w.heart.end()
	limited = attempt.With(limited, attempt.Info{
		WorkflowID: w.delivery.WorkflowID, RunID: string(w.delivery.RunID), ActivityType: a.ActivityType, EventID: a.EventID, Attempt: w.number,
	}, w.heart)
	o, hung := s.runner.GuardAttempt(w.limit, func() runner.Attempted {
		return runner.CallActivity(header.Into(limited, a.Header), s.registry.Code(code), a.Input)
	})
	if hung != nil {
		s.options.Logger.ErrorContext(ctx, "an activity does not heed the end of its context; it is given up", "workflowId", w.delivery.WorkflowID, "activityType", a.ActivityType)
		return nil, runner.TimedOut(w.limited, "the attempt took longer than "+w.limit.String()+", and did not end with its context", nil)
	}
	if o.Pending {
		w.pending = w.heart.named()
		return nil, notNamed(w)
	}
	switch {
	case o.Failure != nil && errors.Is(context.Cause(limited), errSilent):
		return nil, runner.TimedOut(failure.Heartbeat, "the attempt was silent for longer than "+time.Duration(a.Heartbeat).String(), o.Failure)
	case o.Failure != nil && w.heart.canceled():
		return nil, o.Failure
	case o.Failure != nil && limited.Err() != nil:
		return nil, runner.TimedOut(w.limited, "the attempt took longer than "+w.limit.String(), o.Failure)
	case o.Failure == nil && len(o.Result) > s.options.MaxPayload:
		return nil, failure.FromError(failure.Newf(failure.ErrTooLarge.Type, "the result has %d bytes, and may have %d: %s", len(o.Result), s.options.MaxPayload, engine.Advice(s.options.MaxPayload)).Final())
	}
	return o.Result, o.Failure
}

// errLate is an attempt for which there is no time left here, although there usually is: this process was held up.
var errLate = errors.New("turn: there is no time left for the attempt")

// late reports whether an attempt that may take this long would be cut off.
func (d *Delivery) late(limit time.Duration, now history.Timestamp) bool {
	return !d.Deadline.IsZero() && (d.Longest == 0 || limit <= d.Longest) && history.At(d.Deadline).Sub(now) < limit
}

// finish does what follows from an attempt: its result is committed, or the next attempt is sent. It returns the activity
// that follows, where that is to be run here.
func (s *Service) finish(ctx context.Context, w *work, result history.Payload, f *failure.Failure) (*work, error) {
	soft, last := s.resultTime(&w.delivery)
	within, cancel := s.world.WithTimeout(ctx, soft)
	defer cancel()
	e, next := w.verdict(s.now(), result, f)
	if next != nil {
		return nil, s.nextAttempt(within, w.delivery.Message, w.activity.EventID, *next, f)
	}
	follows := &continuation{s: s, of: w}
	if err := s.bringResult(within, w, e, follows); err != nil {
		within, cancel := s.world.WithTimeout(ctx, last)
		defer cancel()
		return nil, s.keepResult(within, w, e)
	}
	return follows.next, nil
}

// resultReserve is the time for keeping a result that could not be committed.
const resultReserve = 8 * time.Second

// resultTime is the time for committing a result, and for keeping it where that fails.
func (s *Service) resultTime(d *Delivery) (commit, keep time.Duration) {
	commit, keep = s.options.SoftLimit, resultReserve
	if !d.Deadline.IsZero() {
		left := d.Deadline.Sub(s.world.Now())
		commit, keep = min(commit, max(left/2, time.Second)), min(keep, max(left/3, time.Second))
	}
	return commit, keep
}

// keepResult sends a result that could not be committed, or may have been: to the workflow's queue, which brings results
// together, or to the timer queue if that refuses it. Whoever gets it finds out whether it is in the log, and sends what its
// commit owes. It tries until ctx ends: only then is the result lost, and the attempt's message is delivered again.
func (s *Service) keepResult(ctx context.Context, w *work, e history.Event) error {
	for try := 0; ; try++ {
		err := s.handOver(ctx, w, e, 0)
		if err != nil {
			err = s.handOver(ctx, w, e, s.now().Add(time.Second))
		}
		if err == nil || s.world.Wait(ctx, host.Backoff(s.world, try), nil) != nil || ctx.Err() != nil {
			return err
		}
	}
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

// resolve commits the end of an activity that no attempt has brought: here, or through the workflow's queue, as bringResult does.
func (t *session) resolve(ctx context.Context, run *engine.Run, w *work, e history.Event) error {
	if over, apart := t.handsOver(run); over {
		if err := t.handOver(ctx, w, e, 0); err == nil || apart {
			return err
		}
	}
	return t.commitEvents(ctx, run, []history.Event{e}, w.delivery.Message)
}

// handOver sends a result to the workflow's queue, or to the timer queue if it is due at a moment.
func (s *Service) handOver(ctx context.Context, w *work, e history.Event, due history.Timestamp) error {
	return s.outbox.Send(ctx, []engine.Message{handOverOf(w, e, due)})
}

// handOverOf is the message that brings a result to the workflow's queue, or to the timer queue if it is due at a moment.
func handOverOf(w *work, e history.Event, due history.Timestamp) engine.Message {
	m := *w.delivery.Message
	m.Kind, m.Activity, m.Result, m.Due, m.Reserved, m.Sent, m.Look, m.Copy = engine.TakeResult, nil, &e, due, 0, 0, 0, 0
	return m
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
		size += len(history.ResolutionOf(m.Result.Attributes).Result)
		if i > 0 && size > s.options.MaxCommit/2 {
			return i
		}
	}
	return len(messages)
}

func (t *session) takeResults(ctx context.Context, messages []*engine.Message) error {
	// Find them all first: that may read, and what was known before the read says nothing about what is needed after it.
	var triggers []*engine.Message
	var strays []engine.Message
	for _, m := range messages {
		run, place, err := t.named(ctx, m)
		if err != nil {
			return err
		}
		if place == inLog {
			triggers = append(triggers, m) // of the others the run has closed, or is gone: their results are moot
		}
		if place == never || place == inLog && run.State.Status.Closed() {
			strays = append(strays, t.stray(m)...)
		}
	}
	if err := t.outbox.Send(ctx, strays); err != nil || len(triggers) == 0 {
		return err
	}
	run := t.run()
	var events []history.Event
	for _, m := range triggers {
		if m.RunID == run.State.RunID {
			events = append(events, *m.Result)
		}
	}
	if events = run.Awaited(events...); len(events) == 0 {
		return t.sendOwed(ctx, run, triggers)
	}
	if err := t.mine(ctx, run); err != nil {
		return err
	}
	return t.commitEvents(ctx, run, events, triggers...)
}

// tooLarge is the failure of a task whose commit would be larger than a commit may be.
func (s *Service) tooLarge() *failure.Failure {
	return &failure.Failure{Kind: failure.KindMisuse, Message: s.tooLargeText()}
}

// tooLargeText says what a task may write at once, and what to do about one that writes more.
func (s *Service) tooLargeText() string {
	advice := "receive signals before continuing as new, let local activities return less, or pass large things by reference"
	if s.options.MaxPayload <= engine.MaxPayload {
		advice += ", or have large payloads kept (WEFT_BUCKET, --large-payloads)"
	}
	return fmt.Sprintf("what the workflow's code does in this task is larger than a commit may be, %d bytes: %s", s.options.MaxCommit, advice)
}
