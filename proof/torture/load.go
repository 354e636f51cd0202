package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/workflow"
)

// load is a set of callers that write into books until it is stopped.
type load struct {
	stop    context.CancelFunc
	all     sync.WaitGroup
	calls   atomic.Int64
	failed  atomic.Int64
	lastErr atomic.Value
}

// callTimeout is how long a caller retries one request before it counts it as unknown.
const callTimeout = 30 * time.Second

// bookOf is how many entries a caller sends before it opens new books, because a run carries all
// entries of its book.
const bookOf = 250

// startLoad starts callers, each with a book of its own and one that all share.
func (s *testbed) startLoad(name string, callers int) *load {
	ctx, stop := context.WithCancel(s.ctx)
	l := &load{stop: stop}
	s.loads++
	number := s.loads // tokens are unique in a scenario
	for i := range callers {
		l.all.Go(func() {
			r := rand.New(rand.NewPCG(s.seed, uint64(i)))
			for n := 0; ctx.Err() == nil; n++ {
				volume, perRun, spread := n/bookOf, 40, max(s.spread, 1)
				if i == 0 { // its books have a run for most entries, and more than 128 runs, so that numbers have a byte that is not ASCII
					volume, perRun = n/(2*bookOf), 1
				}
				id := fmt.Sprintf("%s-%d-%02d", name, i, volume*spread+n%spread)
				if r.IntN(4) == 0 {
					id, perRun = fmt.Sprintf("%s-shared-%02d", name, n/bookOf), 40
				}
				l.calls.Add(1)
				if err := s.one(ctx, id, perRun, fmt.Sprintf("%s-%d-%d-%d", name, number, i, n), r); err != nil && ctx.Err() == nil {
					l.failed.Add(1)
					l.lastErr.Store(err.Error())
					pause(ctx, 20*time.Millisecond)
				}
			}
		})
	}
	return l
}

// end stops the callers and waits for them.
func (l *load) end() {
	l.stop()
	l.all.Wait()
}

// last returns the last error of a caller.
func (l *load) last() string {
	text, _ := l.lastErr.Load().(string)
	return text
}

// one sends one update or signal to a book and records the answer. If the book does not exist, one
// opens it, with perRun entries for each run.
func (s *testbed) one(ctx context.Context, id string, perRun int, token string, r *rand.Rand) error {
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	c, kind := s.client(), r.IntN(10)
	e := entry{Token: token, Refuse: kind == 0, Do: []string{"", "", "activity", "timer", "child", "side"}[r.IntN(6)], Fill: strings.Repeat("x", s.fill)}
	opening := book.WithStart(pages{PerRun: perRun})
	s.ledger.with(id, func(a *account) { a.asked[token] = true })
	if kind == 1 {
		err := note.Send(limited, c, id, token, workflow.SendOptions{RequestID: token, Start: opening})
		if err == nil {
			s.ledger.with(id, func(a *account) { a.started, a.notes[token] = true, true })
		}
		return err
	}
	handle, err := write.Send(limited, c, id, e, workflow.CallOptions{ID: token, Start: opening})
	switch {
	case err == nil && e.Refuse:
		return fmt.Errorf("%s should have been refused, and was accepted", token)
	case err == nil:
		s.ledger.with(id, func(a *account) { a.started, a.entries[token] = true, true })
	case isRefused(err):
		s.ledger.with(id, func(a *account) { a.refused[token] = true })
		return nil
	default:
		return err
	}
	if r.IntN(2) == 0 {
		if _, err := handle.Get(limited); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}

// settle waits until all accepted updates have ended, and workflow code has all signals, so that
// their entries and notes are in the books.
func (s *testbed) settle(c *client.Client, within time.Duration) error {
	until := time.Now().Add(within)
	return errors.Join(each(s.ledger.ids(), func(id string) error {
		for {
			err := s.complete(c, id)
			if err == nil {
				return nil
			}
			if time.Now().After(until) || s.ctx.Err() != nil {
				return fmt.Errorf("%s has not settled within %v: %w", id, within, err)
			}
			pause(s.ctx, 50*time.Millisecond)
		}
	})...)
}

// each calls do with all ids, eight at a time, and returns the errors in the order of the ids.
func each(ids []string, do func(id string) error) []error {
	errs, next := make([]error, len(ids)), atomic.Int64{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ids)); i = next.Add(1) - 1 {
				errs[i] = do(ids[i])
			}
		})
	}
	all.Wait()
	return errs
}

// complete returns an error that names an acknowledged entry or note that a book does not have yet.
// A query does not see a signal whose workflow task has not run.
func (s *testbed) complete(c *client.Client, id string) error {
	limited, cancel := context.WithTimeout(s.ctx, 10*time.Second)
	defer cancel()
	p, err := contain.Ask(limited, c, id, workflow.None{})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, token := range append(p.Entries, p.Notes...) {
		there[token] = true
	}
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	a := s.ledger.of(id)
	for _, tokens := range []map[string]bool{a.entries, a.notes} {
		for token := range tokens {
			if !there[token] {
				return fmt.Errorf("%s was acknowledged and is missing", token)
			}
		}
	}
	return nil
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
