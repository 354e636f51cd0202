package memory

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, reservation store.Reservation) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if reservation.By < time.Microsecond {
		s.violation("a Reserve moves the mark of the task queue %q by %v: less than a microsecond", reservation.TaskQueue, reservation.By)
		return time.Time{}, errMisuse
	}
	next, err := reservation.Next(s.marks[reservation.TaskQueue])
	if err != nil {
		return time.Time{}, err
	}
	s.marks[reservation.TaskQueue] = next
	return time.UnixMicro(next).UTC(), nil
}
