package client

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/options"
	"github.com/seed-41655fb1/weft/internal/problem"
)

// Client sends requests to one deployment of Weft. It is safe for concurrent use.
type Client struct {
	base   string
	http   *http.Client
	pause  func(ctx context.Context, d time.Duration) error
	header http.Header
	newID  func() string
	around []Interceptor

	longestPause time.Duration
}

// Options tunes a Client. The zero value is the default.
type Options struct {
	// HTTP sends the requests. nil is a client without a time-out of its own: the context of each
	// call bounds it. It keeps as many connections open as callers have used at once
	// (http.DefaultTransport keeps two).
	HTTP *http.Client
	// Header is added to every request.
	Header http.Header
	// Token is sent as a bearer token with every request, and replaces an Authorization of Header;
	// empty sends none. The local server keeps the token that it demands in the file token of its
	// data directory.
	Token string
	// NewID returns the ids of requests and updates that have none; nil returns random ones. It is
	// for tests that want the same ids each time: two requests with one id are one request.
	NewID func() string
	// LongestPause is the longest pause between two requests of a call that waits, such as Result;
	// 0 is five minutes. A server asks for such a pause if the run waits for a timer: a shorter one
	// learns earlier of a cancellation, and costs more requests.
	LongestPause time.Duration
	// Interceptors wrap each call, the first outermost.
	Interceptors []Interceptor
}

// shared sends the requests of all clients that have no HTTP of their own, so that they share
// connections.
var shared = &http.Client{Transport: manyConnections()}

// idleConnections is how many unused connections are kept to one deployment: more than callers of
// one process use at once. Each costs a socket and about 20 KB, and is closed after 90 s
// without use.
const idleConnections = 1024

// manyConnections returns the default transport, except that it keeps more idle connections.
func manyConnections() http.RoundTripper {
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // the program has replaced it
	}
	transport = transport.Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = idleConnections, idleConnections
	return transport
}

// New returns a client of the deployment at this address, for example "http://127.0.0.1:8080". It
// does not connect. Several sets of options are merged: lists are joined, and headers of different
// names. Of a header that two sets have, and of any other field, the last that is given counts.
func New(address string, sets ...Options) *Client {
	o := options.Of(sets)
	c := &Client{base: strings.TrimSuffix(address, "/"), http: shared, pause: sleep, newID: uuid.NewString, header: o.Header, around: o.Interceptors, longestPause: cmp.Or(o.LongestPause, longestPause)}
	if o.HTTP != nil {
		c.http = o.HTTP
		if t, ok := o.HTTP.Transport.(bridge.Transport); ok {
			c.pause = t.Pause
		}
	}
	if o.NewID != nil {
		c.newID = o.NewID
	}
	if o.Token != "" {
		if c.header = c.header.Clone(); c.header == nil {
			c.header = http.Header{}
		}
		c.header.Set("Authorization", "Bearer "+o.Token)
	}
	return c
}

// ForHandler returns a client of a handler in the same process, without a socket.
func ForHandler(h http.Handler) *Client {
	return New("http://in-process", Options{HTTP: &http.Client{Transport: inProcess{h}}})
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempts is how often the client sends a request whose context has no deadline. It covers the
// restart of a deployment.
const attempts = 12

// backoff returns the wait before the next attempt: 25 ms, doubled up to 2 s. Up to half of it is
// taken off at random, so that callers who were refused together do not retry together.
func backoff(attempt int, least time.Duration) time.Duration {
	d := min(25*time.Millisecond<<min(attempt, 10), 2*time.Second)
	return max(d-rand.N(d/2), least)
}

// path returns the path of a workflow, with the rest appended. It escapes ids.
func path(workflowID string, rest ...string) string {
	parts := append([]string{"/v1/workflows", url.PathEscape(workflowID)}, rest...)
	return strings.Join(parts, "/")
}

// runQuery returns the query string that pins a run; it is empty for the latest run.
func runQuery(runID string) url.Values {
	q := url.Values{}
	if runID != "" {
		q.Set("runId", runID)
	}
	return q
}

// The conditions that callers branch on with errors.Is: refusals, and how runs, activities and
// updates end. Packages workflow and activity have the same values under the same names.
// docs/semantics.md lists them.
var (
	// ErrCanceled matches a run that ended as canceled. HeartbeatActivity returns it for an
	// activity that the workflow no longer waits for.
	ErrCanceled error = failure.ErrCanceled
	// ErrTimeout matches a run that took too long, or that failed because something it waited for
	// did.
	ErrTimeout error = failure.ErrTimeout
	// ErrTerminated matches a run that was terminated.
	ErrTerminated error = failure.ErrTerminated
	// ErrRunClosed matches the outcome of an accepted update whose run closed before its handler
	// finished.
	ErrRunClosed error = failure.ErrRunClosed
	// ErrNotFound matches a workflow, run, update, query or schedule that does not exist, and a
	// request that a run refuses because it has closed.
	ErrNotFound error = failure.ErrNotFound
	// ErrAlreadyStarted matches a start whose id is taken. The Type of the [Problem] ends in
	// already-open if a run of the id is open, and in already-used if the id reuse policy forbids
	// another.
	ErrAlreadyStarted error = failure.ErrAlreadyStarted
	// ErrInvalid matches a request that is wrong in itself. The client returns it without sending
	// the request if an id or a name in its path, or the id of a new run, is invalid.
	ErrInvalid error = failure.ErrInvalid
	// ErrTooLarge matches a request or a payload above a limit of size.
	ErrTooLarge error = failure.ErrTooLarge
	// ErrRejected matches every *[Rejected].
	ErrRejected error = failure.ErrRejected
	// ErrUnauthorized matches a request without a token that the server accepts.
	ErrUnauthorized error = failure.ErrUnauthorized
	// ErrForbidden matches a request that the server does not allow.
	ErrForbidden error = failure.ErrForbidden
	// ErrClosedRecently matches the deletion of a run that closed too recently.
	ErrClosedRecently error = failure.ErrClosedRecently
	// ErrNotReady matches a request to a run whose workflow task fails; the error wraps why.
	ErrNotReady error = failure.ErrNotReady
	// ErrOtherBuild matches a request to a run that only another build may run, if that build
	// cannot be reached.
	ErrOtherBuild error = failure.ErrOtherBuild
	// ErrActivityEnded matches a report about an attempt at an activity that has ended otherwise.
	ErrActivityEnded error = failure.ErrActivityEnded
	// ErrPaused matches a request that needs the code of a run which is paused.
	ErrPaused error = failure.ErrPaused
	// ErrNothingToDo matches a request to retry what does not wait for a retry, to resume a run
	// that is not paused, or to pause one that has not begun.
	ErrNothingToDo error = failure.ErrNothingToDo
	// ErrQueryFailed matches a query whose handler returned an error, which the error wraps.
	ErrQueryFailed error = failure.ErrQueryFailed
	// ErrUpdateLimit matches an update of a run that has accepted as many as it may.
	ErrUpdateLimit error = failure.ErrUpdateLimit
	// ErrUpdatesInFlight matches an update of a run that has as many unfinished ones as it may.
	ErrUpdatesInFlight error = failure.ErrUpdatesInFlight
	// ErrBusy matches a request that was refused because of load until its time was over. It did
	// nothing.
	ErrBusy error = failure.ErrBusy
	// ErrOutcomeUnknown matches a request that may have been carried out, or not.
	ErrOutcomeUnknown error = failure.ErrOutcomeUnknown
)

// Problem is a refusal of a request.
type Problem = problem.Problem
