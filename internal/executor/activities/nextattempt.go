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

// NextAttempt records that the attempt failed that message m asked for, and sends the message of the next. The record is
// conditional on the attempt's number, so that two chains of attempts, which a duplicate began, become one: the chain that
// comes second ends. A crash after the record leaves m, whose next delivery sends the next attempt's message.
func NextAttempt(ctx context.Context, s *session.Process, m *engine.Message, event int64, next engine.Message, f *failure.Failure) error {
	light := *f
	light.Stack = runner.Truncate(light.Stack)
	record := &attempts.Record{Failure: &light, Next: next.Due, By: m.Send, Details: next.Details, Number: attempts.Failed(next.Attempt - 1)}
	if err := s.Attempts.Keep(ctx, m, event, record); errors.Is(err, store.ErrStale) {
		return secondChain(ctx, s, m, event, next)
	} else if err != nil {
		return err
	}
	return s.Outbox.Send(ctx, []engine.Message{next})
}

// secondChain is what becomes of an attempt that another delivery has recorded before. A delivery of another message
// sends the next attempt before that message is deleted, so this chain can end: outcome.ErrDropped. A delivery of the same message cannot be
// relied upon, because this one deletes it: the next attempt is sent once more, and the chains become one there.
func secondChain(ctx context.Context, s *session.Process, m *engine.Message, event int64, next engine.Message) error {
	kept, err := s.Attempts.Own(ctx, m, event)
	if err != nil || kept == nil {
		return err
	}
	if kept.LastFailed == next.Attempt-1 && kept.IsBy(m) {
		next.Due = kept.Next
		return s.Outbox.Send(ctx, []engine.Message{next})
	}
	return outcome.ErrDropped
}

// drop is what a message comes to, outside of the gate, when another goes on with its activity. It is only deleted if a read that began
// after that was found out shows the activity still pending. Otherwise another delivery of the message may have committed the result,
// and died before it sent what follows: that is sent again. It costs a strong read if what is known shows the activity pending. Where it
// fails, the message stays.
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

// landsWithin is how long a put may be on its way whose writer has died: AWS refuses requests that were signed more than 15 minutes ago.
const landsWithin = queue.MaxDelay

// Dropped has a message deleted with whose activity another goes on. A put of an earlier delivery may still be on its way, and its writer may
// have died: a copy comes when none can land any more, and sends what follows from one that has. It costs a message.
func Dropped(ctx context.Context, s *session.Process, m *engine.Message) error {
	if m.Look > 0 || m.Kind != engine.RunActivity {
		return nil
	}
	return s.Outbox.SendLater(ctx, m, landsWithin)
}
