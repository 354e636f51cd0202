package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

var (
	// errBegun refuses an attempt that another delivery has begun.
	ErrBegun = errors.New("turn: another delivery has begun the attempt")
	// errOther refuses a message while a message of another sending goes on with the attempt. It stays in its queue: it may be
	// the only one that sends what follows from an earlier delivery of its own.
	ErrOther = errors.New("turn: another message goes on with the attempt")
)

// isCounted reports whether the begin of an attempt is recorded: the number of attempts is limited, or the first one has to begin
// in time. An attempt at any other activity may be made again after a crash, and costs no such write.
func (w *Attempt) isCounted() bool {
	a := w.Activity
	return a.Retry.MaximumAttempts > 0 || a.ScheduleToStart > 0 && w.Number == 1
}

// beginAttempt records that an attempt begins, and returns false if it has begun already. It costs a write for each attempt that is
// counted. A crash after the write leaves an attempt that counts as interrupted once the time in the record has passed, even if
// its code has not run.
func beginAttempt(ctx context.Context, s *session.Process, w *Attempt) (begun bool, err error) {
	if !w.isCounted() {
		return true, nil
	}
	ctx, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), s.Options.SoftLimit)
	defer cancel()
	mark := w.state()
	mark.Failure, mark.Details, mark.Taker, mark.Number = w.last, w.details, s.Outbox.NewSendID(), w.firstHeartbeat()
	mark.Until = until(s, w)
	err = s.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, mark)
	if errors.Is(err, store.ErrStale) {
		m := w.Delivery.Message
		kept, err := s.Attempts.Own(ctx, m, m.EventID)
		if err != nil || kept == nil || kept.Taker != mark.Taker {
			return false, err
		}
	} else if err != nil {
		return false, fmt.Errorf("%w: record that an attempt begins: %w", outcome.ErrBusy, err)
	}
	w.stored = mark.Number
	return true, nil
}

// state is a record that this delivery's message goes on with the attempt.
func (w *Attempt) state() *attempts.Record {
	m := w.Delivery.Message
	return &attempts.Record{By: m.Send, Look: m.Look, Copy: m.Copy}
}

// firstHeartbeat is the lowest number that is free for what the attempt itself records.
func (w *Attempt) firstHeartbeat() int {
	return max(attempts.Failed(w.Number-1)+attempts.BeginAt, w.stored+1)
}

// until is how long an attempt that is recorded now may go on and bring its result, as any clock shows it:
//
//	the record is written                                SoftLimit, 20 s
//	the attempt runs, or is silent                       its limit
//	it is waited for                                     runner.AttemptGrace, 2 s
//	its result is committed, or kept where that fails    resultTime, 28 s of leaseMargin
//	the clocks of two processes differ                   host.ClockSkew, 10 s
//
// 2 s are left. Clocks that differ by more than 12 s may have an attempt counted as interrupted that still brings its result: the
// first of the two that is in the log stands.
func until(s *session.Process, w *Attempt) history.Timestamp {
	return s.Timestamp().Add(s.Options.SoftLimit + w.lease() + host.ClockSkew)
}

// compare compares a delivery with what is recorded of its activity, and reports whether nothing is left to do for it:
//
//   - Its attempt has failed. The message whose attempt failed sends the next one; any other is dropped (outcome.ErrDropped).
//   - Its attempt goes on outside. The same holds for the message that looks after it.
//   - Its attempt has begun and may still go on. The message comes back when that time is over.
//   - A later copy of it goes on.
//
// Otherwise w knows what the attempts before have left, and whether this one was interrupted.
func compare(ctx context.Context, s *session.Process, w *Attempt, kept *attempts.Record) (done bool, err error) {
	m := w.Delivery.Message
	w.looked, w.kept = true, kept
	if kept == nil {
		return false, nil
	}
	mine := kept.IsBy(m)
	if kept.LastFailed >= w.Number {
		if !mine {
			return true, outcome.ErrDropped
		}
		return true, s.Outbox.Send(ctx, []engine.Message{w.next(kept.LastFailed+1, kept.Next)})
	}
	w.details, w.last = kept.Details, kept.Failure
	if kept.LastFailed < w.Number-1 {
		return false, nil
	}
	w.stored = kept.Number
	switch {
	case kept.Deadline != 0 && !mine:
		return true, outcome.ErrDropped
	case kept.Deadline != 0:
		return true, s.Outbox.Send(ctx, []engine.Message{watch(s, w, kept)})
	case kept.Until > s.Timestamp():
		return true, s.Outbox.ParkUntil(ctx, m, kept.Until)
	case kept.Until != 0:
		w.interrupted = true
	case kept.IsAhead(w.Delivery.Message, w.Number) && kept.By == m.Send:
		return true, nil
	}
	return false, nil
}

// recall reads what is recorded of the activity, and compares.
func recall(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) (done bool, err error) {
	kept, err := t.Attempts.Of(ctx, run, w.Activity.EventID)
	if err != nil {
		return false, err
	}
	return compare(ctx, t.Process, w, kept)
}

// Replace sends a copy in the place of a message whose attempt cannot begin yet. Of copies with the same Look only one is ever
// replaced: each of them claims the attempt before it sends the next, so duplicates do not multiply (decision 27). A copy whose
// claim fails is done with. A first message costs no claim.
//
// A crash after the claim leaves the message, whose next delivery finds its own claim.
func Replace(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, m engine.Message) error {
	if ok, err := claim(ctx, t, run, w); !ok || err != nil {
		return err
	}
	return t.Outbox.Send(ctx, []engine.Message{t.Outbox.Copy(&m)})
}

// claim records that a copy goes on with its attempt. It returns false if there is nothing left to do for the copy, errOther if it
// has to stay, and errBegun if the attempt was interrupted.
func claim(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) (mine bool, err error) {
	m := w.Delivery.Message
	if m.Look == 0 || m.Look == outbox.MaxLook {
		return true, nil
	}
	for again := w.Number > 1 && !w.looked; ; again = true {
		if again {
			if done, err := recall(ctx, t, run, w); done || err != nil {
				return false, err
			}
			if w.interrupted {
				return false, ErrBegun
			}
		}
		claim := attempts.Record{}
		if k := w.kept; k != nil {
			switch {
			case k.IsAhead(w.Delivery.Message, w.Number):
				return false, ErrOther // compare knows those of the same sending
			case k.HasClaim(m, w.Number):
				return true, nil
			}
			claim = *k
		}
		claim.By, claim.Look, claim.Copy = m.Send, m.Look, m.Copy
		claim.Number = max(attempts.Failed(w.Number-1)+m.Look, w.stored+1)
		err := t.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, &claim)
		if err == nil {
			w.kept, w.stored = &claim, claim.Number
			return true, nil
		}
		if !errors.Is(err, store.ErrStale) {
			return false, fmt.Errorf("%w: record a copy: %w", outcome.ErrBusy, err)
		}
	}
}

// interruption is the failure of an attempt that has begun, and whose process has died.
func interruption() *failure.Failure {
	return runner.TimedOut(failure.StartToClose, "the attempt was interrupted, and may have done its work or not", nil)
}
