package turn

import (
	"context"
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

// Sweep sends the messages that have been kept in the store and are due soon, each with the delay that it has left, and
// deletes each after it was sent: a crash between the two sends it twice, and its receiver sees that it was done. It
// returns how many it sent. After an outage it catches up by itself: what is overdue comes first.
func (s *Service) Sweep(ctx context.Context) (sent int, err error) {
	ctx, ended := s.metered(ctx)
	defer ended()
	for {
		due, err := s.Timers.DueTimers(ctx, s.world.Now().Add(sweepAhead), sweepPage)
		if err != nil || len(due) == 0 {
			return sent, err
		}
		n, err := s.sweepPage(ctx, due)
		sent += n
		if err != nil || n == 0 || len(due) < sweepPage {
			return sent, err
		}
	}
}

// sweepPage sends the timers of a page. One that cannot be read (a newer version of Weft wrote it) stays where it is.
func (s *Service) sweepPage(ctx context.Context, due []store.Timer) (sent int, err error) {
	var messages []engine.Message
	var readable []store.Timer
	for _, timer := range due {
		m, err := DecodeMessage(timer.Body)
		if err != nil {
			s.options.Logger.ErrorContext(ctx, "a timer cannot be read; it stays", "id", timer.ID, "error", err)
			continue
		}
		messages, readable = append(messages, *m), append(readable, timer)
	}
	if err := s.sendOn(ctx, messages); err != nil {
		return 0, err
	}
	return len(readable), s.Timers.DeleteTimers(ctx, readable)
}
