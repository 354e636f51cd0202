package memory

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// Reserve implements store.Rates.
func (s *Store) Reserve(ctx context.Context, slot store.Slot) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.By < time.Microsecond {
		s.violation("a Reserve moves the mark of the task queue %q by %v: less than a microsecond", slot.TaskQueue, slot.By)
		return time.Time{}, errMisuse
	}
	next, err := slot.Next(s.marks[slot.TaskQueue])
	if err != nil {
		return time.Time{}, err
	}
	s.marks[slot.TaskQueue] = next
	return time.UnixMicro(next).UTC(), nil
}
