package workflow

import "time"

// Go runs fn in a coroutine of its own. It begins when the coroutine that called Go waits or ends. Workflow code must
// not use the go statement.
func Go(ctx Context, fn func(Context)) {
	s := ctx.scheduler()
	s.MustRun("start a coroutine")
	s.Go("coroutine", func() { fn(ctx) })
}

// Sleep waits for at least this long, durably: the process may end meanwhile. It returns a *CanceledError as soon as the
// context is canceled. A duration that is not positive does not wait.
func Sleep(ctx Context, d time.Duration) error {
	_, err := NewTimer(ctx, d).Get(ctx)
	return err
}

// NewTimer starts a timer and returns the future that is ready when it has fired. The timer is canceled with the
// context.
func NewTimer(ctx Context, d time.Duration) Future[None] {
	ctx.scheduler().MustRun("start a timer")
	return timerFuture(startTimer(ctx, Now(ctx).Add(d)))
}
