package activities

import (
	"cmp"
	"context"
	"errors"

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
	// ErrBegun refuses an attempt that another delivery has begun.
	ErrBegun = errors.New("executor: another delivery has begun the attempt")
	// ErrOther refuses a message while a message from another send continues the attempt. The
	// refused message stays in its queue: it may be the only one that sends what an earlier
	// delivery of it owes.
	ErrOther = errors.New("executor: another message continues the attempt")
)

// isCounted reports whether the start of an attempt is recorded: the number of attempts is limited,
// or the first one has to begin in time. An attempt at any other activity may be repeated after a
// crash, and costs no such write.
func (w *Attempt) isCounted() bool {
	a := w.Activity
	return a.Retry.MaximumAttempts > 0 || a.ScheduleToStart > 0 && w.Number == 1
}

// beginAttempt records that an attempt begins. It returns false if the attempt has already begun.
// It costs a write for each counted attempt. After a crash that follows the write, the attempt
// counts as interrupted once the time in the record has passed, even if its code has not run.
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
		return false, outcome.OfStore("record that an attempt begins", err)
	}
	w.stored = mark.Number
	return true, nil
}

// state returns a record saying that this delivery's message continues the attempt.
func (w *Attempt) state() *attempts.Record {
	m := w.Delivery.Message
	return &attempts.Record{By: m.Send, Look: m.Look, Copy: m.Copy, FirstFailed: w.firstFailed}
}

// firstHeartbeat returns the lowest free number for the attempt's own records.
func (w *Attempt) firstHeartbeat() int {
	return max(attempts.Failed(w.Number-1)+attempts.BeginAt, w.stored+1)
}

// until returns how long an attempt that is recorded now may run and deliver its result, by any
// clock:
//
//	the record is written                                SoftLimit, 20 s
//	the attempt runs, or is silent                       its limit
//	a hung attempt is waited for                        runner.AttemptGrace, 2 s
//	its result is committed, or kept if that fails       resultTime, 28 s of leaseMargin
//	the clocks of two processes differ                   host.ClockSkew, 10 s
//
// 2 s are left. If clocks differ by more than 12 s, an attempt may count as interrupted although
// its result still arrives. The first of the two in the log stands.
func until(s *session.Process, w *Attempt) history.Timestamp {
	return s.Timestamp().Add(s.Options.SoftLimit + w.lease() + host.ClockSkew)
}

// compare compares a delivery with the record of its activity. It reports whether nothing is left
// to do:
//
//   - Its attempt has failed. The message whose attempt failed sends the next one; any other is
//     dropped (outcome.ErrDropped).
//   - Its attempt continues outside. The same holds for the message that watches it.
//   - Its attempt has begun and may still be running. The message returns when that time is over.
//   - A later copy of it has taken over.
//
// Otherwise it sets in w what the earlier attempts left, and whether this one was interrupted.
func compare(ctx context.Context, s *session.Process, w *Attempt, kept *attempts.Record) (done bool, err error) {
	m := w.Delivery.Message
	w.looked, w.kept = true, kept
	if kept == nil {
		return false, nil
	}
	mine := kept.IsBy(m)
	w.details, w.last, w.firstFailed = kept.Details, kept.Failure, cmp.Or(kept.FirstFailed, w.firstFailed)
	if kept.LastFailed >= w.Number {
		if !mine {
			return true, outcome.ErrDropped
		}
		return true, s.Outbox.Send(ctx, []engine.Message{w.next(kept.LastFailed+1, kept.Next)})
	}
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

// recall reads the record of the activity, and compares the delivery with it.
func recall(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt) (done bool, err error) {
	kept, err := t.Process.Attempts.Of(ctx, run, w.Activity.EventID)
	if err != nil {
		return false, err
	}
	return compare(ctx, t.Process, w, kept)
}

// Replace sends a copy in place of a message whose attempt cannot begin yet. Of several copies with
// the same Look only one is replaced: each claims the attempt before it sends the next, so
// duplicates do not multiply (decision 27). If its claim fails, a copy is finished. A first message
// costs no claim.
//
// After a crash that follows the claim, the next delivery of the message finds its own claim.
func Replace(ctx context.Context, t *session.Session, run *engine.Run, w *Attempt, m engine.Message) error {
	if ok, err := claim(ctx, t, run, w); !ok || err != nil {
		return err
	}
	return t.Process.Outbox.Send(ctx, []engine.Message{t.Process.Outbox.Copy(&m)})
}

// claim records that a copy continues its attempt. It returns false if nothing is left to do for
// the copy, ErrOther if the copy has to stay, and ErrBegun if the attempt was interrupted.
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
				return false, ErrOther // compare handles copies of the same send
			case k.HasClaim(m, w.Number):
				return true, nil
			}
			claim = k.Base(w.Number)
		}
		claim.By, claim.Look, claim.Copy = m.Send, m.Look, m.Copy
		claim.Number = max(attempts.Failed(w.Number-1)+m.Look, w.stored+1)
		err := t.Process.Attempts.Keep(ctx, w.Delivery.Message, w.Activity.EventID, &claim)
		if err == nil {
			w.kept, w.stored = &claim, claim.Number
			return true, nil
		}
		if !errors.Is(err, store.ErrStale) {
			return false, outcome.OfStore("record a copy", err)
		}
	}
}

// interruption returns the failure of an attempt whose process died after it had begun.
func interruption() *failure.Failure {
	return runner.TimedOut(failure.StartToClose, "the attempt was interrupted, and may have done its work or not", nil)
}
