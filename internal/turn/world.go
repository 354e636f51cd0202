package turn

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// World is the clock, the chance and the patience that the protocol takes from outside, so that a test can move the one,
// seed the other and replay both.
type World interface {
	// Now is the time.
	Now() time.Time
	// Wait returns when wake is closed or d has passed (nil), or when ctx has ended (its error). A nil wake is never
	// closed.
	Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// ID returns random bytes.
	ID() [16]byte
	// Guard calls fn on a goroutine of its own and waits for it to end, but not for longer than limit. It reports
	// whether fn has ended; if not, fn still runs, and nobody will wait for it any more.
	Guard(limit time.Duration, fn func()) bool
	// Within calls fn at the same time, and waits for it to end, but not for longer than limit. It reports whether fn has ended; if not,
	// fn goes on by itself.
	Within(limit time.Duration, fn func()) bool
	// Together calls all functions, perhaps at the same time, and returns when all have returned.
	Together(fns ...func())
}

// RealWorld is the World of a server: the clock of the machine and random numbers from its source. The zero value works, and makes a
// timer and a goroutine for each guard.
type RealWorld struct {
	timers *sync.Pool
	guards chan *guard
}

// NewRealWorld returns a RealWorld that uses its timers and goroutines again. It belongs to one bubble of testing/synctest, if to any.
// End ends the goroutines.
func NewRealWorld() RealWorld { return RealWorld{&sync.Pool{}, make(chan *guard, idleGuards)} }

// End ends the goroutines that wait for a guard. Those that are needed later are made.
func (w RealWorld) End() {
	for {
		select {
		case g := <-w.guards:
			close(g.work)
		default:
			return
		}
	}
}

// timer returns a timer that is due after d. Give it to release.
func (w RealWorld) timer(d time.Duration) *time.Timer {
	if w.timers != nil {
		if t, ok := w.timers.Get().(*time.Timer); ok {
			t.Reset(d)
			return t
		}
	}
	return time.NewTimer(d)
}

// release stops a timer, for the next that asks for one.
func (w RealWorld) release(t *time.Timer) {
	t.Stop() // nothing is in its channel from here on
	if w.timers != nil {
		w.timers.Put(t)
	}
}

// Now is the machine's time.
func (RealWorld) Now() time.Time { return time.Now() }

// Wait waits by the machine's clock. It makes no timer that is due at once: one crashes the race detector in a synctest bubble
// (docs/decisions/0032).
func (w RealWorld) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := w.timer(d)
	defer w.release(timer)
	select {
	case <-wake:
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithTimeout is context.WithTimeout.
func (RealWorld) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// ID returns random bytes.
func (RealWorld) ID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	return id
}

// idleGuards is how many goroutines wait for the next guard, at most. Each keeps its stack, which has grown to what workflow code needs.
const idleGuards = 64

// guard is a goroutine that calls functions for somebody who does not wait for ever.
type guard struct {
	work chan func()
	done chan any // nil, or what a function panicked with
}

// serve calls functions until one of them ends the goroutine, or there are no more.
func (g *guard) serve() {
	for fn := range g.work {
		if !g.call(fn) {
			return
		}
	}
}

// call calls a function. It returns false after a panic, and does not return if fn calls runtime.Goexit.
func (g *guard) call(fn func()) (again bool) {
	defer func() {
		if value := recover(); value != nil {
			g.done <- escaped{value, debug.Stack()}
		} else {
			g.done <- again
		}
	}()
	fn()
	return true
}

// guard returns a goroutine that waits for a function.
func (w RealWorld) guard() *guard {
	select {
	case g := <-w.guards:
		return g
	default:
		g := &guard{work: make(chan func(), 1), done: make(chan any, 1)}
		go g.serve()
		return g
	}
}

// Guard calls fn on another goroutine. Where fn panics, or calls runtime.Goexit, it has ended.
func (w RealWorld) Guard(limit time.Duration, fn func()) bool {
	g := w.guard()
	g.work <- fn
	timer := w.timer(limit)
	defer w.release(timer)
	select {
	case value := <-g.done:
		w.keep(g, value)
		if e, ok := value.(escaped); ok {
			panic(e)
		}
		return true
	case <-timer.C:
		close(g.work) // it ends when fn does
		return false
	}
}

// keep keeps a goroutine for the next guard, if it has not ended and there is room.
func (w RealWorld) keep(g *guard, value any) {
	if value != true {
		return
	}
	select {
	case w.guards <- g:
	default:
		close(g.work)
	}
}

// Within is Guard.
func (w RealWorld) Within(limit time.Duration, fn func()) bool { return w.Guard(limit, fn) }

// Together calls each function on a goroutine of its own. A panic in one of them goes on in the caller.
func (RealWorld) Together(fns ...func()) {
	if len(fns) == 1 {
		fns[0]()
		return
	}
	var group sync.WaitGroup
	panics := make(chan escaped, len(fns))
	for _, fn := range fns {
		group.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panics <- escaped{value, debug.Stack()}
				}
			}()
			fn()
		})
	}
	group.Wait()
	select {
	case e := <-panics:
		panic(e)
	default:
	}
}

// escaped is a panic that passed from the goroutine of a Guard or of Together to its caller: a defect of the engine, because panics of
// user code end in its coroutine.
type escaped struct {
	value any
	stack []byte
}

// LogValue is what may be logged of it: the value may hold what users gave.
func (e escaped) LogValue() slog.Value {
	return slog.StringValue(observe.Panic(e.value) + "\n" + string(e.stack))
}

// jitter returns a random duration between d/2 and d.
func jitter(w World, d time.Duration) time.Duration {
	return d/2 + d/2*time.Duration(w.ID()[0])/256
}
