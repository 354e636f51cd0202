package local

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

const (
	// requestsOf is the part of the connections, in quarters, on which requests may run at once.
	// The others are left for health checks, and for refusals of further requests.
	requestsOf = 3
	// budgetWait is how long a request waits for bytes of the budget before it is refused.
	budgetWait = 5 * time.Second
	// largestBody is the most that the body of a request can take; the API reads no more.
	largestBody = engine.MaxPayload + 6*httpapi.MaxBody
	// leastBodies is how many largest bodies the least budget holds.
	leastBodies = 4
	// unbudgeted is the size up to which a body or an answer needs no space in the budget:
	// connections bound those.
	unbudgeted = 4 << 10
	// mostSmall is the largest small body or answer. One part of the budget in smallShare is only
	// for those.
	mostSmall, smallShare = 64 << 10, 8
	// largeParts is the number of parts of the rest of the budget. Making a page of a history takes
	// one part: the server may read the whole run for it. One client holds at most clientParts of
	// them.
	largeParts, clientParts = 5, 4
)

// budget bounds the bytes of request bodies being read, and of answers being made or written, over
// all connections.
type budget struct {
	size         int64 // of both pools
	small, large *pool
	// requests are those that are carried out, most of which wait for a run.
	requests *semaphore.Weighted
}

// newBudget returns a budget of this many bytes for this many connections, with space for at least
// leastBodies largest bodies.
func newBudget(size int64, connections int) *budget {
	size = max(size, leastBodies*largestBody)
	large := size / smallShare * (smallShare - 1) / largeParts * largeParts
	return &budget{size, newPool(size - large), newPool(large), semaphore.NewWeighted(int64(connections) * requestsOf / 4)}
}

// reserve takes bytes of the budget for a client. It waits for them for at most budgetWait, and
// returns false if there are none by then. Small reservations do not wait behind large ones.
func (b *budget) reserve(ctx context.Context, client string, bytes int64) (held, bool) {
	p := b.large
	if bytes <= mostSmall {
		if p.tryAcquire(client, bytes) {
			return held{p, client, bytes}, true
		}
		p = b.small
	}
	bytes = min(bytes, p.most)
	limited, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	if !p.acquire(limited, client, bytes) {
		return held{}, false
	}
	return held{p, client, bytes}, true
}

// held are bytes that a request holds of the budget. The zero value holds none.
type held struct {
	pool   *pool
	client string
	bytes  int64
}

// release returns the bytes.
func (h held) release() {
	if h.bytes > 0 {
		h.pool.bytes.Release(h.bytes)
		h.pool.leave(h.client, h.bytes)
	}
}

// shrunk returns all but this many bytes to the budget. Its result is what is still held.
func (h held) shrunk(bytes int64) held {
	h.pool.bytes.Release(h.bytes - bytes)
	h.pool.giveBack(h.client, h.bytes-bytes)
	h.bytes = bytes
	return h
}

// pool is a part of the budget.
type pool struct {
	bytes *semaphore.Weighted
	most  int64 // of one client

	mu      sync.Mutex
	clients map[string]*share // of those that hold bytes or wait for some
}

// share is what one client may hold of a pool.
type share struct {
	bytes *semaphore.Weighted
	users int // requests that hold bytes or wait for some
}

func newPool(size int64) *pool {
	return &pool{bytes: semaphore.NewWeighted(size), most: size / largeParts * clientParts, clients: map[string]*share{}}
}

// use returns the share of a client for one more request.
func (p *pool) use(client string) *semaphore.Weighted {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.clients[client]
	if s == nil {
		s = &share{bytes: semaphore.NewWeighted(p.most)}
		p.clients[client] = s
	}
	s.users++
	return s.bytes
}

// giveBack returns bytes of a client's share. The request still uses the share.
func (p *pool) giveBack(client string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clients[client].bytes.Release(bytes)
}

// leave ends the use of a client's share by one request, and returns bytes of it.
func (p *pool) leave(client string, bytes int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.clients[client]
	s.bytes.Release(bytes)
	if s.users--; s.users == 0 {
		delete(p.clients, client)
	}
}

// tryAcquire takes bytes for a client if they are free, and nobody waits for them.
func (p *pool) tryAcquire(client string, bytes int64) bool {
	share := p.use(client)
	if !share.TryAcquire(bytes) {
		p.leave(client, 0)
		return false
	}
	if !p.bytes.TryAcquire(bytes) {
		p.leave(client, bytes)
		return false
	}
	return true
}

// acquire takes bytes for a client. It waits for them until ctx ends, and then returns false.
func (p *pool) acquire(ctx context.Context, client string, bytes int64) bool {
	share := p.use(client)
	if share.Acquire(ctx, bytes) != nil {
		p.leave(client, 0)
		return false
	}
	if p.bytes.Acquire(ctx, bytes) != nil {
		p.leave(client, bytes)
		return false
	}
	return true
}

// clientOf returns the client whose share a request counts for: its address. In IPv6 one client has
// many addresses.
func clientOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if address = address.Unmap().WithZone(""); address.Is6() {
		const network = 64 // bits: what one customer gets at least
		return netip.PrefixFrom(address, network).Masked().String()
	}
	return address.String()
}

// bounded returns h within the budget. A request beyond those that may run at once, or without
// space, gets 503 and a Retry-After, and has not begun.
func (b *budget) bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !b.requests.TryAcquire(1) {
			httpapi.WriteProblem(w, refusal.Busy.New(tooManyRequests))
			return
		}
		defer b.requests.Release(1)
		a := &boundedAnswer{
			ResponseWriter: w, budget: b, ctx: r.Context(), client: clientOf(r), control: http.NewResponseController(w),
			changes: httpapi.Changes(r),
		}
		defer a.end()
		if t := httpapi.Find(r); t != nil && t.ReadsRun {
			reserve := func() bool { return a.reserve(b.large.most / clientParts) }
			if httpapi.Waits(r) { // it holds nothing until it has something to answer
				r = r.WithContext(httpapi.WithRoom(r.Context(), reserve))
			} else if !reserve() {
				httpapi.WriteProblem(w, refusal.Busy.New(noRoom))
				return
			}
		}
		if r.Body != nil && r.ContentLength != 0 {
			r.Body = newBoundedBody(r, a)
		}
		h.ServeHTTP(a, r)
	})
}

// boundedAnswer counts a request. While its reader takes a large answer, the bytes of the answer
// are held, instead of those of the request.
type boundedAnswer struct {
	http.ResponseWriter
	budget  *budget
	ctx     context.Context
	client  string
	control *http.ResponseController
	// changes says that the request may change something, and refused that the answer was replaced
	// by a refusal.
	changes, refused bool

	mu       sync.Mutex // the body may be read beside the answer, and after the end of the request
	held     held
	answered bool
	ended    bool           // and its connection may serve another request
	problem  *refusal.Error // why the body could not be read; nil if it could
}

// reserve takes bytes of the budget for the request. It returns false if there is no space, or no
// need because the request was answered.
func (a *boundedAnswer) reserve(bytes int64) bool {
	held, ok := a.budget.reserve(a.ctx, a.client, bytes)
	if !ok {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answered {
		held.release()
		return false
	}
	a.held.release()
	a.held = held
	return true
}

// fail replaces the answer by a problem of the body.
func (a *boundedAnswer) fail(p *refusal.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problem = p
}

// answer returns what the request held before its answer, and the problem of its body. Nothing is
// reserved for its body from then on.
func (a *boundedAnswer) answer() (held, *refusal.Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answered = true
	before := a.held
	a.held = held{}
	return before, a.problem
}

// setReadDeadline sets the deadline of reads of the body, and reports whether it did: some
// connections have none, and after the end of this request the connection may serve another.
func (a *boundedAnswer) setReadDeadline(t time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.ended && a.control.SetReadDeadline(t) == nil
}

// end returns what the request holds.
func (a *boundedAnswer) end() {
	before, _ := a.answer()
	before.release()
	a.mu.Lock()
	a.ended = true
	a.mu.Unlock()
}

// WriteHeader reserves the bytes of the answer, as its Content-Length says. If there is no space
// for a large one within budgetWait, the caller gets 503 instead. A request that only reads has
// done nothing. Any other may have been carried out, so the caller repeats it with the same id. If
// the body could not be read, the request has not begun, and the caller gets the reason.
func (a *boundedAnswer) WriteHeader(status int) {
	if status < http.StatusOK { // the answer is still to come
		a.ResponseWriter.WriteHeader(status)
		return
	}
	before, problem := a.answer()
	size, err := strconv.ParseInt(a.Header().Get("Content-Length"), 10, 64)
	switch {
	case problem != nil || err == nil && size <= unbudgeted:
		before.release()
	case err != nil: // the length of the answer is unknown
		a.held = before
	case size <= before.bytes:
		a.held = before.shrunk(size)
	default:
		before.release()
		var ok bool
		if a.held, ok = a.budget.reserve(a.ctx, a.client, size); !ok {
			problem = refusal.Busy.New(noRoom)
			if a.changes {
				problem = refusal.OutcomeUnknown.New("%s; the operation may have been done", noRoom)
			}
		}
	}
	if a.refused = problem != nil; a.refused {
		httpapi.WriteProblem(a.ResponseWriter, problem)
		return
	}
	if err == nil && size > mostSmall {
		_ = a.control.SetWriteDeadline(time.Now().Add(writeTime(size))) // of this answer; a caller in this process has none
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
