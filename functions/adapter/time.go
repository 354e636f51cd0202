package adapter

import (
	"context"
	"time"
)

// Reserve is the end of an invocation's time, in which nothing goes on but the commit of what an attempt brought, and the
// answer. An invocation that has less than twice as much keeps half of what it has.
const Reserve = 5 * time.Second

// allowance is the time of an invocation; its zero value is without limit.
type allowance struct {
	// deadline is when Lambda ends the process.
	deadline time.Time
	// longest is how long an attempt may take that begins with the invocation.
	longest time.Duration
}

// begin returns the context of an invocation, which ends in time for the answer. A Lambda context has a deadline; one
// without it is left as it is.
func begin(ctx context.Context) (context.Context, allowance, context.CancelFunc) {
	deadline, limited := ctx.Deadline()
	if !limited {
		return ctx, allowance{}, func() {}
	}
	left := time.Until(deadline)
	a := allowance{deadline: deadline, longest: left - min(Reserve, left/2)}
	ctx, cancel := context.WithDeadline(ctx, deadline.Add(a.longest-left))
	return ctx, a, cancel
}
