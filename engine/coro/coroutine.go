package coro

import (
	"errors"
	"runtime"
	"runtime/debug"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// ErrGoexit is in the chain of a Coroutine's Err if its code called runtime.Goexit.
var ErrGoexit = errors.New("workflow code called runtime.Goexit (testing's FailNow does)")

// unwinding is the value with which a waiting coroutine panics when it is closed.
type unwinding struct{}

// String returns what code sees that recovers it.
func (unwinding) String() string {
	return "weft: this workflow instance is being closed; do not recover this"
}

// Coroutine is a function that can be left while it waits and entered again later. It is not safe
// for concurrent use; the scheduler that owns it runs one at a time.
type Coroutine struct {
	name string
	age  uint64
	// parent is the coroutine that started it with Go, or nil for the first ones and for those of
	// GoFirst.
	parent *Coroutine
	// Owner is the owner of the coroutine and of those that it starts, or empty. It is set before
	// the coroutine first runs.
	Owner string
	// next resumes the function until it yields or ends, stop ends it; both come from Pull.
	next func() (struct{}, bool)
	stop func()
	// yield is set when the function starts.
	yield func(struct{}) bool

	round    uint32 // while it is in the scheduler's heap: the round of its turn
	blocked  bool   // it waits in Yield
	queued   bool   // it is in the scheduler's queue
	finished bool
	closing  bool  // stop was called: what it waits for will not happen
	unwound  bool  // it has panicked once because of that
	err      error // why it ended, nil for a plain return

	heaped int         // while it is in the scheduler's heap: its index there
	places []*place    // on the lists that it stays on until it leaves: see Enlist
	scope  *Scope      // while it waits: the scope whose cancellation wakes it
	at     int         // while it waits: its index among those that wait under the scope
	await  func() bool // while it waits for a condition
	listed bool        // on the scheduler's list of those that wait for a condition
	noted  *note       // what it waits for, and where; nil unless the scheduler traces
}

// New returns a coroutine that runs fn when it is first executed.
func New(name string, fn func()) *Coroutine {
	c := &Coroutine{name: name}
	c.next, c.stop = Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		c.main(fn)
	})
	return c
}

// main runs the function and records how it ended. It takes the stack here, while the frames that
// panicked are still on it.
func (c *Coroutine) main(fn func()) {
	returned := false
	defer func() {
		c.finished = true
		if returned {
			return
		}
		switch value := recover().(type) {
		case unwinding:
		case nil:
			if !c.closing {
				c.err = &failure.OtherError{Kind: failure.KindMisuse, Message: ErrGoexit.Error(), Stack: string(debug.Stack()), Cause: ErrGoexit}
			}
		default:
			c.err = panicError(value, debug.Stack())
		}
	}()
	c.call(fn)
	returned = true
}

// call is the frame by which Scheduler.Stuck finds this coroutine in a dump of all stacks: it keeps
// its receiver alive, so that the dump shows it.
//
//go:noinline
func (c *Coroutine) call(fn func()) {
	fn()
	runtime.KeepAlive(c)
}

// panicError returns the error for a panic. A failure of the engine's own (misuse, non-determinism)
// stays as it is and gets the stack; anything else is a panic.
func panicError(value any, stack []byte) error {
	if err, ok := value.(error); ok {
		var own *failure.OtherError
		if errors.As(err, &own) {
			own.Stack = string(stack)
			return own
		}
	}
	return failure.Panic(value, stack).Err()
}

// Execute runs the function until it waits or ends.
func (c *Coroutine) Execute() {
	if c.finished {
		return
	}
	c.blocked = false
	c.next()
}

// Yield leaves the function until it is executed again. Only the function itself may call it.
func (c *Coroutine) Yield() {
	if !c.closing {
		c.blocked = true
		if c.yield(struct{}{}) {
			return
		}
	}
	c.blocked = false
	if c.unwound {
		runtime.Goexit() // code recovered the panic below and waits again
	}
	c.unwound = true
	panic(unwinding{})
}

// Blocked reports whether the function waits in Yield.
func (c *Coroutine) Blocked() bool { return c.blocked }

// Finished reports whether the function has ended, for whatever reason.
func (c *Coroutine) Finished() bool { return c.finished }

// Err returns why the function ended: nil for a plain return and for one that was closed, otherwise
// its panic with its stack.
func (c *Coroutine) Err() error { return c.err }

// Close ends a coroutine that waits or has not started: its deferred functions run. If its code
// refuses to end, the goroutine that calls Close ends with it.
func (c *Coroutine) Close() {
	c.closing = true
	c.stop()
	c.finished, c.blocked = true, false
}
