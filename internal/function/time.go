package function

import (
	"context"
	"time"
)

// Reserve is the end of an invocation's time, which is kept for committing the result of an
// attempt, and for the answer. An invocation that has less than twice as much keeps half of what it
// has.
const Reserve = 5 * time.Second

// allowance is the time of an invocation; its zero value is without limit.
type allowance struct {
	// deadline is when Lambda ends the process.
	deadline time.Time
	// longest is how long an attempt may take that begins with the invocation, without delay.
	longest time.Duration
}

// begin returns the context of an invocation, which ends in time for the answer. A context without
// a deadline stays as it is. timeout is the function's, if it is known. Without it, the allowance
// of a process that was delayed before this call is only the time that is left.
func begin(ctx context.Context, timeout time.Duration) (context.Context, allowance, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return ctx, allowance{}, func() {}
	}
	left := time.Until(deadline)
	most := left - min(Reserve, left/2)
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(most-left))
	return ctx, allowance{deadline: deadline, longest: max(most, timeout-Reserve)}, cancel
}
