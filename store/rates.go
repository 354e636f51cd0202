package store

import (
	"context"
	"fmt"
	"time"
)

// Rates keeps one mark for each task queue that has a rate: how far its slots have been given out. A mark never goes back. It is
// kept for ever, and small.
type Rates interface {
	// Reserve moves the mark of a task queue as [Slot.Next] says, and returns where it stands then. The read and the write are one
	// atomic step: no two calls that return nil return the same moment. When it returns nil the mark is durable. An error that wraps
	// ErrStale says that the mark stays, because it would come to stand after the slot's Latest. One that wraps ErrUnknown says that
	// it may have been moved, and the same call again moves it once more: the slot in between is lost, which does no harm.
	Reserve(ctx context.Context, s Slot) (time.Time, error)
}

// Slot is what Reserve is asked for.
type Slot struct {
	TaskQueue string
	// Floor is from where the mark is moved that stands before it, or nowhere; another is moved from where it stands.
	Floor time.Time
	// By is how far it is moved: a microsecond at least.
	By time.Duration
	// Latest is where it may come to stand; zero is anywhere.
	Latest time.Time
}

// Next returns the new place of a mark, in microseconds since 1970. mark is its present place, or 0
// if there is none. Next returns an error that wraps ErrStale if the new place is after Latest.
func (s *Slot) Next(mark int64) (int64, error) {
	next := max(mark, s.Floor.UnixMicro()) + s.By.Microseconds()
	if !s.Latest.IsZero() && next > s.Latest.UnixMicro() {
		return 0, fmt.Errorf("%w: the task queue %q has no slot before %v", ErrStale, s.TaskQueue, s.Latest)
	}
	return next, nil
}
