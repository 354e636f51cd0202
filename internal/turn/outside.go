package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// CompleteActivity ends the attempt that a token names, from outside: it has succeeded. The result is in the log when
// CompleteActivity returns nil, and the code has seen it unless it fails. The same again finds that, and says so.
func (s *Service) CompleteActivity(ctx context.Context, r api.CompleteActivityRequest) (*api.ActivityResponse, error) {
	if err := s.checkPayload(r.Result); err != nil {
		return nil, err
	}
	return s.endOutside(ctx, r.Token, history.Payload(r.Result), nil)
}

// maxErrorText is the longest type and message of an error from outside, in bytes, together: what package failure cuts each to has
// room.
const maxErrorText = 20 << 10

// FailActivity ends the attempt that a token names, from outside: it has failed, and the retry policy says what follows, as
// for any other attempt. That is durable when FailActivity returns nil.
func (s *Service) FailActivity(ctx context.Context, r api.FailActivityRequest) (*api.ActivityResponse, error) {
	if len(r.Message)+len(r.Type) > maxErrorText {
		return nil, api.TooLarge.New("type and message have %d bytes: give at most %d", len(r.Message)+len(r.Type), maxErrorText)
	}
	if len(r.Details) > failure.MaxDetails {
		return nil, api.TooLarge.New("the details of the error have %d bytes: give at most %d", len(r.Details), failure.MaxDetails)
	}
	f := &failure.Failure{Kind: failure.KindApplication, Type: r.Type, Message: r.Message, NonRetryable: r.NonRetryable, Details: r.Details}
	return s.endOutside(ctx, r.Token, nil, f)
}

func (s *Service) endOutside(ctx context.Context, token string, result history.Payload, f *failure.Failure) (*api.ActivityResponse, error) {
	answer := &api.ActivityResponse{}
	err := s.outside(ctx, token, func(ctx context.Context, t *session, k *ticket) error {
		*answer = api.ActivityResponse{}
		run, err := t.runOf(ctx, k)
		if err != nil {
			return err
		}
		if run.State.Status.Closed() || run.State.Activities[k.EventID] == nil {
			if answer.Repeated, err = t.endedSo(ctx, run, k, result, f); err != nil {
				return err
			}
			return t.final(ctx, notPending(run, k, answer.Repeated))
		}
		kept, err := t.attempts.Of(ctx, run, k.EventID)
		if err != nil {
			return err
		}
		if kept != nil && kept.LastFailed >= k.Attempt {
			answer.Repeated = f != nil && kept.LastFailed == k.Attempt && f.Same(kept.Failure)
			return t.final(ctx, notPending(run, k, answer.Repeated))
		}
		m, err := t.messageOf(ctx, run, k)
		if err != nil {
			return err
		}
		w := outsideWork(run, m, kept)
		if err := s.checkResult(w.activity.ActivityType, result, f); err != nil {
			return err
		}
		w.asked = w.activity.CancelRequested
		e, next := w.verdict(t.now(), result, f)
		if next != nil {
			return t.retryOutside(ctx, run, w, next, f)
		}
		return t.bring(ctx, run, e)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// checkResult refuses a result that workflow code could not decode, and would fail at until it is deployed anew. A process that
// does not know the activity takes what comes.
func (s *Service) checkResult(activityType string, result history.Payload, f *failure.Failure) error {
	code := s.registry.Activity(activityType)
	if f != nil || code == nil || code.CheckResult == nil {
		return nil
	}
	if err := code.CheckResult(result); err != nil {
		return api.Invalid.New("the result is none of activity %q: %v", activityType, err)
	}
	return nil
}

// retryOutside records that an attempt has failed, and sends the next: a request sends first, and then writes. A crash
// between the two leaves an attempt that is made although the one before it is not known to have failed; the caller, who was
// not answered, says so once more.
func (t *session) retryOutside(ctx context.Context, run *engine.Run, w *work, next *engine.Message, f *failure.Failure) error {
	if err := t.view.EnsureFresh(ctx); err != nil {
		return err
	}
	if run != t.run() || run.State.Activities[w.activity.EventID] == nil {
		return outcome.ErrStale
	}
	if err := t.outbox.Send(ctx, []engine.Message{*next}); err != nil {
		return err
	}
	kept := &attempts.Record{Failure: f, Next: next.Due, Details: next.Details, Number: attempts.Failed(w.number)}
	// Where something stands there already, the next attempt is further on, or this is recorded.
	return recordProblem(t.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, kept))
}

// recordProblem is what the record of an attempt comes to, for the request that brings it. A record that another one was
// before is none.
func recordProblem(err error) error {
	switch {
	case err == nil, errors.Is(err, store.ErrStale):
		return nil
	case errors.Is(err, store.ErrUnknown):
		return outcome.ErrUnknown
	}
	return fmt.Errorf("%w: record an attempt: %w", outcome.ErrBusy, err)
}

// BeatActivity says that the attempt which a token names is alive, and keeps details for the next one. The answer says
// whether it should end. It is recorded when BeatActivity returns nil.
func (s *Service) BeatActivity(ctx context.Context, r api.HeartbeatActivityRequest) (*api.HeartbeatResponse, error) {
	if len(r.Details) > maxDetails {
		return nil, api.TooLarge.New("the details of a heartbeat have %d bytes: give at most %d", len(r.Details), maxDetails)
	}
	answer := &api.HeartbeatResponse{}
	err := s.outside(ctx, r.Token, func(ctx context.Context, t *session, k *ticket) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.runOf(ctx, k)
		if err != nil {
			return err
		}
		if run.State.Status.Closed() || run.State.Activities[k.EventID] == nil {
			return notPending(run, k, false)
		}
		kept, err := t.attempts.Of(ctx, run, k.EventID)
		if err != nil {
			return err
		}
		if kept != nil && kept.LastFailed >= k.Attempt {
			return notPending(run, k, false)
		}
		m, err := t.messageOf(ctx, run, k)
		if err != nil {
			return err
		}
		w := outsideWork(run, m, kept)
		answer.CancelRequested = w.activity.CancelRequested
		if kept == nil || kept.Deadline == 0 {
			return nil // the attempt's function has not returned: its process says itself that it is alive
		}
		if kept.Number++; kept.Number == attempts.Failed(k.Attempt) {
			return api.TooLarge.New("the attempt has sent %d heartbeats, and no more can be recorded: end it, and send them less often", attempts.MaxBeats)
		}
		kept.Details, kept.Heard = history.Payload(r.Details), t.now()
		err = t.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, kept)
		if errors.Is(err, store.ErrStale) {
			return outcome.ErrStale // another heartbeat, or whoever looks after the attempt, was faster
		}
		return recordProblem(err)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// outside carries out fn for the attempt that a token names.
func (s *Service) outside(ctx context.Context, token string, fn func(context.Context, *session, *ticket) error) error {
	k, err := s.ticket(ctx, token)
	if err != nil {
		return s.problem(err)
	}
	return s.request(ctx, k.WorkflowID, func(ctx context.Context, t *session) error { return fn(ctx, t, k) })
}

// runOf is the run that a ticket names, open or closed.
func (t *session) runOf(ctx context.Context, k *ticket) (*engine.Run, error) {
	if err := t.view.EnsureLoaded(ctx); err != nil {
		return nil, err
	}
	run := t.run()
	if run != nil && run.State.RunID == k.RunID {
		return run, nil
	}
	if err := t.final(ctx, nil); err != nil {
		return nil, err
	}
	run, err := t.view.Other(ctx, k.RunID)
	if err == nil && run == nil {
		return nil, api.NotFound.New("run %q of workflow %q is no longer there", k.RunID, k.WorkflowID)
	}
	return run, err
}

// notPending is the refusal of what is said of an attempt that has ended; nil where the same was said before.
func notPending(run *engine.Run, k *ticket, repeated bool) error {
	switch {
	case repeated:
		return nil
	case run.State.Status.Closed():
		return api.ActivityEnded.New("run %q of workflow %q has closed: it is %s", k.RunID, k.WorkflowID, run.State.Status)
	case run.State.Activities[k.EventID] == nil:
		return api.ActivityEnded.New("the activity of event %d has ended: its history says how", k.EventID)
	}
	return api.ActivityEnded.New("attempt %d at the activity of event %d has ended, and another has followed or will", k.Attempt, k.EventID)
}

// endedSo reports whether an attempt has ended the activity in just this way: whoever says so was not answered before.
// It looks at the commits that are kept, and then at the others from where the activity was scheduled on.
func (t *session) endedSo(ctx context.Context, run *engine.Run, k *ticket, result history.Payload, f *failure.Failure) (bool, error) {
	for _, c := range slices.Backward(run.Log) {
		if c == nil {
			break
		}
		if e, ok := activityEnd(c, k.EventID); ok {
			return sameEnd(e, k, result, f), nil
		}
	}
	from, _ := run.SlotOf(k.EventID)
	if run.Lacks(from+1) == 0 {
		return false, nil
	}
	for c, err := range t.view.Commits(ctx, run, from) {
		if err != nil {
			return false, err
		}
		if e, ok := activityEnd(c, k.EventID); ok {
			return sameEnd(e, k, result, f), nil
		}
	}
	return false, nil
}

// activityEnd returns the event of a commit by which an activity has ended. It returns false if there is none.
func activityEnd(c *history.Commit, activity int64) (history.Event, bool) {
	for part := range c.Parts() {
		for _, e := range part.Brought {
			if history.ResolutionOf(e.Attributes).Activity == activity {
				return e, true
			}
		}
	}
	return history.Event{}, false
}

func sameEnd(e history.Event, k *ticket, result history.Payload, f *failure.Failure) bool {
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

// messageOf is the message of the attempt that a ticket names, as it was sent when the activity was scheduled.
func (t *session) messageOf(ctx context.Context, run *engine.Run, k *ticket) (*engine.Message, error) {
	c, err := t.view.Commit(ctx, run, run.State.Activities[k.EventID].Slot)
	if err != nil {
		return nil, err
	}
	for _, m := range run.Messages(c) {
		if m.Kind == engine.RunActivity && m.EventID == k.EventID {
			m.Attempt = k.Attempt
			return &m, nil
		}
	}
	return nil, nil // not of a run that was folded: its activities are pending because a message of theirs was scheduled
}
