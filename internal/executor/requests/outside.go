package requests

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// EndActivity ends the attempt that a token names, from outside.
//
//   - It has succeeded: the result is in the log when EndActivity returns nil, and the code has
//     seen it unless it fails. The same again finds that, and says so.
//   - It has failed: the retry policy says what follows, as for any other attempt. That is durable
//     when EndActivity returns nil.
func (s *Requests) EndActivity(ctx context.Context, c *command.EndActivity) (*schema.ActivityResponse, error) {
	result, f := c.Result(), c.Failure()
	answer := &schema.ActivityResponse{}
	report := func() {} // logs that the attempt has failed
	err := outside(ctx, s.Process, c.Token(), func(ctx context.Context, t *session.Session, k *activities.Claims) error {
		*answer, report = schema.ActivityResponse{}, func() {}
		run, err := runOf(ctx, t, k.RunID)
		if err != nil {
			return err
		}
		if run.State.Status.Closed() || run.State.Activities[k.EventID] == nil {
			same := func(e history.Event) bool { return sameEnd(e, k, result, f) }
			if answer.Repeated, err = lookForEnd(ctx, t, run, k.EventID, same); err != nil {
				return err
			}
			return t.RequireFresh(ctx, notPending(run, k, answer.Repeated))
		}
		kept, err := t.Process.Attempts.Of(ctx, run, k.EventID)
		if err != nil {
			return err
		}
		if kept != nil && kept.LastFailed >= k.Attempt {
			answer.Repeated = f != nil && kept.LastFailed == k.Attempt && f.Same(kept.Failure)
			return t.RequireFresh(ctx, notPending(run, k, answer.Repeated))
		}
		m, err := messageOf(ctx, t, run, k.EventID, k.Attempt)
		if err != nil {
			return err
		}
		w := activities.Outside(run, m, kept)
		if err := checkResult(ctx, t, run, w.Activity.ActivityType, result, f); err != nil {
			return err
		}
		w.Asked = w.Activity.CancelRequested
		e, next := w.Verdict(t.Process.Timestamp(), result, f)
		if next != nil || activities.FailureOf(e) != nil {
			report = func() { w.Report(ctx, t.Process, f, next) }
		}
		if next != nil {
			return retryOutside(ctx, t, run, w, next, f)
		}
		return commit.Event(ctx, t, run, e)
	})
	if err != nil {
		return nil, err
	}
	report()
	return answer, nil
}

// checkResult refuses a result that is not of the activity's declared type: the run could be stuck
// until another deployment. The contract is that of the build that runs the code of the run, so an
// OtherBuild comes first. A refusal needs a fresh read: this process may not know yet that the
// activity has ended with this very result, under an earlier contract. A failure has no result, and
// needs no build.
func checkResult(ctx context.Context, t *session.Session, run *engine.Run, activityType string, result history.Payload, f *failure.Failure) error {
	if f != nil {
		return nil
	}
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return err
	}
	code := t.Process.Registry.Activity(activityType)
	if code == nil {
		return nil
	}
	err := session.Bounded(t.Process, code.Result, code, func(code *engine.Activity) error { return command.CheckResult(code, result) })
	if err != nil {
		return t.RequireFresh(ctx, err)
	}
	return nil
}

// retryOutside records that an attempt has failed, and sends the next: a request sends first, and
// then writes. After a crash between the two, the next attempt runs although no failure is
// recorded. The caller got no answer, and repeats the request.
func retryOutside(ctx context.Context, t *session.Session, run *engine.Run, w *activities.Attempt, next *engine.Message, f *failure.Failure) error {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return err
	}
	if run != t.Run() || run.State.Activities[w.Activity.EventID] == nil {
		return outcome.ErrStale
	}
	if err := t.Process.Outbox.Send(ctx, []engine.Message{*next}); err != nil {
		return err
	}
	kept := &attempts.Record{Failure: f, Next: next.Due, Details: next.Details, FirstFailed: next.FirstFailed, Number: attempts.Failed(w.Number)}
	// If a record is already there, a later attempt wrote it, or this request did.
	return recordProblem(t.Process.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, kept))
}

// recordProblem returns the error that a request gets for the write of an attempt's record, or for
// the message that was to be sent before it. It returns nil if another record was faster.
func recordProblem(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrStale):
		return nil
	case errors.Is(err, outcome.ErrBusy): // the message before it was not sent
		return err
	case errors.Is(err, store.ErrUnknown):
		return &outcome.Unknown{Cause: refusal.ByStore}
	}
	return outcome.OfStore("record an attempt", err)
}

// HeartbeatActivity records that the attempt which a token names is alive, and keeps details for
// the next one. The answer says whether the attempt should end. The heartbeat is durable when
// HeartbeatActivity returns nil.
func (s *Requests) HeartbeatActivity(ctx context.Context, h *command.Heartbeat) (*schema.HeartbeatResponse, error) {
	answer := &schema.HeartbeatResponse{}
	err := outside(ctx, s.Process, h.Token(), func(ctx context.Context, t *session.Session, k *activities.Claims) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := runOf(ctx, t, k.RunID)
		if err != nil {
			return err
		}
		if run.State.Status.Closed() || run.State.Activities[k.EventID] == nil {
			return notPending(run, k, false)
		}
		kept, err := t.Process.Attempts.Of(ctx, run, k.EventID)
		if err != nil {
			return err
		}
		if kept != nil && kept.LastFailed >= k.Attempt {
			return notPending(run, k, false)
		}
		m, err := messageOf(ctx, t, run, k.EventID, k.Attempt)
		if err != nil {
			return err
		}
		w := activities.Outside(run, m, kept)
		answer.CancelRequested = w.Activity.CancelRequested
		if kept == nil || kept.Base(k.Attempt).Deadline == 0 {
			return tooEarly(h)
		}
		if !kept.HasRoom(k.Attempt) {
			return refusal.TooLarge.New("the attempt has sent %d heartbeats, and no more can be recorded: end it, and send them less often", attempts.MaxHeartbeats)
		}
		kept.Number++
		kept.Details, kept.Heard = history.Payload(h.Details()), t.Process.Timestamp()
		err = t.Process.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, kept)
		if errors.Is(err, store.ErrStale) {
			return outcome.ErrStale // another heartbeat, or the watching message, was faster
		}
		return recordProblem(err)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// tooEarly answers a heartbeat of an attempt whose function has not returned yet. Its process
// itself reports that the attempt is alive, so a heartbeat without details needs no record. Details
// would be lost, because the process records its own. The caller sends them again. If the table was
// restored to before the function returned, they are refused until the attempt is ended, or made
// again by the slow check.
func tooEarly(h *command.Heartbeat) error {
	if len(h.Details()) == 0 {
		return nil
	}
	return refusal.Busy.New("the function of the activity has not returned ErrPending yet, and only it can record details until then; nothing was written: send the heartbeat again").By(refusal.ByContention)
}

// outside calls fn for the attempt that a token names.
func outside(ctx context.Context, s *session.Process, token string, fn func(context.Context, *session.Session, *activities.Claims) error) error {
	k, err := activities.Verify(ctx, s, token)
	if err != nil {
		return s.Problem(err)
	}
	return s.Request(ctx, k.WorkflowID, func(ctx context.Context, t *session.Session) error { return fn(ctx, t, k) })
}

// runOf returns the run with an id, open or closed.
func runOf(ctx context.Context, t *session.Session, id history.RunID) (*engine.Run, error) {
	if err := t.View.EnsureLoaded(ctx); err != nil {
		return nil, err
	}
	run := t.Run()
	if run != nil && run.State.RunID == id {
		return run, nil
	}
	if err := t.RequireFresh(ctx, nil); err != nil {
		return nil, err
	}
	run, err := t.View.Other(ctx, id)
	if err == nil && run == nil {
		return nil, refusal.NotFound.New("run %q of workflow %q is no longer there", id, t.WorkflowID)
	}
	return run, err
}

// notPending refuses a request about an attempt that has ended. It returns nil if the request is a
// repetition.
func notPending(run *engine.Run, k *activities.Claims, repeated bool) error {
	switch {
	case repeated:
		return nil
	case run.State.Status.Closed():
		return refusal.ActivityEnded.New("run %q of workflow %q has closed: it is %s", k.RunID, k.WorkflowID, run.State.Status)
	case run.State.Activities[k.EventID] == nil:
		return refusal.ActivityEnded.New("the activity of event %d has ended: its history says how", k.EventID)
	}
	return refusal.ActivityEnded.New("attempt %d at the activity of event %d has ended, and another has followed or will", k.Attempt, k.EventID)
}

// lookForEnd reads whether an activity has ended with an event that is the same as the caller's,
// who repeats a request that was not answered. It searches the commits in memory, and then the
// others from where the activity was scheduled.
func lookForEnd(ctx context.Context, t *session.Session, run *engine.Run, activity int64, same func(history.Event) bool) (bool, error) {
	for _, c := range slices.Backward(run.Log) {
		if c == nil {
			break
		}
		if e, ok := activityEnd(c, activity); ok {
			return same(e), nil
		}
	}
	from, _ := run.SlotOf(activity)
	if run.Lacks(from+1) == 0 {
		return false, nil
	}
	for c, err := range t.View.Commits(ctx, run, from) {
		if err != nil {
			return false, err
		}
		if e, ok := activityEnd(c, activity); ok {
			return same(e), nil
		}
	}
	return false, nil
}

// activityEnd returns the event of a commit by which an activity has ended. It returns false if
// there is none.
func activityEnd(c *history.Commit, activity int64) (history.Event, bool) {
	for part := range c.Parts() {
		for _, e := range part.InputEvents {
			if history.ResolutionOf(e.Attributes).Activity == activity {
				return e, true
			}
		}
	}
	return history.Event{}, false
}

func sameEnd(e history.Event, k *activities.Claims, result history.Payload, f *failure.Failure) bool {
	switch a := e.Attributes.(type) {
	case *history.ActivityTaskCompleted:
		return f == nil && a.Attempt == k.Attempt && string(a.Result) == string(result)
	case *history.ActivityTaskFailed:
		return f != nil && a.Attempt == k.Attempt && f.Same(a.Failure)
	case *history.ActivityTaskCanceled:
		return f != nil && a.Attempt == k.Attempt && f.Same(a.Failure)
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // no attempt ends with it
	}
	return false
}

// messageOf returns the message of an attempt at a pending activity, as it was sent when the
// activity was scheduled.
func messageOf(ctx context.Context, t *session.Session, run *engine.Run, activity int64, attempt int) (*engine.Message, error) {
	c, err := t.View.Commit(ctx, run, run.State.Activities[activity].Slot)
	if err != nil {
		return nil, err
	}
	for _, m := range run.Messages(c) {
		if m.Kind == engine.RunActivity && m.EventID == activity {
			m.Attempt = attempt
			return &m, nil
		}
	}
	return nil, nil // not of a run that was folded: its activities are pending because a message of theirs was scheduled
}
