package host

import (
	"context"
	"crypto/rand"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// Forever is longer than anything waits.
const Forever = 24 * time.Hour

const (
	// ClockSkew is how far the clocks of two machines may differ. A run is treated as gone that
	// long before its expiry.
	ClockSkew = 10 * time.Second
	// ClockGap is how far the clocks of two processes may differ when a parent looks for a child
	// that it has already started. A run that began more than ClockGap before the parent asked for
	// the child is not that child, and neither are the runs before it.
	ClockGap = time.Hour
)

// Expired reports whether a moment has passed on the clock that is ahead the most. 0 never passes.
func Expired(h Host, expires history.Timestamp) bool {
	return expires != 0 && history.At(h.Now()).Add(ClockSkew) > expires
}

// Host is the clock, the randomness and the goroutines that the executor uses. A test moves the
// clock, seeds the randomness, and replays both.
type Host interface {
	// Now returns the time.
	Now() time.Time
	// Wait returns nil when wake is closed or d has passed, and the error of ctx when ctx has
	// ended. A nil wake is never closed.
	Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error
	// WithTimeout is context.WithTimeout on this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
	// ID returns random bytes.
	ID() [16]byte
	// Guard runs user code: it calls fn on another goroutine and waits for it, for limit at most.
	// It returns false if fn has not ended by then. fn still runs in that case, and nobody waits
	// for it any more.
	Guard(limit time.Duration, fn func()) bool
	// Within is Guard for the executor's own code, which a simulation schedules like any other
	// goroutine.
	Within(limit time.Duration, fn func()) bool
	// Together calls all functions, concurrently if the host can, and returns when all have
	// returned.
	Together(fns ...func())
}

// Machine is the Host of a server: the machine's clock and its random numbers. The zero value
// works. It makes a new timer and a new goroutine for each guard.
type Machine struct {
	timers *sync.Pool
	guards chan *guard
}

// NewMachine returns a Machine that reuses its timers and goroutines. Close ends the goroutines.
// Within testing/synctest, a Machine belongs to the bubble that it was created in.
func NewMachine() Machine { return Machine{&sync.Pool{}, make(chan *guard, idleGuards)} }

// Close ends the idle goroutines. The Machine stays usable, and starts new ones when it needs them.
func (m Machine) Close() {
	for {
		select {
		case g := <-m.guards:
			close(g.work)
		default:
			return
		}
	}
}

// timer returns a timer that fires after d. The caller gives it back with release.
func (m Machine) timer(d time.Duration) *time.Timer {
	if m.timers != nil {
		if t, ok := m.timers.Get().(*time.Timer); ok {
			t.Reset(d)
			return t
		}
	}
	return time.NewTimer(d)
}

// release stops a timer and keeps it for reuse.
func (m Machine) release(t *time.Timer) {
	t.Stop() // its channel stays empty from here on
	if m.timers != nil {
		m.timers.Put(t)
	}
}

// Now returns the machine's time.
func (Machine) Now() time.Time { return time.Now() }

// Wait waits on the machine's clock. It starts no timer for a wait that is already over, because
// such a timer crashes the race detector in a synctest bubble (docs/decisions/0032).
func (m Machine) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := m.timer(d)
	defer m.release(timer)
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
func (Machine) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// ID returns random bytes.
func (Machine) ID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // crypto/rand.Read never fails
	return id
}

// idleGuards is the largest number of idle guard goroutines. Each keeps a stack that has grown to
// the size that workflow code needs.
const idleGuards = 64

// guard is a goroutine that calls functions for callers with a time limit.
type guard struct {
	work chan func()
	done chan any // receives true, false after runtime.Goexit, or a Panic
}

// serve calls functions until work is closed, or a function panics or calls runtime.Goexit.
func (g *guard) serve() {
	returned := false // the last function has
	defer func() {
		if value := recover(); value != nil {
			g.done <- Panic{value, debug.Stack()}
		} else if !returned {
			g.done <- false
		}
	}()
	for {
		returned = true
		fn, ok := <-g.work
		if !ok {
			return
		}
		returned = false
		fn()
		g.done <- true
	}
}

// guard returns an idle goroutine, or starts one.
func (m Machine) guard() *guard {
	select {
	case g := <-m.guards:
		return g
	default:
		g := &guard{work: make(chan func(), 1), done: make(chan any, 1)}
		go g.serve()
		return g
	}
}

// Within implements Host. It panics with a Panic if fn panics. A call of runtime.Goexit counts as
// an end.
func (m Machine) Within(limit time.Duration, fn func()) bool {
	g := m.guard()
	g.work <- fn
	timer := m.timer(limit)
	defer m.release(timer)
	select {
	case value := <-g.done:
		m.keep(g, value)
		if e, ok := value.(Panic); ok {
			panic(e)
		}
		return true
	case <-timer.C:
		close(g.work) // it ends when fn does
		return false
	}
}

// keep keeps a goroutine for reuse, unless it has ended or enough are idle.
func (m Machine) keep(g *guard, value any) {
	if value != true {
		return
	}
	select {
	case m.guards <- g:
	default:
		close(g.work)
	}
}

// Guard implements Host.
func (m Machine) Guard(limit time.Duration, fn func()) bool { return m.Within(limit, fn) }

// Together implements Host. It calls each function on a goroutine of its own, and panics with a
// Panic if one of them panics.
func (Machine) Together(fns ...func()) {
	if len(fns) == 1 {
		fns[0]()
		return
	}
	var group sync.WaitGroup
	panics := make(chan Panic, len(fns))
	for _, fn := range fns {
		group.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					panics <- Panic{value, debug.Stack()}
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

// Panic is a panic on a goroutine of Guard or Together, which panics with it in its caller. It is a
// defect of Weft: panics of user code end in the engine's coroutine.
type Panic struct {
	Value any
	Stack []byte
}

// LogValue returns what may be logged. It leaves the value out unless it is an error of the Go
// runtime, because it may hold a payload.
func (p Panic) LogValue() slog.Value {
	return slog.StringValue(observe.Panic(p.Value) + "\n" + string(p.Stack))
}

// Backoff returns the wait before the next try: 2 ms, doubled for each try up to half a second,
// minus a random part of up to a half.
func Backoff(h Host, try int) time.Duration {
	return Jitter(h, min(2*time.Millisecond<<min(try, 10), 500*time.Millisecond))
}

// Jitter returns a random duration between d/2 and d.
func Jitter(h Host, d time.Duration) time.Duration {
	return d/2 + d/2*time.Duration(h.ID()[0])/256
}
