package workflow

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
)

// Mutex keeps coroutines of a workflow out of each other's way while they wait for activities and timers. It is granted
// in the order in which it is asked for. The zero value is unlocked.
type Mutex struct{ s *coro.Semaphore }

func (m *Mutex) semaphore() *coro.Semaphore {
	if m.s == nil {
		m.s = coro.NewSemaphore(1)
	}
	return m.s
}

// Lock waits for the mutex. It returns a *CanceledError, and has not locked, if ctx is canceled first.
func (m *Mutex) Lock(ctx Context) error {
	s := ctx.scheduler()
	s.MustRun("lock a mutex")
	return m.semaphore().Acquire(s, ctx.scope, 1)
}

// TryLock locks the mutex if that needs no waiting, and reports whether it did.
func (m *Mutex) TryLock(ctx Context) bool {
	ctx.scheduler().MustRun("lock a mutex")
	return m.semaphore().TryAcquire(1)
}

// Unlock unlocks the mutex. One that is not locked fails the task.
func (m *Mutex) Unlock(ctx Context) {
	s := ctx.scheduler()
	s.Guard("unlock a mutex")
	m.semaphore().Release(s, 1)
}

// Semaphore hands out a number of units to coroutines, in the order in which they ask.
type Semaphore struct{ s *coro.Semaphore }

// NewSemaphore returns a semaphore of this many units.
func NewSemaphore(units int) Semaphore { return Semaphore{coro.NewSemaphore(units)} }

// Acquire waits for n units. It returns a *CanceledError, and has none, if ctx is canceled first. More than the semaphore
// has fails the task.
func (m Semaphore) Acquire(ctx Context, n int) error {
	s := ctx.scheduler()
	s.MustRun("acquire a semaphore")
	return m.s.Acquire(s, ctx.scope, n)
}

// TryAcquire takes n units if that needs no waiting, and reports whether it did.
func (m Semaphore) TryAcquire(ctx Context, n int) bool {
	ctx.scheduler().MustRun("acquire a semaphore")
	return m.s.TryAcquire(n)
}

// Release gives n units back. More than are taken fails the task.
func (m Semaphore) Release(ctx Context, n int) {
	s := ctx.scheduler()
	s.Guard("release a semaphore")
	m.s.Release(s, n)
}

// WaitGroup waits for coroutines to end. The zero value is ready to use.
type WaitGroup struct{ g coro.WaitGroup }

// Go runs fn in a coroutine that the group waits for.
func (g *WaitGroup) Go(ctx Context, fn func(Context)) {
	g.Add(ctx, 1)
	Go(ctx, func(ctx Context) {
		defer g.Done(ctx)
		fn(ctx)
	})
}

// Add adds to the number that the group waits for.
func (g *WaitGroup) Add(ctx Context, delta int) {
	s := ctx.scheduler()
	s.Guard("use a wait group")
	g.g.Add(s, delta)
}

// Done takes one off the number that the group waits for. A number below zero fails the task.
func (g *WaitGroup) Done(ctx Context) { g.Add(ctx, -1) }

// Wait waits until the number is zero. It returns a *CanceledError as soon as ctx is canceled, unless it is zero.
func (g *WaitGroup) Wait(ctx Context) error {
	s := ctx.scheduler()
	s.MustRun("wait for a wait group")
	return g.g.Wait(s, ctx.scope)
}

// Await waits until the condition is true. It returns a *CanceledError as soon as ctx is canceled, unless the condition is
// true. The condition is asked again whenever the workflow has done something; it may only look, and not at the clock.
func Await(ctx Context, condition func() bool) error {
	s := ctx.scheduler()
	s.MustRun("wait for a condition")
	return s.Await(ctx.scope, condition)
}

// AwaitFor is Await for at most this long. ok is false where the time passed and the condition was still false.
func AwaitFor(ctx Context, d time.Duration, condition func() bool) (ok bool, err error) {
	s := ctx.scheduler()
	s.MustRun("wait for a condition")
	if s.Look(condition) {
		return true, nil
	}
	timer := startTimer(ctx, Now(ctx).Add(d))
	defer timer.Cancel(errNotNeeded)
	if err := s.Await(ctx.scope, func() bool { return timer.Future().Ready() || condition() }); err != nil {
		return false, err
	}
	if s.Look(condition) {
		return true, nil
	}
	_, err = timer.Future().Peek() // not nil where the timer was canceled with ctx
	return false, err
}
