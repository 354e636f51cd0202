package memory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// timer is a timer, as the caller passed it.
type timer struct {
	store.Timer
	sum uint64 // the digest of its body when it was put
}

// timerKey identifies a timer. A timer that is deleted and put again is the same one.
type timerKey struct {
	due int64 // in nanoseconds
	id  string
}

func keyOf(t store.Timer) timerKey { return timerKey{t.Due.UnixNano(), t.ID} }

func (s *Store) findTimer(t store.Timer) (int, bool) {
	return slices.BinarySearchFunc(s.timers, t, func(a *timer, b store.Timer) int {
		if c := a.Due.Compare(b.Due); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// PutTimers implements store.Timers.
func (s *Store) PutTimers(ctx context.Context, timers []store.Timer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range timers {
		if err := s.fits(t.Body); err != nil {
			return err
		}
	}
	for _, t := range timers {
		if i, found := s.findTimer(t); !found {
			s.timers = slices.Insert(s.timers, i, &timer{Timer: t, sum: s.sum(t.Body)})
		}
	}
	return nil
}

// DueTimers implements store.Timers.
func (s *Store) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []store.Timer
	for _, t := range s.timers {
		if len(due) >= limit || !t.Due.Before(before) {
			break
		}
		s.returned[keyOf(t.Timer)] = true
		read := t.Timer
		read.Body = slices.Clone(read.Body)
		due = append(due, read)
	}
	return due, nil
}

// DeleteTimers implements store.Timers.
func (s *Store) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range timers {
		i, found := s.findTimer(t)
		if !found {
			continue
		}
		if !s.returned[keyOf(t)] {
			s.violation("timer %s is deleted, and DueTimers never returned it", t.ID)
		}
		s.examineTimer(s.timers[i])
		if s.timers[i] = nil; i == 0 {
			s.timers = s.timers[1:] // the usual case: the earliest is deleted first, and nothing has to move
		} else {
			s.timers = slices.Delete(s.timers, i, i+1)
		}
	}
	return nil
}
