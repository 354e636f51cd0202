package activities

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// NextAttempt records that the attempt which message m asked for has failed, and sends the message
// of the next attempt. The record is conditional on the attempt's number. If a duplicate has begun
// a second chain of attempts, the chain that records later ends. After a crash that follows the
// record, the next delivery of m sends the next attempt's message.
func NextAttempt(ctx context.Context, s *session.Process, m *engine.Message, event int64, next engine.Message, f *failure.Failure) error {
	light := *f
	light.Stack = runner.Truncate(light.Stack)
	record := &attempts.Record{Failure: &light, Next: next.Due, By: m.Send, Details: next.Details, FirstFailed: next.FirstFailed, Number: attempts.Failed(next.Attempt - 1)}
	if err := s.Attempts.Keep(ctx, m, event, record); errors.Is(err, store.ErrStale) {
		return secondChain(ctx, s, m, event, next)
	} else if err != nil {
		return err
	}
	return s.Outbox.Send(ctx, []engine.Message{next})
}

// secondChain handles an attempt whose failure another delivery has already recorded.
//
//   - If that was a delivery of another message, it sends the next attempt before its message is
//     deleted. This chain can end: outcome.ErrDropped.
//   - If it was a delivery of the same message, nothing can be relied upon, because this delivery
//     deletes the message. The next attempt is sent once more, and the chains join there.
func secondChain(ctx context.Context, s *session.Process, m *engine.Message, event int64, next engine.Message) error {
	kept, err := s.Attempts.Own(ctx, m, event)
	if err != nil || kept == nil {
		return err
	}
	if kept.LastFailed == next.Attempt-1 && kept.IsBy(m) {
		next.Due, next.Details, next.FirstFailed = kept.Next, kept.Details, kept.FirstFailed
		return s.Outbox.Send(ctx, []engine.Message{next})
	}
	return outcome.ErrDropped
}

// drop handles a message whose activity another message continues. The caller does not hold the
// lock. The message is deleted only if a read that began afterwards shows the activity still
// pending. Otherwise another delivery of the message may have committed the result, and died before
// it sent what follows: drop sends that again. It costs a strong read if this process knows the
// activity as pending. If the read fails, the message stays.
func drop(ctx context.Context, s *session.Process, m *engine.Message) error {
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	return s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		switch {
		case err != nil || place != inbox.InLog:
			return err
		case run.Needed(m):
			return outcome.ErrDropped
		}
		return inbox.Repair(ctx, t, run, m)
	})
}

// landsWithin is how long the put of a dead writer may still be in flight: AWS refuses requests
// that were signed more than 15 minutes ago.
const landsWithin = queue.MaxDelay

// Dropped lets a message be deleted whose activity another message continues. A put of an earlier
// delivery may still be in flight, and its writer may have died. So Dropped sends a copy that is
// due when no such put can land any more. The copy sends what follows from a put that landed. It
// costs a message.
func Dropped(ctx context.Context, s *session.Process, m *engine.Message) error {
	if m.Look > 0 || m.Kind != engine.RunActivity {
		return nil
	}
	again := *m
	again.Duplicate = true
	return s.Outbox.SendLater(ctx, &again, landsWithin)
}
