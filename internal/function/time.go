package function

import (
	"context"
	"time"
)

// Reserve is the end of an invocation's time, in which nothing goes on but the commit of what an
// attempt brought, and the answer. An invocation that has less than twice as much keeps half of
// what it has.
const Reserve = 5 * time.Second

// allowance is the time of an invocation; its zero value is without limit.
type allowance struct {
	// deadline is when Lambda ends the process.
	deadline time.Time
	// longest is how long an attempt may take that begins with the invocation, if nothing holds it
	// up.
	longest time.Duration
}

// begin returns the context of an invocation, which ends in time for the answer. A Lambda context
// has a deadline; one without it is left as it is. timeout is the function's, where that is known:
// a process that was held up before it came here would otherwise take what is left for all that
// there is.
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
