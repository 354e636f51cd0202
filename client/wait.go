package client

import (
	"context"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/seed-41655fb1/weft/internal/schema"
)

const (
	// pollPause is the pause between two requests of a call that waits, if the server does not ask
	// for a longer one: a stopping server answers at once.
	pollPause = 50 * time.Millisecond
	// longestPause is the longest pause between two requests, if Options.LongestPause is 0.
	longestPause = 5 * time.Minute
	// longestBackoff is the longest pause after a request that was refused for lack of capacity.
	longestBackoff = time.Minute
	// leastLook is how long before the end of its context a call looks for the last time, at least.
	leastLook = time.Millisecond
)

// waitedHeader is the header that says how long a call has waited.
const waitedHeader = "Weft-Waited"

// longPoll makes a request wait for an event: for as long as the server does, or for what the
// caller has left.
func longPoll(q url.Values) (bound func(limit time.Duration)) {
	bound = func(limit time.Duration) { q.Set("wait", limit.String()) }
	bound(longest)
	return bound
}

// waiter is a call that waits for news, with one request after the other.
type waiter struct {
	client *Client
	bound  func(limit time.Duration)
	// began is when the call began to wait, and paused how long it has paused since, on a clock
	// that may not be the machine's.
	began  time.Time
	paused time.Duration
}

// waiter returns a call that begins to wait, whose requests have this query.
func (c *Client) waiter(q url.Values) *waiter {
	return &waiter{client: c, bound: longPoll(q), began: time.Now()}
}

// waited returns how long the call has waited.
func (w *waiter) waited() time.Duration {
	return max(time.Since(w.began), w.paused).Truncate(time.Millisecond)
}

// pause pauses after an answer without news, for as long as the answer says: a tenth or a second
// more or less, so that callers who began together do not ask together. Before the end of the
// context there is time for one more request.
func (w *waiter) pause(ctx context.Context, retryAfter schema.Duration) error {
	d := pollPause
	if retryAfter > 0 {
		d = w.pauseFor(ctx, time.Duration(retryAfter))
	}
	err := w.client.pause(ctx, d)
	w.paused += d
	return err
}

// pauseFor returns how long to pause for a server that asks for this long.
func (w *waiter) pauseFor(ctx context.Context, asked time.Duration) time.Duration {
	d := min(asked, w.client.longestPause)
	most := min(d/10, time.Second)
	d += time.Duration((2*rand.Float64() - 1) * float64(most))
	d = max(min(d, w.client.longestPause), pollPause)
	if deadline, bounded := ctx.Deadline(); bounded {
		left := time.Until(deadline)
		if last := left - min(left/10, 500*time.Millisecond); left < d && last > leastLook {
			return last
		}
	}
	return d
}

// refusedBackoff returns the pause of a call that waits after this many refusals for lack of
// capacity, doubled up to a minute. Up to half of it is taken off at random.
func refusedBackoff(refusals int, least time.Duration) time.Duration {
	d := min(25*time.Millisecond<<min(refusals, 12), longestBackoff)
	return max(d-rand.N(d/2), least)
}
