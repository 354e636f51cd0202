package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/store"
)

// attempt is the record of an activity, as the caller passed it.
type attempt struct {
	store.Attempt
	sum        uint64      // the digest of its body when it was recorded
	perishable *perishable // nil if it never expires
}

// RecordAttempt implements store.Attempts.
func (s *Store) RecordAttempt(ctx context.Context, a store.Attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Number < 1 {
		s.violation("attempt %d of event %d in %s/%d: the first is number 1", a.Number, a.Event, a.Workflow, a.Run)
		return errMisuse
	}
	if err := s.fits(a.Body); err != nil {
		return err
	}
	run := place{a.Workflow, a.Run}
	if s.attempts[run] == nil {
		s.attempts[run] = map[int64]*attempt{}
	}
	if old := s.attempts[run][a.Event]; old != nil {
		if old.RunID == a.RunID && old.Number >= a.Number {
			return fmt.Errorf("%w: attempt %d is recorded, this is %d", store.ErrStale, old.Number, a.Number)
		}
		s.examineAttempt(old)
		s.expiry.drop(old.perishable)
	}
	s.keep(run, &attempt{Attempt: a, sum: s.sum(a.Body)})
	return nil
}

func (s *Store) keep(run place, a *attempt) {
	s.attempts[run][a.Event] = a
	if a.Expires.IsZero() {
		return
	}
	a.perishable = &perishable{at: a.Expires, remove: func() {
		s.forget(run, a)
	}}
	s.expiry.add(a.perishable)
}

// forget removes an attempt.
func (s *Store) forget(run place, a *attempt) {
	s.examineAttempt(a)
	if delete(s.attempts[run], a.Event); len(s.attempts[run]) == 0 {
		delete(s.attempts, run)
	}
}

// ReadAttempts implements store.Attempts.
func (s *Store) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var attempts []store.Attempt
	for _, a := range s.attempts[place{workflow, run}] {
		read := a.Attempt
		read.Body, read.Expires = slices.Clone(read.Body), roundUp(read.Expires)
		attempts = append(attempts, read)
	}
	slices.SortFunc(attempts, func(a, b store.Attempt) int { return cmp.Compare(a.Event, b.Event) })
	return attempts, nil
}
