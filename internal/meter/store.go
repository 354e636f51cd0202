package meter

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/store"
)

// Log counts what goes through a log into the meter of each call's context.
func Log(inner store.Log) store.Log { return &log{inner} }

type log struct{ inner store.Log }

// Append counts a write for each item, or a lost race.
func (l *log) Append(ctx context.Context, items ...store.Item) error {
	c := of(ctx).begin(ForStore)
	err := l.inner.Append(ctx, items...)
	c.write(err, int64(len(items)))
	c.end(err)
	return err
}

// write counts n writes: as lost if their condition failed, and not at all if the store refused to
// try.
func (c *chain) write(err error, n int64) {
	var conflict *store.Conflict
	switch {
	case errors.As(err, &conflict), errors.Is(err, store.ErrStale):
		c.add(Cost{Lost: n})
	case errors.Is(err, store.ErrThrottled), errors.Is(err, store.ErrTooLarge):
	default:
		c.add(Cost{Writes: n})
	}
}

// Backward counts a read.
func (l *log) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	c := of(ctx).begin(ForStore)
	c.read()
	page, err := l.inner.Backward(ctx, workflow, before, until, limit)
	c.end(err)
	return page, err
}

// Forward counts a read.
func (l *log) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	c := of(ctx).begin(ForStore)
	c.read()
	page, err := l.inner.Forward(ctx, from, limit)
	c.end(err)
	return page, err
}

// Attempts counts what goes through a store of attempts.
func Attempts(inner store.Attempts) store.Attempts { return &attempts{inner} }

type attempts struct{ inner store.Attempts }

// RecordAttempt counts a write, or a lost race.
func (a *attempts) RecordAttempt(ctx context.Context, at store.Attempt) error {
	c := of(ctx).begin(ForStore)
	err := a.inner.RecordAttempt(ctx, at)
	c.write(err, 1)
	c.end(err)
	return err
}

// ReadAttempts counts a read.
func (a *attempts) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	c := of(ctx).begin(ForStore)
	c.read()
	all, err := a.inner.ReadAttempts(ctx, workflow, run)
	c.end(err)
	return all, err
}

// Timers counts what goes through a store of timers.
func Timers(inner store.Timers) store.Timers { return &timers{inner} }

type timers struct{ inner store.Timers }

// PutTimers counts a write for each timer.
func (t *timers) PutTimers(ctx context.Context, ts []store.Timer) error {
	c := of(ctx).begin(ForStore)
	err := t.inner.PutTimers(ctx, ts)
	c.write(err, int64(len(ts)))
	c.end(err)
	return err
}

// DueTimers counts a read.
func (t *timers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	of(ctx).read()
	return t.inner.DueTimers(ctx, before, limit)
}

// DeleteTimers counts a write for each timer.
func (t *timers) DeleteTimers(ctx context.Context, ts []store.Timer) error {
	err := t.inner.DeleteTimers(ctx, ts)
	of(ctx).write(err, int64(len(ts)))
	return err
}

// Lister counts what goes through a list.
func Lister(inner store.Lister) store.Lister { return &lister{inner} }

type lister struct{ inner store.Lister }

// ListRuns counts a read.
func (l *lister) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	of(ctx).read()
	return l.inner.ListRuns(ctx, f, token, limit)
}

// Keys counts what goes through a store of keys.
func Keys(inner store.Keys) store.Keys { return &keys{inner} }

type keys struct{ inner store.Keys }

// ReadKey counts a read.
func (k *keys) ReadKey(ctx context.Context) ([]byte, error) {
	of(ctx).read()
	return k.inner.ReadKey(ctx)
}

// MakeKey counts a write, or a lost race.
func (k *keys) MakeKey(ctx context.Context, key []byte) error {
	err := k.inner.MakeKey(ctx, key)
	of(ctx).write(err, 1)
	return err
}

// Rates counts what goes through a store of rates.
func Rates(inner store.Rates) store.Rates { return &rates{inner} }

type rates struct{ inner store.Rates }

// Reserve counts a write. If no slot is early enough it counts as lost.
func (r *rates) Reserve(ctx context.Context, s store.Reservation) (time.Time, error) {
	at, err := r.inner.Reserve(ctx, s)
	of(ctx).write(err, 1)
	return at, err
}

// Eraser counts deletions.
func Eraser(inner store.Eraser) store.Eraser { return &eraser{inner} }

type eraser struct{ inner store.Eraser }

// Delete counts a write for each commit and attempt.
func (e *eraser) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	err := e.inner.Delete(ctx, items, attempts)
	of(ctx).write(err, int64(len(items)+len(attempts)))
	return err
}

// Scanner counts what goes through a scanner.
func Scanner(inner store.Scanner) store.Scanner { return &scanner{Eraser(inner), inner} }

type scanner struct {
	store.Eraser
	inner store.Scanner
}

// Scan counts a read.
func (s *scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	of(ctx).read()
	return s.inner.Scan(ctx, cursor, limit)
}

// ReadMark counts a read.
func (s *scanner) ReadMark(ctx context.Context) ([]byte, error) {
	of(ctx).read()
	return s.inner.ReadMark(ctx)
}

// WriteMark counts a write, or a lost race.
func (s *scanner) WriteMark(ctx context.Context, old, mark []byte) error {
	err := s.inner.WriteMark(ctx, old, mark)
	of(ctx).write(err, 1)
	return err
}
