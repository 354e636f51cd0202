package calls

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/store"
)

func (c *Calls) ofStore(name string) *method { return c.method(observe.ServiceStore, name) }

// Log wraps a log.
func (c *Calls) Log(inner store.Log) store.Log {
	return &log{inner, c.ofStore("Append"), c.ofStore("Backward"), c.ofStore("Forward")}
}

type log struct {
	inner                     store.Log
	append, backward, forward *method
}

// Append implements store.Log.
func (l *log) Append(ctx context.Context, items ...store.Item) error {
	began := l.append.now()
	err := l.inner.Append(ctx, items...)
	l.append.ended(ctx, began, err)
	return err
}

// Backward implements store.Log.
func (l *log) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	began := l.backward.now()
	page, err := l.inner.Backward(ctx, workflow, before, until, limit)
	l.backward.ended(ctx, began, err)
	return page, err
}

// Forward implements store.Log.
func (l *log) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	began := l.forward.now()
	page, err := l.inner.Forward(ctx, from, limit)
	l.forward.ended(ctx, began, err)
	return page, err
}

func (c *Calls) attempts(inner store.Attempts) store.Attempts {
	return &attempts{inner, c.ofStore("RecordAttempt"), c.ofStore("ReadAttempts")}
}

type attempts struct {
	inner        store.Attempts
	record, read *method
}

// RecordAttempt implements store.Attempts.
func (a *attempts) RecordAttempt(ctx context.Context, at store.Attempt) error {
	began := a.record.now()
	err := a.inner.RecordAttempt(ctx, at)
	a.record.ended(ctx, began, err)
	return err
}

// ReadAttempts implements store.Attempts.
func (a *attempts) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	began := a.read.now()
	all, err := a.inner.ReadAttempts(ctx, workflow, run)
	a.read.ended(ctx, began, err)
	return all, err
}

func (c *Calls) timers(inner store.Timers) store.Timers {
	return &timers{inner, c.ofStore("PutTimers"), c.ofStore("DueTimers"), c.ofStore("DeleteTimers")}
}

type timers struct {
	inner            store.Timers
	put, due, delete *method
}

// PutTimers implements store.Timers.
func (t *timers) PutTimers(ctx context.Context, all []store.Timer) error {
	began := t.put.now()
	err := t.inner.PutTimers(ctx, all)
	t.put.ended(ctx, began, err)
	return err
}

// DueTimers implements store.Timers.
func (t *timers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	began := t.due.now()
	all, err := t.inner.DueTimers(ctx, before, limit)
	t.due.ended(ctx, began, err)
	return all, err
}

// DeleteTimers implements store.Timers.
func (t *timers) DeleteTimers(ctx context.Context, all []store.Timer) error {
	began := t.delete.now()
	err := t.inner.DeleteTimers(ctx, all)
	t.delete.ended(ctx, began, err)
	return err
}

func (c *Calls) lister(inner store.Lister) store.Lister {
	return &lister{inner, c.ofStore("ListRuns")}
}

type lister struct {
	inner store.Lister
	list  *method
}

// ListRuns implements store.Lister.
func (l *lister) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	began := l.list.now()
	runs, next, err := l.inner.ListRuns(ctx, f, token, limit)
	l.list.ended(ctx, began, err)
	return runs, next, err
}

// signing wraps the store of the key that a deployment signs with.
func (c *Calls) signing(inner store.Keys) store.Keys {
	return &signing{inner, c.ofStore("ReadKey"), c.ofStore("MakeKey")}
}

type signing struct {
	inner      store.Keys
	read, make *method
}

// ReadKey implements store.Keys.
func (k *signing) ReadKey(ctx context.Context) ([]byte, error) {
	began := k.read.now()
	key, err := k.inner.ReadKey(ctx)
	k.read.ended(ctx, began, err)
	return key, err
}

// MakeKey implements store.Keys.
func (k *signing) MakeKey(ctx context.Context, key []byte) error {
	began := k.make.now()
	err := k.inner.MakeKey(ctx, key)
	k.make.ended(ctx, began, err)
	return err
}

func (c *Calls) rates(inner store.Rates) store.Rates { return &rates{inner, c.ofStore("Reserve")} }

type rates struct {
	inner   store.Rates
	reserve *method
}

// Reserve implements store.Rates. A store that throttles by itself, without an answer of a service
// which says so, reports that other processes move the mark too fast: that is contention.
func (r *rates) Reserve(ctx context.Context, s store.Reservation) (time.Time, error) {
	began := r.reserve.now()
	at, err := r.inner.Reserve(ctx, s)
	failed := err
	if errors.Is(err, store.ErrThrottled) && codeOf(err) == "" {
		failed = nil
	}
	r.reserve.ended(ctx, began, failed)
	return at, err
}

func (c *Calls) eraser(inner store.Eraser) store.Eraser { return &eraser{inner, c.ofStore("Delete")} }

type eraser struct {
	inner  store.Eraser
	delete *method
}

// Delete implements store.Eraser.
func (e *eraser) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	began := e.delete.now()
	err := e.inner.Delete(ctx, items, attempts)
	e.delete.ended(ctx, began, err)
	return err
}

func (c *Calls) scanner(inner store.Scanner) store.Scanner {
	return &scanner{c.eraser(inner), inner, c.ofStore("Scan"), c.ofStore("ReadMark"), c.ofStore("WriteMark")}
}

type scanner struct {
	store.Eraser
	inner             store.Scanner
	scan, read, write *method
}

// Scan implements store.Scanner.
func (s *scanner) Scan(ctx context.Context, cursor string, limit int) ([]store.Item, string, error) {
	began := s.scan.now()
	items, next, err := s.inner.Scan(ctx, cursor, limit)
	s.scan.ended(ctx, began, err)
	return items, next, err
}

// ReadMark implements store.Scanner.
func (s *scanner) ReadMark(ctx context.Context) ([]byte, error) {
	began := s.read.now()
	mark, err := s.inner.ReadMark(ctx)
	s.read.ended(ctx, began, err)
	return mark, err
}

// WriteMark implements store.Scanner.
func (s *scanner) WriteMark(ctx context.Context, old, mark []byte) error {
	began := s.write.now()
	err := s.inner.WriteMark(ctx, old, mark)
	s.write.ended(ctx, began, err)
	return err
}
