package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// SweepEvery is how often Sweep is to be called, and sweepAhead how far ahead it looks: twice as far, so that a timer is
// on its queue before its moment even if one sweep is missed.
const (
	SweepEvery = time.Minute
	sweepAhead = 2 * SweepEvery
	sweepPage  = 100
	// largePage is from how many bytes on a page of timers may be short for its size.
	largePage = 1 << 20
)

var (
	// ErrUnreadable is wrapped by what Sweep returns if there were timers that it could not read. All others are on their way, if it is the
	// only error.
	ErrUnreadable = errors.New("turn: timers cannot be read, and wait: deploy the version of Weft that wrote them, or give back the key")
	// ErrUnsent is wrapped by what Sweep returns if there were timers that it could not send, although it sent others, or they were too
	// large for what it could do. All others are on their way, if it is the only error.
	ErrUnsent = errors.New("turn: timers cannot be sent, and wait: give the timer function its rights, and see whether the bucket and the queues answer")
)

// setAsideFor is how long a timer waits that cannot be read, or sent, before it is tried again. Each try costs two writes.
const setAsideFor = 10 * time.Minute

// maxUnsent is after how many messages in a row that could not be sent, each alone, a sweep takes it that nothing can be.
const maxUnsent = 10

// Sweep sends the messages that have been kept in the store and are due soon, each with the delay that it has left, and
// deletes each after it was sent: a crash between the two sends it twice, and its receiver sees that it was done. It
// returns how many it sent. After an outage it catches up by itself: what is overdue comes first.
//
// A timer that cannot be read is set aside, and the others fire: a newer version of Weft wrote it, or its key is not there. So is one that
// cannot be sent although others can: it needs a bucket that does not answer, or a queue that is not there. It is tried again every
// setAsideFor. When all others are on their way, the error is ErrUnreadable or ErrUnsent.
func (s *Service) Sweep(ctx context.Context) (sent int, err error) {
	ctx, ended := s.metered(ctx)
	defer ended()
	unreadable, unsent := asideTimers{why: ErrUnreadable}, asideTimers{why: ErrUnsent}
	defer func() { err = errors.Join(err, unreadable.report(ctx, s), unsent.report(ctx, s)) }()
	for {
		due, err := s.Timers.DueTimers(ctx, s.world.Now().Add(sweepAhead), sweepPage)
		if err != nil || len(due) == 0 {
			return sent, err
		}
		n, err := s.sweepPage(ctx, due, &unreadable, &unsent)
		sent += n
		if err != nil || len(due) < sweepPage && bytesOf(due) < largePage {
			return sent, err
		}
	}
}

func bytesOf(timers []store.Timer) (n int) {
	for _, timer := range timers {
		n += len(timer.Body)
	}
	return n
}

// sweepPage sends the timers of a page, or sets them aside. When it returns nil, none of them is due any more.
func (s *Service) sweepPage(ctx context.Context, due []store.Timer, unreadable, unsent *asideTimers) (sent int, err error) {
	var messages []engine.Message
	var readable, aside []store.Timer
	for _, timer := range due {
		m, err := DecodeMessage(timer.Body)
		if err != nil {
			unreadable.note(timer, err)
			aside = append(aside, timer)
			continue
		}
		messages, readable = append(messages, *m), append(readable, timer)
	}
	on, cannot, failed := s.sendDue(ctx, messages)
	var gone []store.Timer
	for i, timer := range readable {
		switch {
		case on[i]:
			gone = append(gone, timer)
		case cannot[i] != nil:
			unsent.note(timer, cannot[i])
			aside = append(aside, timer)
		}
	}
	if len(gone) > 0 {
		if err := s.Timers.DeleteTimers(ctx, gone); err != nil {
			return len(gone), errors.Join(failed, err)
		}
	}
	return len(gone), errors.Join(failed, s.setAside(ctx, aside))
}

// sendDue sends messages, together. Where that fails it sends each alone, because one of them may be the reason: on says which are on their
// way, cannot which can not be sent although others can, and why. The rest stays due, as in an outage of the queues; the error says why.
//
// A message that was sent twice by that is borne, as any is.
func (s *Service) sendDue(ctx context.Context, messages []engine.Message) (on []bool, cannot []error, err error) {
	on, cannot = make([]bool, len(messages)), make([]error, len(messages))
	if s.sendOn(ctx, slices.Clone(messages)) == nil {
		for i := range on {
			on[i] = true
		}
		return on, cannot, nil
	}
	var unclear []error // of messages that may be the reason, or not
	sent, inARow := false, 0
	for i := range messages {
		err := s.sendOn(ctx, messages[i:i+1])
		switch {
		case err == nil:
			on[i], sent, inARow = true, true, 0
			continue
		case ctx.Err() != nil:
			return on, cannot, err
		}
		cannot[i] = err
		if errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrTooLarge) {
			continue
		}
		unclear = append(unclear, err)
		if inARow++; inARow == maxUnsent {
			sent = false
			break
		}
	}
	if sent || len(unclear) == 0 {
		return on, cannot, nil
	}
	for i, err := range cannot {
		if err != nil && !errors.Is(err, queue.ErrRefused) && !errors.Is(err, queue.ErrTooLarge) {
			cannot[i] = nil
		}
	}
	return on, cannot, unclear[0]
}

// setAside moves timers to a later moment, as they are: first they are put there, and then deleted here. A crash between the two
// leaves both. Where they go follows from the clock in steps, so that the next sweep puts most of them to the same place.
func (s *Service) setAside(ctx context.Context, timers []store.Timer) error {
	if len(timers) == 0 {
		return nil
	}
	later := slices.Clone(timers)
	for i := range later {
		// Between the moments at which parked messages are kept: one that is sent from here, and parked again before the sweep deletes it
		// here, has the same id.
		later[i].Due = s.world.Now().Add(sweepAhead).Truncate(setAsideFor).Add(setAsideFor + parkedFor/2)
	}
	err := s.Timers.PutTimers(ctx, later)
	if err == nil {
		return s.Timers.DeleteTimers(ctx, timers)
	}
	for i := range later { // one may be the reason: a large one, for which there is no place
		if s.Timers.PutTimers(ctx, later[i:i+1]) != nil {
			continue // it stays due
		}
		if err := s.Timers.DeleteTimers(ctx, timers[i:i+1]); err != nil {
			return err
		}
	}
	return err
}

// asideTimers are the timers that a sweep has set aside for one reason.
type asideTimers struct {
	why   error
	count int
	first store.Timer
	err   error // of the first
}

func (a *asideTimers) note(timer store.Timer, err error) {
	if a.count++; a.count == 1 {
		a.first, a.err = timer, err
	}
}

// report logs and returns that there were some, once for each sweep.
func (a *asideTimers) report(ctx context.Context, s *Service) error {
	if a.count == 0 {
		return nil
	}
	s.options.Logger.ErrorContext(ctx, strings.TrimPrefix(a.why.Error(), "turn: "),
		"timers", a.count, "first", a.first.ID, "error", a.err, "triedAgainEvery", setAsideFor.String())
	return fmt.Errorf("%w: %d of them, the first %q: %w", a.why, a.count, a.first.ID, a.err)
}
