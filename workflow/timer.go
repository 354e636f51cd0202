package workflow

import "time"

// Go runs fn in a coroutine of its own. The coroutine begins when the one that called Go waits or
// ends. Workflow code must not use the go statement.
func Go(ctx Context, fn func(Context)) {
	s := ctx.scheduler()
	s.MustRun("start a coroutine")
	s.Go("coroutine", func() { fn(ctx) })
}

// Sleep waits for at least this duration, durably: the process may end meanwhile. It returns a
// *CanceledError as soon as the context is canceled. It does not wait if the duration is not
// positive.
func Sleep(ctx Context, d time.Duration) error {
	_, err := NewTimer(ctx, d).Get(ctx)
	return err
}

// NewTimer starts a timer and returns a future that is ready when the timer has fired. The timer is
// canceled with the context.
func NewTimer(ctx Context, d time.Duration) Future[None] {
	ctx.scheduler().MustRun("start a timer")
	return timerFuture(startTimer(ctx, Now(ctx).Add(d)))
}
