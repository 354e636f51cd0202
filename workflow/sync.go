package workflow

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/coro"
)

// Mutex excludes coroutines of a workflow from each other while they wait for activities and
// timers. Coroutines get it in the order in which they called Lock. The zero value is unlocked.
type Mutex struct{ s *coro.Semaphore }

func (m *Mutex) semaphore() *coro.Semaphore {
	if m.s == nil {
		m.s = coro.NewSemaphore(1)
	}
	return m.s
}

// Lock waits for the mutex. If ctx is canceled first, it returns a *CanceledError and has not
// locked.
func (m *Mutex) Lock(ctx Context) error {
	s := ctx.scheduler()
	s.MustRun("lock a mutex")
	return m.semaphore().Acquire(s, ctx.scope, 1)
}

// TryLock locks the mutex if it need not wait, and reports whether it did.
func (m *Mutex) TryLock(ctx Context) bool {
	ctx.scheduler().MustRun("lock a mutex")
	return m.semaphore().TryAcquire(1)
}

// Unlock unlocks the mutex. If the mutex is not locked, the task fails.
func (m *Mutex) Unlock(ctx Context) {
	s := ctx.scheduler()
	s.Guard("unlock a mutex")
	m.semaphore().Release(s, 1)
}

// Semaphore hands out a number of units to coroutines, in the order in which they called Acquire.
type Semaphore struct{ s *coro.Semaphore }

// NewSemaphore returns a semaphore of this many units.
func NewSemaphore(units int) Semaphore { return Semaphore{coro.NewSemaphore(units)} }

// Acquire waits for n units. If ctx is canceled first, it returns a *CanceledError and has none.
// Asking for more than the semaphore has fails the task.
func (m Semaphore) Acquire(ctx Context, n int) error {
	s := ctx.scheduler()
	s.MustRun("acquire a semaphore")
	return m.s.Acquire(s, ctx.scope, n)
}

// TryAcquire takes n units if it need not wait, and reports whether it did.
func (m Semaphore) TryAcquire(ctx Context, n int) bool {
	ctx.scheduler().MustRun("acquire a semaphore")
	return m.s.TryAcquire(n)
}

// Release gives n units back. Giving back more than are taken fails the task.
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

// Done subtracts one from the number that the group waits for. A number below zero fails the task.
func (g *WaitGroup) Done(ctx Context) { g.Add(ctx, -1) }

// Wait waits until the number is zero. It returns a *CanceledError as soon as ctx is canceled,
// unless it is zero.
func (g *WaitGroup) Wait(ctx Context) error {
	s := ctx.scheduler()
	s.MustRun("wait for a wait group")
	return g.g.Wait(s, ctx.scope)
}

// Await waits until the condition is true. It returns a *CanceledError as soon as ctx is canceled,
// unless the condition is true. The condition is evaluated again whenever the workflow has done
// something. It may only read, and must not read the clock.
func Await(ctx Context, condition func() bool) error {
	s := ctx.scheduler()
	s.MustRun("wait for a condition")
	return s.Await(ctx.scope, condition)
}

// AwaitFor is Await with a time limit. ok is false if the time passed and the condition was still
// false.
func AwaitFor(ctx Context, d time.Duration, condition func() bool) (ok bool, err error) {
	s := ctx.scheduler()
	s.MustRun("wait for a condition")
	if s.Look(condition) {
		return true, nil
	}
	timer := startTimer(ctx, Now(ctx).Add(d))
	defer timer.Cancel(errNotNeeded)
	if err := s.Await(ctx.scope, func() bool { return timer.Future().Ready() || condition() }, timer.Future().Waiters()); err != nil {
		return false, err
	}
	if s.Look(condition) {
		return true, nil
	}
	_, err = timer.Future().Peek() // an error if the timer was canceled with ctx
	return false, err
}
