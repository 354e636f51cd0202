package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/store"
)

// SweepEvery is how often Sweep is to be called, and sweepAhead how far ahead it looks: twice as far, so that a timer is
// on its queue before its moment even if one sweep is missed.
const (
	SweepEvery = time.Minute
	sweepAhead = 2 * SweepEvery
	sweepPage  = 100
)

// ErrUnreadable is wrapped by what Sweep returns if there were timers that it could not read. All others are on their way.
var ErrUnreadable = errors.New("turn: timers cannot be read, and wait: deploy the version of Weft that wrote them, or give back the key")

// setAsideFor is how long a timer waits that cannot be read, before it is tried again. Each try costs two writes.
const setAsideFor = 10 * time.Minute

// Sweep sends the messages that have been kept in the store and are due soon, each with the delay that it has left, and
// deletes each after it was sent: a crash between the two sends it twice, and its receiver sees that it was done. It
// returns how many it sent. After an outage it catches up by itself: what is overdue comes first.
//
// A timer that cannot be read is set aside, and the others fire: a newer version of Weft wrote it, or its key is not there. It is
// tried again every setAsideFor. When all others are on their way, the error is ErrUnreadable.
func (s *Service) Sweep(ctx context.Context) (sent int, err error) {
	ctx, ended := s.metered(ctx)
	defer ended()
	var aside asideTimers
	defer func() { err = errors.Join(err, aside.report(ctx, s)) }()
	for {
		due, err := s.Timers.DueTimers(ctx, s.world.Now().Add(sweepAhead), sweepPage)
		if err != nil || len(due) == 0 {
			return sent, err
		}
		n, err := s.sweepPage(ctx, due, &aside)
		sent += n
		if err != nil || len(due) < sweepPage {
			return sent, err
		}
	}
}

// sweepPage sends the timers of a page, or sets them aside. When it returns nil, none of them is due any more.
func (s *Service) sweepPage(ctx context.Context, due []store.Timer, aside *asideTimers) (sent int, err error) {
	var messages []engine.Message
	var readable, unreadable []store.Timer
	for _, timer := range due {
		m, err := DecodeMessage(timer.Body)
		if err != nil {
			aside.note(timer, err)
			unreadable = append(unreadable, timer)
			continue
		}
		messages, readable = append(messages, *m), append(readable, timer)
	}
	if err := s.sendOn(ctx, messages); err != nil {
		return 0, err
	}
	if len(readable) > 0 {
		if err := s.Timers.DeleteTimers(ctx, readable); err != nil {
			return len(readable), err
		}
	}
	return len(readable), s.setAside(ctx, unreadable)
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

// asideTimers are the timers that a sweep could not read.
type asideTimers struct {
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
	s.options.Logger.ErrorContext(ctx, "timers cannot be read, and wait: deploy the version of Weft that wrote them, or give back the key",
		"timers", a.count, "first", a.first.ID, "error", a.err, "triedAgainEvery", setAsideFor.String())
	return fmt.Errorf("%w: %d of them, the first %q: %w", ErrUnreadable, a.count, a.first.ID, a.err)
}
