package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn/attempts"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outbox"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
	"github.com/seed-41655fb1/weft/store"
)

var (
	// errBegun refuses an attempt that another delivery has begun.
	errBegun = errors.New("turn: another delivery has begun the attempt")
	// errOther refuses a message while a message of another sending goes on with the attempt. It stays in its queue: it may be
	// the only one that sends what follows from an earlier delivery of its own.
	errOther = errors.New("turn: another message goes on with the attempt")
)

// counted reports whether the begin of an attempt is recorded: the number of attempts is limited, or the first one has to begin
// in time. An attempt at any other activity may be made again after a crash, and costs no such write.
func (w *work) counted() bool {
	a := w.activity
	return a.Retry.MaximumAttempts > 0 || a.ScheduleToStart > 0 && w.number == 1
}

// beginAttempt records that an attempt begins, and returns false if it has begun already. It costs a write for each attempt that is
// counted. A crash after the write leaves an attempt that counts as interrupted once the time in the record has passed, even if
// its code has not run.
func (s *Service) beginAttempt(ctx context.Context, w *work) (begun bool, err error) {
	if !w.counted() {
		return true, nil
	}
	ctx, cancel := s.world.WithTimeout(context.WithoutCancel(ctx), s.options.SoftLimit)
	defer cancel()
	mark := w.state()
	mark.Failure, mark.Details, mark.Taker, mark.Number = w.last, w.details, s.outbox.NewSendID(), w.firstBeat()
	mark.Until = s.until(w)
	err = s.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, mark)
	if errors.Is(err, store.ErrStale) {
		m := w.delivery.Message
		kept, err := s.attempts.Own(ctx, m, m.EventID)
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
func (w *work) state() *attempts.Record {
	m := w.delivery.Message
	return &attempts.Record{By: m.Send, Look: m.Look, Copy: m.Copy}
}

// firstBeat is the lowest number that is free for what the attempt itself records.
func (w *work) firstBeat() int { return max(attempts.Failed(w.number-1)+attempts.BeginAt, w.stored+1) }

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
func (s *Service) until(w *work) history.Timestamp {
	return s.now().Add(s.options.SoftLimit + w.lease() + host.ClockSkew)
}

// compare compares a delivery with what is recorded of its activity, and reports whether nothing is left to do for it:
//
//   - Its attempt has failed. The message whose attempt failed sends the next one; any other is dropped (outcome.ErrDropped).
//   - Its attempt goes on outside. The same holds for the message that looks after it.
//   - Its attempt has begun and may still go on. The message comes back when that time is over.
//   - A later copy of it goes on.
//
// Otherwise w knows what the attempts before have left, and whether this one was interrupted.
func (s *Service) compare(ctx context.Context, w *work, kept *attempts.Record) (done bool, err error) {
	m := w.delivery.Message
	w.looked, w.kept = true, kept
	if kept == nil {
		return false, nil
	}
	mine := kept.IsBy(m)
	if kept.LastFailed >= w.number {
		if !mine {
			return true, outcome.ErrDropped
		}
		return true, s.outbox.Send(ctx, []engine.Message{w.next(kept.LastFailed+1, kept.Next)})
	}
	w.details, w.last = kept.Details, kept.Failure
	if kept.LastFailed < w.number-1 {
		return false, nil
	}
	w.stored = kept.Number
	switch {
	case kept.Deadline != 0 && !mine:
		return true, outcome.ErrDropped
	case kept.Deadline != 0:
		return true, s.outbox.Send(ctx, []engine.Message{s.watch(w, kept)})
	case kept.Until > s.now():
		return true, s.outbox.ParkUntil(ctx, m, kept.Until)
	case kept.Until != 0:
		w.interrupted = true
	case kept.IsAhead(w.delivery.Message, w.number) && kept.By == m.Send:
		return true, nil
	}
	return false, nil
}

// recall reads what is recorded of the activity, and compares.
func (t *session) recall(ctx context.Context, run *engine.Run, w *work) (done bool, err error) {
	kept, err := t.attempts.Of(ctx, run, w.activity.EventID)
	if err != nil {
		return false, err
	}
	return t.compare(ctx, w, kept)
}

// replace sends a copy in the place of a message whose attempt cannot begin yet. Of copies with the same Look only one is ever
// replaced: each of them claims the attempt before it sends the next, so duplicates do not multiply (decision 27). A copy whose
// claim fails is done with. A first message costs no claim.
//
// A crash after the claim leaves the message, whose next delivery finds its own claim.
func (t *session) replace(ctx context.Context, run *engine.Run, w *work, m engine.Message) error {
	if ok, err := t.claim(ctx, run, w); !ok || err != nil {
		return err
	}
	return t.outbox.Send(ctx, []engine.Message{t.outbox.Copy(&m)})
}

// claim records that a copy goes on with its attempt. It returns false if there is nothing left to do for the copy, errOther if it
// has to stay, and errBegun if the attempt was interrupted.
func (t *session) claim(ctx context.Context, run *engine.Run, w *work) (mine bool, err error) {
	m := w.delivery.Message
	if m.Look == 0 || m.Look == outbox.MaxLook {
		return true, nil
	}
	for again := w.number > 1 && !w.looked; ; again = true {
		if again {
			if done, err := t.recall(ctx, run, w); done || err != nil {
				return false, err
			}
			if w.interrupted {
				return false, errBegun
			}
		}
		claim := attempts.Record{}
		if k := w.kept; k != nil {
			switch {
			case k.IsAhead(w.delivery.Message, w.number):
				return false, errOther // compare knows those of the same sending
			case k.HasClaim(m, w.number):
				return true, nil
			}
			claim = *k
		}
		claim.By, claim.Look, claim.Copy = m.Send, m.Look, m.Copy
		claim.Number = max(attempts.Failed(w.number-1)+m.Look, w.stored+1)
		err := t.attempts.Keep(ctx, w.delivery.Message, w.activity.EventID, &claim)
		if err == nil {
			w.kept, w.stored = &claim, claim.Number
			return true, nil
		}
		if !errors.Is(err, store.ErrStale) {
			return false, fmt.Errorf("%w: record a copy: %w", outcome.ErrBusy, err)
		}
	}
}

// interrupted is the failure of an attempt that has begun, and whose process has died.
func interrupted() *failure.Failure {
	return runner.TimedOut(failure.StartToClose, "the attempt was interrupted, and may have done its work or not", nil)
}
