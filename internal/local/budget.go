package local

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/httpapi"
)

const (
	// requestsOf is the part of the connections on which requests are carried out at once, in quarters: the others are left for health,
	// and for the refusals of the rest.
	requestsOf = 3
	// budgetWait is how long a request waits for bytes of the budget before it is refused.
	budgetWait = 5 * time.Second
	// largestBody is the most that the body of a request can take; the API reads no more.
	largestBody = engine.MaxPayload + 6*httpapi.MaxBody
	// smallAnswer is the most bytes of an answer that is written without room in the budget: connections bound those.
	smallAnswer = 4 << 10
	// historyShare is the part of the budget that the making of a page of a history takes: the server may read the whole run for it.
	historyShare = 4
)

// budget bounds the bytes of the request bodies that are being read and of the answers that are made or written, over all connections.
type budget struct {
	bytes *semaphore.Weighted
	size  int64
	// requests are those that are carried out, most of which wait for a run.
	requests *semaphore.Weighted
}

// newBudget returns a budget of this many bytes, but at least one largest body for each historyShare, on so many connections.
func newBudget(size int64, connections int) *budget {
	size = max(size, historyShare*largestBody)
	return &budget{semaphore.NewWeighted(size), size, semaphore.NewWeighted(int64(connections) * requestsOf / 4)}
}

// reserve takes bytes of the budget. It waits for them for budgetWait at most, and reports false if there are none by then.
func (b *budget) reserve(ctx context.Context, bytes int64) bool {
	if b.bytes.TryAcquire(bytes) {
		return true
	}
	limited, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	return b.bytes.Acquire(limited, bytes) == nil
}

// bounded returns h as the budget allows: a request beyond those that are carried out at once, or for which there is no room, gets 503 and a Retry-After, and has not begun.
func (b *budget) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.requests.TryAcquire(1) {
			httpapi.WriteProblem(w, api.Busy.New(tooManyRequests))
			return
		}
		defer b.requests.Release(1)
		held := b.before(r)
		if !b.reserve(r.Context(), held) {
			httpapi.WriteProblem(w, api.Busy.New(noRoom))
			return
		}
		answer := &boundedAnswer{ResponseWriter: w, budget: b, ctx: r.Context(), held: held, reads: r.Method == http.MethodGet || r.Method == http.MethodHead}
		defer func() { b.bytes.Release(answer.held) }()
		h.ServeHTTP(answer, r)
	})
}

// before returns how many bytes a request takes before it is answered: its body, or the largest one if it does not say its length; for a
// page of a history a share of the budget.
func (b *budget) before(r *http.Request) int64 {
	switch {
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/history"):
		return b.size / historyShare
	case r.ContentLength < 0:
		return largestBody
	}
	return min(r.ContentLength, largestBody)
}

// boundedAnswer counts an answer: while the reader takes an answer, its bytes are held instead of what the request took before.
type boundedAnswer struct {
	http.ResponseWriter
	budget *budget
	ctx    context.Context
	held   int64
	// reads says that the request changes nothing, and refused that the answer was replaced by a refusal.
	reads, refused bool
}

// WriteHeader holds the bytes of the answer, as its Content-Length says. If there is no room for a large one within budgetWait, the caller
// gets 503 instead: a request that only reads has done nothing, and any other may be done, so it is sent again with the same id.
func (a *boundedAnswer) WriteHeader(status int) {
	size, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
	size = min(size, a.budget.size)
	if err == nil && size <= a.held {
		a.budget.bytes.Release(a.held - size)
		a.held = size
	} else if err == nil && size > smallAnswer {
		a.budget.bytes.Release(a.held)
		a.held = 0
		if a.refused = !a.budget.reserve(a.ctx, size); a.refused {
			problem := api.Busy.New(noRoom)
			if !a.reads {
				problem = api.OutcomeUnknown.New("%s; the operation may have been done", noRoom)
			}
			httpapi.WriteProblem(a.ResponseWriter, problem)
			return
		}
		a.held = size
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write writes p, or nothing if the answer was refused.
func (a *boundedAnswer) Write(p []byte) (int, error) {
	if a.refused {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap returns the writer for http.ResponseController.
func (a *boundedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

const tooManyRequests = "the server carries out as many requests as it can hold, and those that wait for a run count: send the request again, or start the server with a larger --memory-limit"

const noRoom = "the server's memory for requests and answers is in use: send the request again, or start the server with a larger --memory-limit"
