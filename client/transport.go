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
	"time"

	"github.com/seed-41655fb1/weft/internal/api"
)

// request is one request of the HTTP API.
type request struct {
	method string
	path   string
	query  url.Values
	body   any
	// answer is decoded into from a response of a status below 300, and of the status also.
	answer any
	also   int
}

// do sends a request, again and again while the answer is lost, busy or unknown and the context allows it, and returns
// the status of the answer. Every request can be sent twice: those that write carry an id.
func (c *Client) do(ctx context.Context, r request) (status int, err error) {
	var body []byte
	if r.body != nil {
		if body, err = json.Marshal(r.body); err != nil {
			return 0, fmt.Errorf("weft: encode request: %w", err)
		}
	}
	_, bounded := ctx.Deadline()
	for attempt := 1; ; attempt++ {
		status, err = c.once(ctx, r, body)
		var wait time.Duration
		if !again(err, &wait) || ctx.Err() != nil || !bounded && attempt >= attempts {
			return status, err
		}
		if c.pause(ctx, backoff(attempt, wait)) != nil {
			return status, err // what went wrong tells more than that the time is over
		}
	}
}

// again reports whether sending the request again can help, and how long the answer asks to wait.
func again(err error, wait *time.Duration) bool {
	var problem *Problem
	if errors.As(err, &problem) {
		*wait = problem.RetryAfter
		return problem.Status == http.StatusServiceUnavailable
	}
	var lost *lostAnswer
	return errors.As(err, &lost)
}

// lostAnswer is a request whose answer did not arrive.
type lostAnswer struct{ err error }

func (e *lostAnswer) Error() string { return "weft: no answer: " + e.err.Error() }
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
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, &lostAnswer{err}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, &lostAnswer{err}
	}
	if resp.StatusCode >= 300 && resp.StatusCode != r.also {
		return resp.StatusCode, problemOf(resp, data)
	}
	if r.answer != nil && len(data) > 0 {
		if err := json.Unmarshal(data, r.answer); err != nil {
			return resp.StatusCode, fmt.Errorf("weft: the answer to %s %s is not what it should be: %w", r.method, r.path, err)
		}
	}
	return resp.StatusCode, nil
}

// problemOf reads a refusal. One that is not a problem document (a proxy's page, a gateway's time-out) becomes one.
func problemOf(resp *http.Response, data []byte) error {
	p := &Problem{}
	if json.Unmarshal(data, p) != nil || p.Type == "" {
		p = api.Internal.New("the server answered %s", resp.Status)
		if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusGatewayTimeout || resp.StatusCode == http.StatusBadGateway {
			p = api.OutcomeUnknown.New("the server answered %s", resp.Status)
		}
	}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// inProcess is a transport that calls a handler.
type inProcess struct{ handler http.Handler }

// RoundTrip calls the handler with the request and returns what it wrote.
func (t inProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	t.handler.ServeHTTP(w, req)
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header, Request: req,
		Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()),
	}, nil
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recorder) Header() http.Header         { return w.header }
func (w *recorder) WriteHeader(status int)      { w.status = status }
func (w *recorder) Write(p []byte) (int, error) { return w.body.Write(p) }
