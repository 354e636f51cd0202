package workflow

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/payload"
)

// Future is a value that arrives later: the result of an activity or a child, the firing of a
// timer, or what code sets itself.
type Future[T any] struct{ pending pending[T] }

// pending is the source of a Future's value.
type pending[T any] interface {
	ready() bool
	peek() (T, error)
	waiters() *coro.List
	// waits reports whether Get waits under a canceled context, too.
	waits() bool
}

// Get waits until the value has arrived, and returns it. It returns a *CanceledError as soon as ctx
// is canceled, unless the value has arrived, or is that of an activity or a child which was started
// with WaitCancellation.
func (f Future[T]) Get(ctx Context) (T, error) {
	s := ctx.scheduler()
	s.MustRun("wait for a future")
	if f.pending.waits() {
		ctx = Disconnected(ctx)
	}
	for !f.pending.ready() {
		if err := ctx.Err(); err != nil {
			var zero T
			return zero, err
		}
		s.Park(ctx.scope, nil, s.Known(coro.OnFuture, f.pending.waiters()))
	}
	return f.pending.peek()
}

// Ready reports whether the value has arrived, so that Get would not wait.
func (f Future[T]) Ready() bool { return f.pending.ready() }

// NewFuture returns a future and the function that sets its value or error. Only the first call of
// the function counts.
func NewFuture[T any](ctx Context) (Future[T], func(T, error)) {
	s := ctx.scheduler()
	set := &own[T]{}
	return Future[T]{set}, func(v T, err error) {
		s.Guard("set a future")
		set.Set(s, v, err)
	}
}

// own is a future that workflow code sets.
type own[T any] struct{ coro.Future[T] }

func (f *own[T]) ready() bool         { return f.Ready() }
func (f *own[T]) peek() (T, error)    { return f.Peek() }
func (f *own[T]) waiters() *coro.List { return f.Waiters() }
func (f *own[T]) waits() bool         { return false }

// result is the future of the result of an activity or a child. It decodes the result at the first
// Get.
type result[T any] struct {
	*coro.Future[history.Payload]
	kind    string
	name    string
	by      Converter
	wait    bool // after a cancellation, Get still waits for the end
	decoded bool
	value   T
	err     error
	self    Future[T] // of an activity: the future that refers to it
}

func (f *result[T]) ready() bool         { return f.Ready() }
func (f *result[T]) waiters() *coro.List { return f.Waiters() }
func (f *result[T]) waits() bool         { return f.wait }

func (f *result[T]) peek() (T, error) {
	if f.decoded || !f.Ready() {
		return f.value, f.err
	}
	f.decoded = true
	var p history.Payload
	if p, f.err = f.Peek(); f.err != nil {
		return f.value, f.err
	}
	value, err := payload.DecodeOrZeroBy[T](f.by, p)
	if err != nil {
		// The types have changed since it ran: the task fails, and the run continues when the code
		// is fixed.
		panic(fmt.Errorf("the result of %s %s does not decode: %w", f.kind, f.name, err))
	}
	f.value = value
	return f.value, nil
}

func init() { bridge.Connect(bridge.Starter{Activity: startActivity, Local: startLocal}) }

// resulting is a *Future of any type.
type resulting interface {
	ofResult(f *coro.Future[history.Payload], kind, name string, by Converter, wait bool) (future any)
}

// ofResult returns a pointer to the future of the result of an activity. The future is part of the
// result, because a second allocation would cost in a replay.
func (*Future[T]) ofResult(raw *coro.Future[history.Payload], kind, name string, by Converter, wait bool) any {
	r := &result[T]{Future: raw, kind: kind, name: name, by: by, wait: wait}
	r.self.pending = r
	return &r.self
}

// startActivity implements bridge.StartActivity.
func startActivity(of any, call engine.ActivityCall, typ any) any {
	start := of.(bridge.Start[Context])
	ctx := start.Context()
	call.Header = ctx.starting(call.ActivityType, false)
	raw := ctx.instance().StartActivity(ctx.scope, call, start.Encode)
	return typ.(resulting).ofResult(raw, "activity", call.ActivityType, start.Converter(), call.WaitCancellation)
}

// startLocal implements bridge.StartLocalActivity.
func startLocal(of any, call engine.LocalCall, by Converter, typ any) any {
	ctx := of.(Context)
	call.Header = ctx.starting(call.ActivityType, false)
	raw := ctx.instance().StartLocalActivity(ctx.scope, call)
	return typ.(resulting).ofResult(raw, "local activity", call.ActivityType, by, false)
}

// fired is the future of a timer.
type fired struct{ timer *engine.Timer }

func timerFuture(t *engine.Timer) Future[None] { return Future[None]{fired{t}} }

func (f fired) ready() bool         { return f.timer.Future().Ready() }
func (f fired) waiters() *coro.List { return f.timer.Future().Waiters() }
func (f fired) waits() bool         { return false }
func (f fired) peek() (None, error) {
	_, err := f.timer.Future().Peek()
	return None{}, err
}
