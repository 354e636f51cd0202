package awspath

import (
	"context"
	"encoding/binary"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/proof/testbed"
)

// Now implements host.Host.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// ID implements host.Host. The bytes are the same in each run of a test.
func (c *Clock) ID() (id [16]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	binary.BigEndian.PutUint64(id[:], c.random.Uint64())
	binary.BigEndian.PutUint64(id[8:], c.random.Uint64())
	return id
}

// Wait implements host.Host.
func (c *Clock) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.sleep(&sleeper{until: c.Now().Add(d), wake: wake, ctx: ctx})
	if closed(wake) {
		return nil
	}
	return ctx.Err()
}

// Guard implements host.Host. While the caller waits, the goroutine of fn runs in its place.
func (c *Clock) Guard(limit time.Duration, fn func()) bool {
	done := make(chan struct{})
	var escaped any
	c.mu.Lock()
	s := c.add(&sleeper{until: c.now.Add(limit), wake: done})
	c.mu.Unlock()
	go func() {
		defer c.leave()
		defer close(done)
		defer func() {
			if value := recover(); value != nil {
				escaped = string(debug.Stack())
			}
		}()
		fn()
	}()
	<-s.resume
	if !closed(done) {
		return false
	}
	if escaped != nil {
		panic(escaped)
	}
	return true
}

// Within implements host.Host.
func (c *Clock) Within(limit time.Duration, fn func()) bool { return c.Guard(limit, fn) }

// Together implements host.Host, one after the other.
func (c *Clock) Together(fns ...func()) {
	for _, fn := range fns {
		fn()
	}
}

// limited is a context that ends at a moment of the clock. Its Deadline is that of the parent
// context, in the time of package time, because an SDK would consider the clock's deadline long
// past.
type limited struct {
	context.Context
	outer context.Context
	at    time.Time
	end   context.CancelFunc
	over  atomic.Bool
}

type limitKey struct{}

// WithTimeout implements host.Host. The outermost context of a part of a batch marks where the part
// begins and ends: see batch.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ended := func() {}
	if b, ok := ctx.Value(batchKey{}).(*batch); ok && ctx.Value(limitKey{}) == nil {
		c.sleep(&sleeper{})
		ended = sync.OnceFunc(func() { c.partEnded(b) })
	}
	inner, end := context.WithCancel(context.WithValue(ctx, limitKey{}, true))
	l := &limited{Context: testbed.WithPause(inner, c.pause), outer: ctx, end: end}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.at = c.now.Add(d); d <= 0 {
		l.expire()
	} else {
		c.limits = append(c.limits, l)
	}
	return l, func() {
		c.forget(l)
		ended()
	}
}

func (c *Clock) forget(l *limited) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits = slices.DeleteFunc(c.limits, func(other *limited) bool { return other == l })
	l.end()
}

func (c *Clock) pause(ctx context.Context, d time.Duration) error { return c.Wait(ctx, d, nil) }

func (l *limited) expire() bool {
	l.over.Store(true)
	l.end()
	return true
}

// Err returns why the context has ended, or nil.
func (l *limited) Err() error {
	switch {
	case l.outer.Err() != nil:
		return l.outer.Err()
	case l.over.Load():
		return context.DeadlineExceeded
	}
	return l.Context.Err()
}

// batch is an event whose messages a function handles in parallel, on goroutines of its own. The
// clock still runs them one after the other. Each waits for the clock when it begins, and reports
// when it ends.
type batch struct{ left int }

type batchKey struct{}

// batch is called by a running goroutine before it lets a function handle an event of this many
// parts with the returned context. The parts run in its place until the last part has ended.
func (c *Clock) batch(ctx context.Context, parts int) context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += parts - 1
	return context.WithValue(ctx, batchKey{}, &batch{left: parts})
}

func (c *Clock) partEnded(b *batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.left--; b.left > 0 {
		c.stop()
	}
}
