package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/problem"
)

// call is one use of a deployment by a command.
type call struct {
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	what    string
	explain func(ctx context.Context) string
	goOn    string

	connected atomic.Bool
	answered  atomic.Bool
}

type callKey struct{}

// Waiting says what the command waits for from now on, as the object of "waiting for": "the result
// of order-7". An error of a time-out and the status line name it. It does nothing outside of
// Remote.Call.
func Waiting(ctx context.Context, format string, args ...any) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.mu.Lock()
		c.what = fmt.Sprintf(format, args...)
		c.mu.Unlock()
	}
}

// Once returns a context with which a request is sent once, though it has a time: its context ends
// with an answer that is none of success, and after limit, or after half of what is left for the
// command.
func Once(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	return context.WithValue(ctx, onceKey{}, cancel), cancel
}

type onceKey struct{}

// Connected reports whether a request of the command has reached the deployment, as far as is
// known. It is false outside of Remote.Call.
func Connected(ctx context.Context) bool {
	c, ok := ctx.Value(callKey{}).(*call)
	return ok && c.connected.Load()
}

// OnTimeout sets what finds out why the command still waits when its time is over. The function has
// less than a second. Its text, if it is not empty, follows the time-out's. It is not called if the
// deployment has not answered before.
func OnTimeout(ctx context.Context, explain func(ctx context.Context) string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.mu.Lock()
		c.explain = explain
		c.mu.Unlock()
	}
}

// GoOn sets what follows the error of a command that was out of time, or interrupted, after it had
// reached the deployment: how its user gets back to what it has begun. What OnTimeout explains
// replaces it.
func GoOn(ctx context.Context, text string) {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.mu.Lock()
		c.goOn = text
		c.mu.Unlock()
	}
}

// further returns what GoOn has set, if the command has reached the deployment.
func (c *call) further() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goOn == "" || !c.connected.Load() {
		return ""
	}
	return "; " + c.goOn
}

// lastLook bounds what finds out why a command still waits: its user gets the error within a second
// of the time-out.
const lastLook = 800 * time.Millisecond

// why returns why the command still waits; empty if that is not known.
func (c *call) why(user context.Context) string {
	c.mu.Lock()
	explain := c.explain
	c.mu.Unlock()
	if explain == nil || !c.answered.Load() {
		return ""
	}
	ctx, cancel := context.WithTimeout(user, lastLook)
	defer cancel()
	if text := explain(ctx); text != "" {
		return ": " + text
	}
	return ""
}

func (c *call) waitsFor() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.what
}

// errOver is the cause of a context whose --timeout is over.
var errOver = errors.New("the time is over")

// unreachable is the cause of a context that ended because a first request could not be sent.
type unreachable struct{ err error }

// Error returns the reason.
func (u *unreachable) Error() string { return u.err.Error() }

// Unwrap returns the error of the transport.
func (u *unreachable) Unwrap() error { return u.err }

// Call opens the deployment and calls f with a client of it. The context of f ends after --timeout.
//
// If the first request cannot be sent at all, Call returns at once: the client would try for 12
// seconds, for the sake of a deployment that restarts. Its error says what the command waited for
// when the time was over or the user interrupted it.
func (r *Remote) Call(ctx context.Context, s *Session, what string, f func(ctx context.Context, c *client.Client) error) error {
	return r.Use(ctx, s, what, func(ctx context.Context, d *Deployment) error { return f(ctx, d.Client()) })
}

// Use is Call for what needs the deployment itself.
func (r *Remote) Use(ctx context.Context, s *Session, what string, f func(ctx context.Context, d *Deployment) error) error {
	user := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, r.Timeout, errOver)
		defer stop()
	}
	c := &call{cancel: cancel, what: what}
	ctx = context.WithValue(ctx, callKey{}, c)
	var d *Deployment
	err := s.during(c.waitsFor, func() (err error) {
		if d, err = r.Open(ctx, s); err != nil {
			return err
		}
		Waiting(ctx, "%s", what)
		d.transport = watched{c, d.transport}
		return f(ctx, d)
	})
	if err == nil {
		return nil
	}
	address := r.URL
	if d != nil {
		address = d.URL
	}
	return c.translate(user, ctx, err, d, address, r.Timeout)
}

// translate returns an error with its exit code, and with what the command waited for if it did not
// wait to the end.
func (c *call) translate(user, ctx context.Context, err error, d *Deployment, address string, after time.Duration) error {
	var gone *unreachable
	var code *coded
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &gone):
		return noAnswer(address, gone.err)
	case user.Err() != nil:
		return Errorf(Interrupted, "interrupted while waiting for %s%s", c.waitsFor(), c.further())
	case errors.Is(cause, errOver) && !c.connected.Load() && d != nil:
		return Errorf(Unreachable, "no connection to %s within %s: the command waited for %s", address, after, c.waitsFor())
	case errors.Is(cause, errOver):
		how := c.why(user)
		if d != nil && !c.answered.Load() {
			how = fmt.Sprintf(": %s is connected and has not answered", address)
		}
		if d == nil || !c.answered.Load() || how == "" {
			how += c.further()
		}
		return Errorf(TimedOut, "timed out after %s waiting for %s%s", after, c.waitsFor(), how)
	case errors.As(err, &code):
		return err
	}
	var lost *url.Error // the client has tried again and again
	if errors.As(err, &lost) {
		return fmt.Errorf("%w; a request was sent, and may have been carried out", noAnswer(address, lost))
	}
	return d.refused(err)
}

// noAnswer returns the error for a deployment that cannot be reached.
func noAnswer(address string, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the address is named already
	}
	hint := ""
	if address == defaultURL {
		hint = "; weft dev starts a server there; --url, --profile or --stack name another deployment"
	}
	return Errorf(Unreachable, "no answer from %s: %w%s", address, err, hint)
}

// refused adds to a refusal of the entrance what lets the command in, and to an answer that is none
// of Weft what may be wrong.
func (d *Deployment) refused(err error) error {
	var p *client.Problem
	answer, foreign := problem.NotWeft(err)
	switch isProblem := errors.As(err, &p); {
	case d == nil:
		return err
	case foreign:
		return Errorf(Unreachable, "what answers at %s is not Weft: %s: check the address, and the path in it", d.URL, answer)
	case isProblem && problem.WrongPath(p):
		return Errorf(Unreachable, "the path in the address %s is wrong: %s", d.URL, p.Detail)
	case !isProblem, p.Status != http.StatusUnauthorized && p.Status != http.StatusForbidden:
		return err
	}
	return Errorf(Unreachable, "%s does not let the command in (%d): %s: %w", d.URL, p.Status, d.Advice(), err)
}

// Advice says what lets a command in that the deployment refuses with 401 or 403.
func (d *Deployment) Advice() string {
	switch d.Auth {
	case "aws":
		return "the AWS credentials in use may not call this API: it needs execute-api:Invoke, or lambda:InvokeFunctionUrl for a function URL"
	case "bearer":
		return "it does not accept the token"
	}
	return "give a token (--token-file) or sign the requests (--auth aws)"
}

// watched notes how far requests come, and ends the call if the first one cannot be sent.
type watched struct {
	call *call
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	trace := &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { w.call.connected.Store(true) },
		WroteHeaders: func() { sent.Store(true) },
	}
	resp, err := w.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	switch {
	case err == nil:
		w.call.answered.Store(true)
		resp.Body = answer{resp.Body, r}
	case !sent.Load() && !w.call.answered.Load() && r.Context().Err() == nil:
		w.call.cancel(&unreachable{err})
	}
	if end, once := r.Context().Value(onceKey{}).(context.CancelFunc); once && (err != nil || resp.StatusCode >= http.StatusMultipleChoices) {
		end()
	}
	return resp, err
}

// answer is the body of an answer. An error of it is one of the transport, as the client's are.
type answer struct {
	io.ReadCloser
	request *http.Request
}

// Read implements io.Reader.
func (a answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = &url.Error{Op: a.request.Method, URL: a.request.URL.Redacted(), Err: err}
	}
	return n, err
}
