package apitest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Handler returns a handler that calls h and compares each request and its answer with the
// document.
func Handler(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		var sent []byte
		sent, r.Body = drained(r.Body)
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, r)
		report(t, &Exchange{r.Method, r.URL, sent, recorder.Code, recorder.Header(), recorder.Body.Bytes()})
		for name, values := range recorder.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(recorder.Body.Bytes())
	})
}

// Transport returns a transport that sends through next, or through http.DefaultTransport if next
// is nil. It compares requests and answers with the document.
func Transport(t testing.TB, next http.RoundTripper) http.RoundTripper { return Below(t, "", next) }

// Below is Transport for an API whose paths begin with base.
func Below(t testing.TB, base string, next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &transport{t, base, next}
}

type transport struct {
	t    testing.TB
	base string
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper. It checks only whole answers.
func (c *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	var sent, received []byte
	sent, r.Body = drained(r.Body)
	resp, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	received, resp.Body = drained(resp.Body)
	if _, whole := resp.Body.(*body); whole {
		at := *r.URL
		at.Path, at.RawPath = strings.TrimPrefix(at.Path, c.base), strings.TrimPrefix(at.RawPath, c.base)
		report(c.t, &Exchange{r.Method, &at, sent, resp.StatusCode, resp.Header, received})
	}
	return resp, nil
}

func report(t testing.TB, x *Exchange) {
	t.Helper()
	if err := x.Check(); err != nil {
		t.Errorf("%s %s %.200s\n%d %.500s\n%v", x.Method, x.URL, x.Sent, x.Status, x.Body, err)
	}
}

// body is a body that has been read and can be read again.
type body struct{ bytes.Reader }

// Close implements io.Closer.
func (*body) Close() error { return nil }

// drained reads a body, which may be nil. It also returns a body that reads the same: a *body, or
// one that ends with the error of reading.
func drained(from io.ReadCloser) ([]byte, io.ReadCloser) {
	if from == nil {
		return nil, nil
	}
	text, err := io.ReadAll(from)
	_ = from.Close() // everything has been read
	again := &body{*bytes.NewReader(text)}
	if err != nil {
		return text, io.NopCloser(io.MultiReader(again, failing{err}))
	}
	return text, again
}

// failing is the end of a body that fails while it is read.
type failing struct{ err error }

// Read implements io.Reader.
func (f failing) Read([]byte) (int, error) { return 0, f.err }
