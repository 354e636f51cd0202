package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// SweepEvery is how often Sweep is to be called, and sweepAhead how far ahead it looks: twice as far, so that a timer is
// on its queue before its moment even if one sweep is missed.
const (
	SweepEvery = time.Minute
	sweepAhead = 2 * SweepEvery
	sweepPage  = 100
	// largeTimer is from how many bytes on a timer is sent after the others: it may need the bucket.
	largeTimer = 64 << 10
	// sweepSends is for how long a page of timers is sent that cannot be sent together, and then for how long the large ones.
	sweepSends = 15 * time.Second
)

var (
	// ErrUnreadable is wrapped by what Sweep returns if there were timers that it could not read. All others are on their way, if it is the
	// only error.
	ErrUnreadable = errors.New("turn: timers cannot be read, and wait: deploy the version of Weft that wrote them, or give back the key")
	// ErrUnsent is wrapped by what Sweep returns if there were timers that it could not send, and set aside. All others are on their way, if
	// it is the only error.
	ErrUnsent = errors.New("turn: timers cannot be sent, and wait: give the timer function its rights, and see whether the bucket and the queues answer")
	// errNotTried is the error of messages for which there was no time.
	errNotTried = fmt.Errorf("%w: there was no time to send it", outcome.ErrBusy)
)

// setAsideFor is how long a timer waits that cannot be read, or sent, before it is tried again. Each try costs two writes.
const setAsideFor = 10 * time.Minute

// Sweep sends the messages that have been kept in the store and are due soon, each with the delay that it has left, and
// deletes each after it was sent: a crash between the two sends it twice, and its receiver sees that it was done. It
// returns how many it sent. After an outage it catches up by itself: what is overdue comes first.
//
// A timer that cannot be read is set aside, and the others fire: a newer version of Weft wrote it, or its key is not there. So is one that
// cannot be sent for what it is: it is large, and the bucket does not answer, or its queue is not there. It is tried again every setAsideFor.
// When all others are on their way, the error is ErrUnreadable or ErrUnsent. One that a queue does not take for another reason stays, and
// the next sweep tries it again; only where such timers fill the page are they set aside, after setAsideFor if none can be sent.
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
		more := len(due) == sweepPage || due[len(due)-1].More
		n, unclear, err := s.sweepPage(ctx, due, more, &unreadable, &unsent)
		sent += n
		if err != nil || unclear != nil && n == 0 || !more {
			return sent, errors.Join(unclear, err)
		}
	}
}

// sweepPage sends the timers of a page, or sets them aside. Where it returns neither error, none of them is due any more. Of those that stay
// due because their queue does not take them, or none does, unclear says why. more says that timers may wait behind them.
func (s *Service) sweepPage(ctx context.Context, due []store.Timer, more bool, unreadable, unsent *asideTimers) (sent int, unclear, err error) {
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
	errs := s.sendDue(ctx, readable, messages)
	var gone, stay []store.Timer
	var why []error
	for i, timer := range readable {
		switch err := errs[i]; {
		case err == nil:
			gone = append(gone, timer)
		case ofItself(err):
			unsent.note(timer, err)
			aside = append(aside, timer)
		default:
			stay, why = append(stay, timer), append(why, err)
		}
	}
	if len(gone) > 0 && len(stay) > sweepPage/2 || more && len(stay) == len(due) && s.world.Now().Sub(due[0].Due) > setAsideFor {
		for i, timer := range stay {
			unsent.note(timer, why[i])
		}
		aside, why = append(aside, stay...), nil
	}
	if len(why) > 0 {
		unclear = why[0]
	}
	if len(gone) > 0 {
		if err := s.Timers.DeleteTimers(ctx, gone); err != nil {
			return len(gone), unclear, err
		}
	}
	return len(gone), unclear, s.setAside(ctx, aside)
}

// ofItself reports whether a message could not be sent for what it is, or for where it goes.
func ofItself(err error) bool {
	return errors.Is(err, queue.ErrRefused) || errors.Is(err, queue.ErrTooLarge) || errors.Is(err, queue.ErrInvalid)
}

// sendDue sends the messages of timers, and returns the error of each. Large ones go after the others, which need no bucket. Each of the two
// has its time, so that there is some left to delete what was sent. Large ones for which there is none are taken for what one of them was
// refused for.
func (s *Service) sendDue(ctx context.Context, timers []store.Timer, messages []engine.Message) []error {
	errs := make([]error, len(messages))
	var small, large []int
	for i := range timers {
		if len(timers[i].Body) < largeTimer {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	s.sendPart(ctx, messages, small, errs)
	s.sendPart(ctx, messages, large, errs)
	if i := slices.IndexFunc(large, func(i int) bool { return errs[i] != nil && ofItself(errs[i]) }); i >= 0 {
		for _, j := range large {
			if errors.Is(errs[j], errNotTried) {
				errs[j] = errs[large[i]]
			}
		}
	}
	return errs
}

// sendPart sends some of the messages, together. Where that fails it sends each alone, because one of them may be the reason, as long as
// there is time.
//
// A message that was sent twice by that is borne, as any is.
func (s *Service) sendPart(ctx context.Context, messages []engine.Message, part []int, errs []error) {
	if len(part) == 0 {
		return
	}
	ctx, cancel := s.world.WithTimeout(ctx, sweepSends)
	defer cancel()
	all := make([]engine.Message, 0, len(part))
	for _, i := range part {
		all = append(all, messages[i])
	}
	err := s.sendOn(ctx, all)
	if err == nil {
		return
	}
	for n, i := range part {
		switch {
		case n == 0 && (len(part) == 1 || ctx.Err() != nil):
			errs[i] = err
		case ctx.Err() != nil:
			errs[i] = errNotTried
		default:
			errs[i] = s.sendOn(ctx, messages[i:i+1])
		}
	}
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
	if err := s.Timers.PutTimers(ctx, later); err != nil {
		return err
	}
	return s.Timers.DeleteTimers(ctx, timers)
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
