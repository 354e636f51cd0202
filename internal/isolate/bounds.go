package isolate

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// budget bounds the bytes in flight between the parent and its children: this many in the
	// children's calls, and as many in the work that they are given. The halves are separate
	// because the work of a child waits for its calls.
	budget int64 = 128 << 20
	// least is the least that a call counts, so that the number of calls is bounded too.
	least int64 = 64 << 10
	// mostWaiting is how many requests may wait for a child at once, and waitFor how long each
	// waits.
	mostWaiting = 1000
	waitFor     = 10 * time.Second
	// shortFor is how long a request that is marked with headerShort may wait for something that
	// has not happened yet.
	shortFor = 5 * time.Second
	// longWait is from when on a wait for a child counts as long. Such a request waits no longer
	// than shortFor in the child, so that all waits end within 25 s.
	longWait = 5 * time.Second
	// aloneAtMost is how long the parent waits for the answer of a suspect's request.
	aloneAtMost = 30 * time.Second
)

// headerShort marks a request that a child carries out alone, because what it waits for may itself
// need the solo child, or that has waited long for the child. The parent removes the header from
// requests of callers.
const headerShort = "Weft-Short"

// shortly ends the wait of requests that are marked with headerShort after shortFor. The service
// then answers with what it has: an update is accepted, and has no result yet.
func shortly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(headerShort) != "" {
			limited, cancel := context.WithTimeout(r.Context(), shortFor)
			defer cancel()
			r = r.WithContext(limited)
		}
		h.ServeHTTP(w, r)
	})
}

// withinBudget serves calls whose bodies and answers fit into a budget of this many bytes. A call
// waits until they fit. A call that is larger than the budget uses all of it.
func withinBudget(total int64, h http.Handler) http.Handler {
	all := semaphore.NewWeighted(total)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &counted{ResponseWriter: w, ctx: r.Context(), all: all, total: total}
		size := r.ContentLength
		if size < 0 {
			size = total
		}
		if c.hold(size) != nil {
			return // the caller has gone
		}
		defer c.release()
		h.ServeHTTP(c, r)
	})
}

// counted is the ResponseWriter of a call. A handler writes its answer at once, when it no longer
// needs the call's body.
type counted struct {
	http.ResponseWriter
	ctx         context.Context
	all         *semaphore.Weighted
	total, held int64
}

func (c *counted) hold(size int64) error {
	size = min(max(size, least), c.total)
	if err := c.all.Acquire(c.ctx, size); err != nil {
		return err
	}
	c.held = size
	return nil
}

func (c *counted) release() {
	c.all.Release(c.held)
	c.held = 0
}

// Write exchanges the call's share of the budget for the answer's, and writes the answer. A call
// never holds a share while it waits for another one.
func (c *counted) Write(answer []byte) (int, error) {
	c.release()
	if err := c.hold(int64(len(answer))); err != nil {
		return 0, err
	}
	return c.ResponseWriter.Write(answer)
}
