package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// transport is a transport of a test.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// connected reports a connection to the trace of a request.
func connected(r *http.Request) {
	trace := httptrace.ContextClientTrace(r.Context())
	trace.GotConn(httptrace.GotConnInfo{})
	trace.WroteHeaders()
}

// open answers that a run is open.
func open(r *http.Request) (*http.Response, error) {
	connected(r)
	const body = `{"workflowId":"order-7","runId":"1-0102030405060708","status":"running"}`
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// waitForResult waits for the result of a run that never closes.
func waitForResult(ctx context.Context, c *client.Client) error {
	Waiting(ctx, "the result of %s", "order-7")
	_, err := c.Result(ctx, "order-7", "")
	return err
}

// A time-out says what the command waited for, at once.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		send transport
		code Code
		want string
	}{
		{"an open run", open, TimedOut, "timed out after 30s waiting for the result of order-7"},
		{"a server that does not answer", func(r *http.Request) (*http.Response, error) {
			connected(r)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, TimedOut, "timed out after 30s waiting for the result of order-7: http://weft.test is connected and has not answered"},
		{"no connection", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, Unreachable, "no connection to http://weft.test within 30s: the command waited for the result of order-7"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := testSession(t, nil)
			s.base = c.send
			begun := time.Now()
			err := (&Remote{URL: "http://weft.test", Timeout: 30 * time.Second}).Call(t.Context(), s, "an answer", waitForResult)
			fails(t, c.name, err, c.code, c.want)
			if took := time.Since(begun); took < 29*time.Second || took > 31*time.Second { // of the bubble's clock
				t.Errorf("%s: it took %s", c.name, took)
			}
		})
	}
}

// A request that is sent once takes a few seconds if there is no answer, and is not sent again if
// the answer is that the deployment is busy. The command continues.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]transport{
		"silent": func(r *http.Request) (*http.Response, error) {
			connected(r)
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"busy": func(r *http.Request) (*http.Response, error) {
			connected(r)
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		},
	} {
		for timeout, most := range map[time.Duration]time.Duration{30 * time.Second: 3 * time.Second, 4 * time.Second: 2 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				s, _ := testSession(t, nil)
				requests := 0
				s.base = transport(func(r *http.Request) (*http.Response, error) {
					requests++
					return send(r)
				})
				begun := time.Now()
				err := (&Remote{URL: "http://weft.test", Timeout: timeout}).Call(t.Context(), s, "a count", func(ctx context.Context, c *client.Client) error {
					once, cancel := Once(ctx, 3*time.Second)
					defer cancel()
					if _, err := c.Queues(once); err == nil {
						t.Errorf("%s: there is no error", name)
					}
					return ctx.Err()
				})
				if took := time.Since(begun); err != nil || requests != 1 || took > most { // of the bubble's clock
					t.Errorf("%s: %v, %d requests in %s", name, err, requests, took)
				}
			})
		}
	}
}

// An interrupted command says what it waited for.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := testSession(t, nil)
		s.base = transport(open)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := (&Remote{URL: "http://weft.test"}).Call(ctx, s, "an answer", waitForResult)
		fails(t, "interrupted", err, Interrupted, "interrupted while waiting for the result of order-7")
	})
}

// A first request that cannot be sent ends the command at once. Once the deployment has answered,
// the client tries again, as it does for one that restarts.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, answers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := testSession(t, nil)
			requests := 0
			s.base = transport(func(r *http.Request) (*http.Response, error) {
				if requests++; requests <= answers {
					return open(r)
				}
				return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
			})
			begun := time.Now()
			err := (&Remote{URL: defaultURL}).Call(t.Context(), s, "an answer", waitForResult)
			fails(t, "nobody listens", err, Unreachable, "no answer from "+defaultURL+": dial tcp: connection refused; weft dev starts a server there")
			if atOnce := time.Since(begun) == 0; atOnce != (answers == 0) {
				t.Errorf("after %d answers and %d requests it took %s", answers, requests, time.Since(begun))
			}
			if sure := !strings.Contains(err.Error(), "may have been carried out"); sure != (answers == 0) {
				t.Errorf("after %d answers: %v", answers, err)
			}
		})
	}
}

// An answer that breaks off is one that did not come.
func TestBrokenAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := testSession(t, nil)
		s.base = transport(func(r *http.Request) (*http.Response, error) {
			resp, err := open(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), failing{}))
			return resp, err
		})
		err := (&Remote{URL: "http://weft.test"}).Call(t.Context(), s, "an answer", waitForResult)
		fails(t, "broken off", err, Unreachable, "no answer from http://weft.test: it broke off")
	})
}

// failing is a reader that fails.
type failing struct{}

// Read implements io.Reader.
func (failing) Read([]byte) (int, error) { return 0, errors.New("it broke off") }

// A deployment that does not let the command in says what would.
func TestNotLetIn(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	for want, remote := range map[string]Remote{
		"--token-file":               {},
		"does not accept the token":  {Token: "secret"},
		"it needs execute-api:Invok": {Auth: "aws", Region: "eu-west-1"},
	} {
		s, _ := testSession(t, nil)
		remote.URL = server.URL
		err := remote.Call(t.Context(), s, "the list", func(ctx context.Context, c *client.Client) error {
			_, _, err := c.List(ctx, "", "")
			return err
		})
		fails(t, want, err, Unreachable, want)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error has the token: %v", err)
		}
	}
}

// What answers and is not Weft is named, and is not taken for a missing workflow.
func TestNotWeft(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"no such page": http.NotFound,
		"a page":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"other JSON":   func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"a redirect":   func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/login", http.StatusFound) },
		"a refusal":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) },
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		s, _ := testSession(t, nil)
		err := (&Remote{URL: server.URL + "/base"}).Call(t.Context(), s, "the description", func(ctx context.Context, c *client.Client) error {
			_, err := c.Describe(ctx, "order-7", "")
			return err
		})
		fails(t, name, err, Unreachable, "what answers at "+server.URL+"/base is not Weft: ")
	}
	tooLarge := problem.Of(refusal.Internal.New("the server answered 413"))
	tooLarge.Status = http.StatusRequestEntityTooLarge // a gateway's, of a request that is meant for it
	if CodeOf(tooLarge) != Refused || CodeOf(client.ErrNotWeft) != Unreachable {
		t.Error("the codes are wrong")
	}
}

// On a terminal, the command shows what it waits for, until it prints something.
func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := testSession(t, nil)
		var screen bytes.Buffer // both outputs are one terminal
		s.Out, s.Err, s.Live, s.Width, s.base = &screen, &screen, true, 40, transport(open)
		err := (&Remote{URL: "http://weft.test", Timeout: 3500 * time.Millisecond}).Call(t.Context(), s, "an answer", func(ctx context.Context, c *client.Client) error {
			return errors.Join(waitForResult(ctx, c), Line(s, "a line"))
		})
		fails(t, "timed out", err, TimedOut, "the result of order-7")
		const want = "waiting for the result of order-7 (2s)" + clearLine + "waiting for the result of order-7 (3s)" + clearLine + "a line\n"
		if screen.String() != want {
			t.Errorf("the terminal got\n%q, want\n%q", screen.String(), want)
		}
	})
}
