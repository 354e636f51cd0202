package awspath

import (
	"context"
	"encoding/binary"
	"runtime/debug"
	"slices"
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

// Together implements host.Host. The functions run on goroutines of their own, which the clock lets
// run one after the other: each until it waits.
func (c *Clock) Together(fns ...func()) {
	if len(fns) == 1 {
		fns[0]()
		return
	}
	all := make([]<-chan struct{}, len(fns))
	for i, fn := range fns {
		all[i] = c.Go(fn)
	}
	for _, done := range all {
		c.sleep(&sleeper{until: c.Now().Add(endless), wake: done})
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

// WithTimeout implements host.Host.
func (c *Clock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	inner, end := context.WithCancel(ctx)
	l := &limited{Context: testbed.WithPause(inner, c.pause), outer: ctx, end: end}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.at = c.now.Add(d); d <= 0 {
		l.expire()
	} else {
		c.limits = append(c.limits, l)
	}
	return l, func() { c.forget(l) }
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
