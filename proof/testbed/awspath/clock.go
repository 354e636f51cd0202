package awspath

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Clock is the time of a testbed. It does not move while anything can happen. When a test allows
// it, it moves to the next thing that is due. It is the host.Host of the testbed's processes, and
// their scheduler: see the package comment.
type Clock struct {
	mu      sync.Mutex
	stopped sync.Cond // signals that running is 0
	now     time.Time
	random  *rand.Rand
	// running is the number of goroutines that run and will report when they wait or end. The
	// test's own goroutine is not counted.
	running int
	driving bool // the test's goroutine waits for the others
	waiting []*sleeper
	limits  []*limited
	source  source
}

// source is the source of new events: messages that become visible, and the schedule.
type source interface {
	// deliver begins one thing that can begin now. It returns false if nothing can.
	deliver() bool
	// due returns when something can begin next, besides what waits for the clock; zero means
	// never.
	due() time.Time
}

// sleeper is a goroutine that waits for the first of these things.
type sleeper struct {
	until  time.Time
	wake   <-chan struct{} // a nil channel is never closed
	ctx    context.Context // a nil context never ends
	idle   bool            // it only waits until nothing else can happen now
	resume chan struct{}
}

// NewClock returns a clock that begins at the same time as that of testing/synctest, so that
// testbeds with either clock print the same times. Its random bytes are derived from the name of
// the test. Parallel tests must not have runs with the same ids, because the workload's code keeps
// notes in memory by run.
func NewClock(test string) *Clock {
	c := &Clock{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), random: rand.New(rand.NewChaCha8(sha256.Sum256([]byte(test))))}
	c.stopped.L = &c.mu
	return c
}

// Go runs fn on a new goroutine when the clock lets it. The returned channel is closed when fn has
// ended.
func (c *Clock) Go(fn func()) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, done := c.add(&sleeper{until: c.now}), make(chan struct{})
	go func() {
		defer c.leave()
		defer close(done) // also if fn ends the goroutine
		<-s.resume
		fn()
	}()
	return done
}

// Await lets things happen and time pass until done is closed. The test may call it, and so may the
// goroutines that the test started.
func (c *Clock) Await(done <-chan struct{}) {
	if c.nested() {
		c.sleep(&sleeper{until: c.Now().Add(endless), wake: done})
		return
	}
	c.drive(func() bool { return closed(done) }, time.Time{})
}

// Settle lets everything happen that does not need time to pass.
func (c *Clock) Settle() {
	if c.nested() {
		c.sleep(&sleeper{idle: true})
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driving = true
	for c.step() {
	}
	c.driving = false
}

// Sleep lets time pass.
func (c *Clock) Sleep(d time.Duration) {
	end := c.Now().Add(d)
	c.drive(func() bool { return !c.now.Before(end) }, end)
	c.Settle()
}

// endless is longer than any script.
const endless = 10_000 * time.Hour

func (c *Clock) nested() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.driving
}

// drive lets things happen and time pass until done returns true, but not beyond end, if that is
// set.
func (c *Clock) drive(done func() bool, end time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.driving = true
	for !done() {
		if !c.step() {
			c.jump(end)
		}
	}
	c.driving = false
}

// step lets one thing happen that can happen now. It waits until every goroutine that this starts
// waits or has ended.
func (c *Clock) step() bool {
	if i := slices.IndexFunc(c.waiting, c.ready); i >= 0 {
		c.resume(i)
		return true
	}
	c.mu.Unlock()
	delivered := c.source.deliver()
	c.mu.Lock()
	if delivered {
		return true
	}
	for i, s := range slices.Backward(c.waiting) {
		if s.idle {
			c.resume(i)
			return true
		}
	}
	return false
}

func (c *Clock) ready(s *sleeper) bool {
	return !s.idle && (!c.now.Before(s.until) || closed(s.wake) || s.ctx != nil && s.ctx.Err() != nil)
}

func closed(wake <-chan struct{}) bool {
	select {
	case <-wake:
		return true
	default:
		return false
	}
}

// resume lets a sleeper continue.
func (c *Clock) resume(i int) {
	s := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	c.running++
	close(s.resume)
	for c.running > 0 {
		c.stopped.Wait()
	}
}

// jump moves the clock to the next thing that is due.
func (c *Clock) jump(end time.Time) {
	c.mu.Unlock()
	next := c.source.due()
	c.mu.Lock()
	consider := func(t time.Time) {
		if t.After(c.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, s := range c.waiting {
		consider(s.until)
	}
	for _, l := range c.limits {
		consider(l.at)
	}
	consider(end)
	if next.IsZero() {
		panic("awspath: nothing can happen any more, and the test waits for something")
	}
	c.now = next
	c.limits = slices.DeleteFunc(c.limits, func(l *limited) bool { return !c.now.Before(l.at) && l.expire() })
}

// add puts a sleeper behind the others. The caller holds c.mu.
func (c *Clock) add(s *sleeper) *sleeper {
	s.resume = make(chan struct{})
	c.waiting = append(c.waiting, s)
	return s
}

// sleep puts the running goroutine to sleep.
func (c *Clock) sleep(s *sleeper) {
	c.mu.Lock()
	c.add(s)
	c.stop()
	c.mu.Unlock()
	<-s.resume
}

// leave ends a goroutine that ran.
func (c *Clock) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop()
}

// stop decrements the number of running goroutines. The caller holds c.mu.
func (c *Clock) stop() {
	if c.running--; c.running == 0 {
		c.stopped.Signal()
	}
}
