// Package awstry gives each try of a request to AWS a timeout of its own.
//
// A Lambda function that is thawed holds connections that the other side closed long ago, and does
// not notice. A request on such a connection gets no answer. Without a timeout of its own, it would
// use up all the time that the caller has.
package awstry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

const (
	// growth is how often the timeout may double while consecutive requests get no answer.
	growth = 2
	// idle is how long an unused connection is kept. The transport compares wall clocks, so a
	// connection that a freeze made older is not used again.
	idle = 30 * time.Second
)

// ErrSilent is wrapped by the error of a try that got no answer within its timeout. The request may
// have been carried out.
var ErrSilent = errors.New("no answer within the timeout of a try")

// silent is an ErrSilent as a temporary net.Error, so that the SDK's retryers repeat the request.
type silent struct{ after time.Duration }

// Error says how long the timeout was.
func (e *silent) Error() string { return fmt.Sprintf("%v of %v", ErrSilent, e.after) }

// Unwrap returns ErrSilent.
func (e *silent) Unwrap() error { return ErrSilent }

// Timeout implements net.Error.
func (e *silent) Timeout() bool { return true }

// Temporary implements net.Error.
func (e *silent) Temporary() bool { return true }

// Slow is an HTTP client of a server that answers more slowly than AWS, such as an emulator that
// serves one request at a time.
type Slow interface {
	// TryTimeout returns the shortest timeout that a try may have.
	TryTimeout() time.Duration
}

// client is an HTTP client that gives each request a timeout, which includes the body of the
// answer.
type client struct {
	inner aws.HTTPClient
	limit func(*http.Request) time.Duration
	// misses is how many tries in a row got no answer. A service that is slow, and not silent, gets
	// more time.
	misses atomic.Int32
}

// Wrap returns an HTTP client for the SDK that ends each request after a timeout. Every try of the
// SDK is a request of its own.
//
//   - The timeout is limit. It doubles up to fourfold while consecutive requests get no answer.
//   - After a try without an answer all idle connections are closed: the next try opens a new one.
//   - If inner is nil or the SDK's own client, connections that have been idle for 30 s are
//     dropped.
//   - If inner implements Slow, it raises the limit.
func Wrap(inner aws.HTTPClient, limit func(*http.Request) time.Duration) aws.HTTPClient {
	if slow, ok := inner.(Slow); ok {
		given := limit
		limit = func(r *http.Request) time.Duration { return max(given(r), slow.TryTimeout()) }
	}
	if b, ok := inner.(*awshttp.BuildableClient); ok || inner == nil {
		if b == nil {
			b = awshttp.NewBuildableClient()
		}
		inner = &http.Client{Transport: b.WithTransportOptions(func(t *http.Transport) { t.IdleConnTimeout = idle }).GetTransport(), CheckRedirect: samePost}
	}
	return &client{inner: inner, limit: limit}
}

// For returns a limit that is the same for all requests. d 0 is the default.
func For(d, byDefault time.Duration) func(*http.Request) time.Duration {
	if d == 0 {
		d = byDefault
	}
	return func(*http.Request) time.Duration { return d }
}

// samePost follows only redirects that keep the method, as the SDK's own client does.
func samePost(r *http.Request, _ []*http.Request) error {
	if s := r.Response.StatusCode; s == http.StatusTemporaryRedirect || s == http.StatusPermanentRedirect {
		return nil
	}
	return http.ErrUseLastResponse
}

// Do sends a request. It fails with ErrSilent if no answer begins within the timeout. A read of an
// answer that stops fails in the same way.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	parent := r.Context()
	after := c.limit(r) << min(c.misses.Load(), growth)
	ctx, cancel := context.WithTimeout(parent, after)
	over := func(err error) error {
		if parent.Err() != nil || ctx.Err() == nil {
			return err
		}
		c.misses.Add(1)
		if idler, ok := c.inner.(interface{ CloseIdleConnections() }); ok {
			idler.CloseIdleConnections()
		}
		return &silent{after}
	}
	resp, err := c.inner.Do(r.WithContext(ctx))
	if err != nil {
		err = over(err)
		cancel()
		return resp, err
	}
	resp.Body = &body{ReadCloser: resp.Body, over: over, whole: func() { c.misses.Store(0) }, cancel: cancel}
	return resp, nil
}

// body is the body of an answer. It must end within the timeout.
type body struct {
	io.ReadCloser
	over   func(error) error
	whole  func()
	cancel func()
}

// Read fails with ErrSilent if the timeout of the try is over. Only an answer that is read to its
// end shows that the timeout suffices.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.whole()
	default:
		err = b.over(err)
	}
	return n, err
}

// Close ends the try.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
