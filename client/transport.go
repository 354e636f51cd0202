package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// request is one request of the HTTP API.
type request struct {
	Request
	// header is where the request takes the header of the context, or nil if it takes none.
	header *history.Header
	method string
	path   string
	query  url.Values
	body   any
	// bound sets, before an attempt, how long the server may take for it; nil if the request has no
	// such bound.
	bound func(limit time.Duration)
	// waiter is the call that waits with the request; nil if it is not a request of such a call. It
	// says the bound.
	waiter *waiter
	// answer is what a response of a status below 300, and of the expected status also, is decoded
	// into.
	answer any
	also   int
	// unsure is set to true if an attempt may have been carried out and its response was lost.
	unsure *bool
}

// do sends a request through the interceptors, if its ids and names are valid.
func (c *Client) do(ctx context.Context, r request) (status int, err error) {
	if err := r.check(); err != nil {
		return 0, err
	}
	err = c.intercepted(ctx, r.Request, func(ctx context.Context) (err error) {
		if err = carry(ctx, r.header); err == nil {
			status, err = c.send(ctx, r)
		}
		return err
	})
	return status, err
}

// send sends a request and returns the status of the response. It retries while the response is
// lost, busy or unknown and the context allows it. A request that only waits is no attempt if it is
// refused for lack of capacity: the call goes on until its context ends. Every request can be sent
// twice: those that write carry an id.
func (c *Client) send(ctx context.Context, r request) (status int, err error) {
	deadline, bounded := ctx.Deadline()
	if r.waiter != nil {
		r.bound = r.waiter.bound
	}
	var before error
	for attempt, refusals := 1, 0; ; attempt++ {
		if bounded && r.bound != nil {
			r.bound(serverTime(time.Until(deadline)))
		}
		var body []byte
		if r.body != nil {
			if body, err = json.Marshal(r.body); err != nil {
				return 0, fmt.Errorf("weft: encode request: %w", err)
			}
		}
		status, err = c.once(ctx, r, body)
		var lost *lostAnswer
		if before != nil && ctx.Err() != nil && errors.As(err, &lost) {
			return status, fmt.Errorf("%w; before that: %w", err, before)
		}
		var wait time.Duration
		retries := again(err, &wait)
		pause := backoff(attempt, wait)
		if r.waiter != nil && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
			attempt--
			refusals++
			pause = refusedBackoff(refusals, wait)
		}
		if !retries || ctx.Err() != nil || !bounded && attempt >= attempts {
			return status, err
		}
		if r.unsure != nil && !errors.Is(err, refusal.Busy) {
			*r.unsure = true
		}
		if ended := c.pause(ctx, pause); ended != nil {
			err = fmt.Errorf("%w; no time is left to send it again: %w", err, ended)
			if before != nil {
				err = fmt.Errorf("%w; before that: %w", err, before)
			}
			return status, err
		}
		before = err
	}
}

// longest is the most time that a server takes for a request.
const longest = 20 * time.Second

// serverTime returns how long the server may take if the caller has this much time left. A tenth,
// at most half a second, is for the way there and back, so that the caller gets the response and
// not the end of its context.
func serverTime(left time.Duration) time.Duration {
	left = max(left, 0)
	return min(left-min(left/10, 500*time.Millisecond), longest).Truncate(time.Millisecond)
}

// again reports whether a retry can help, and sets wait to how long the response asks to wait.
func again(err error, wait *time.Duration) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		*wait = problem.RetryAfter
		return problem.Status == http.StatusServiceUnavailable
	}
	var lost *lostAnswer
	return errors.As(err, &lost)
}

// lostAnswer is the error of a request whose response did not arrive.
type lostAnswer struct{ err error }

// Error returns the reason.
func (e *lostAnswer) Error() string { return "weft: no answer: " + e.err.Error() }

// Unwrap returns the error of the transport.
func (e *lostAnswer) Unwrap() error { return e.err }

func (c *Client) once(ctx context.Context, r request, body []byte) (int, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("weft: %w", err)
	}
	for name, values := range c.header {
		req.Header[name] = values
	}
	if r.waiter != nil {
		if waited := r.waiter.waited(); waited > 0 {
			req.Header.Set(waitedHeader, waited.String())
		}
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, &lostAnswer{err}
	}
	defer func() { _ = resp.Body.Close() }()
	meter(ctx, resp)
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, &lostAnswer{err}
	}
	if resp.StatusCode >= 300 && (resp.StatusCode != r.also || isProblem(resp)) {
		return resp.StatusCode, problemOf(resp, data)
	}
	if r.answer != nil {
		if err := json.Unmarshal(data, r.answer); err != nil {
			return resp.StatusCode, &notWeft{fmt.Errorf("weft: the answer to %s %s is not what it should be: %w", r.method, r.path, err)}
		}
	}
	return resp.StatusCode, nil
}

// notWeft is an answer that Weft does not give.
type notWeft struct{ err error }

// Error says what is wrong with the answer.
func (e *notWeft) Error() string { return e.err.Error() }

// Unwrap returns the error.
func (e *notWeft) Unwrap() error { return e.err }

// Is reports whether target is problem.ErrNotWeft.
func (e *notWeft) Is(target error) bool { return target == problem.ErrNotWeft }

func isProblem(resp *http.Response) bool {
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json")
}

// longestRetryAfter is the longest wait that a server can ask for.
const longestRetryAfter = time.Minute

// problemOf returns the refusal in a response. If the response is not Weft's (a proxy's page, a
// gateway's time-out), it returns a problem that stands for it.
func problemOf(resp *http.Response, data []byte) error {
	p := &Problem{}
	if json.Unmarshal(data, p) != nil || !strings.HasPrefix(p.Type, "urn:weft:problem:") {
		p = foreign(resp)
	} else {
		p.Status = resp.StatusCode
	}
	if f := p.Failure; f != nil && !strings.Contains(p.Detail, f.Message) {
		p.Detail = fmt.Sprintf("%v (%s)", f.Err(), p.Detail) // the caller may read it, the server's log may not have it
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = longestRetryAfter
		if seconds < int(longestRetryAfter/time.Second) {
			p.RetryAfter = time.Duration(seconds) * time.Second
		}
	}
	return p
}

// foreign returns the problem for a response of something between client and server.
func foreign(resp *http.Response) *Problem {
	switch resp.StatusCode {
	case http.StatusTooManyRequests: // refused before it reached the server
		return problem.Of(refusal.Busy.New("the server answered %s", resp.Status))
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return problem.Of(refusal.OutcomeUnknown.New("the server answered %s", resp.Status))
	}
	p := problem.Of(refusal.Internal.New("the server answered %s", resp.Status))
	p.Status = resp.StatusCode
	return p
}

// inProcess is a transport that calls a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip calls the handler with the request and returns its response. It returns when the
// request's context ends, as it does over a connection: the handler continues, and its response is
// lost.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	if req.Context().Done() == nil {
		t.handler.ServeHTTP(w, req)
	} else if err := t.serve(w, req); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header, Request: req,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}, nil
}

// serve calls the handler on a goroutine of its own. A panic of the handler reaches the caller, if
// it still waits.
func (t inProcess) serve(w *recorder, req *http.Request) error {
	served := make(chan any, 1)
	go func() {
		defer func() { served <- recover() }()
		t.handler.ServeHTTP(w, req)
	}()
	select {
	case <-req.Context().Done():
		return req.Context().Err()
	case panicked := <-served:
		if panicked != nil {
			panic(panicked)
		}
		return req.Context().Err()
	}
}

// recorder keeps the response of a handler in this process.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
