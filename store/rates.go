package store

import (
	"context"
	"fmt"
	"time"
)

// Rates stores one mark for each task queue with a rate: the last reserved moment. A mark never
// goes back. It is small, and kept forever.
type Rates interface {
	// Reserve moves the mark of a task queue as [Reservation.Next] says, and returns its new place.
	// The read and the write are one atomic step: no two calls that return nil return the same
	// moment. The mark is durable when it returns nil. It returns an error that wraps ErrStale if
	// the mark would move past the reservation's Latest: the mark stays. It returns an error that
	// wraps ErrUnknown if the mark may have moved. The same call then moves it once more, and the
	// reservation in between is lost, which does no harm.
	Reserve(ctx context.Context, s Reservation) (time.Time, error)
}

// Reservation is the argument of Reserve: a reservation of a moment.
type Reservation struct {
	TaskQueue string
	// Floor is the moment from which the mark moves if it is earlier, or does not exist. A later
	// mark moves from its own place.
	Floor time.Time
	// By is how far the mark moves: a microsecond at least.
	By time.Duration
	// Latest is the latest new place of the mark; zero is no limit.
	Latest time.Time
}

// Next returns the new place of a mark, in microseconds since 1970. mark is its present place, or 0
// if the mark does not exist. Next returns an error that wraps ErrStale if the new place is after
// Latest.
func (s *Reservation) Next(mark int64) (int64, error) {
	next := max(mark, s.Floor.UnixMicro()) + s.By.Microseconds()
	if !s.Latest.IsZero() && next > s.Latest.UnixMicro() {
		return 0, fmt.Errorf("%w: the next reservation of the task queue %q is after %v", ErrStale, s.TaskQueue, s.Latest)
	}
	return next, nil
}
