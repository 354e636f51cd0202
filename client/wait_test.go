package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// asked is a server that notes when it was asked, and how long the caller had waited.
type asked struct {
	began  time.Time
	at     []time.Duration
	waited []string
	// answer answers a request that arrives at this time. It returns a status and a body.
	answer func(at time.Duration) (int, string)
}

// ServeHTTP implements http.Handler.
func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Since(a.began)
	a.at, a.waited = append(a.at, at), append(a.waited, r.Header.Get(httpapi.WaitedHeader))
	status, body := a.answer(at)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// waits lets a call wait for the result of a run that closes at this time. Until then the server
// answers with open.
func waits(t *testing.T, ends time.Duration, status int, open string, fn func(t *testing.T, a *asked, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &asked{began: time.Now(), answer: func(at time.Duration) (int, string) {
			if at >= ends {
				return http.StatusOK, `{"workflowId":"a","runId":"1-0123456789abcdef","status":"completed","result":7}`
			}
			return status, open
		}}
		fn(t, a, client.ForHandler(a))
	})
}

const (
	stillOpen = `{"workflowId":"a","runId":"1-0123456789abcdef","status":"running"}`
	askLater  = `{"workflowId":"a","runId":"1-0123456789abcdef","status":"running","retryAfter":"10s"}`
	muchLater = `{"workflowId":"a","runId":"1-0123456789abcdef","status":"running","retryAfter":"1h0m0s"}`
)

// A call that waits pauses as the answers say, a tenth more or less, and says how long it has
// waited.
func TestACallPauses(t *testing.T) {
	t.Parallel()
	waits(t, 100*time.Second, http.StatusAccepted, askLater, func(t *testing.T, a *asked, c *client.Client) {
		if result, err := c.Result(t.Context(), "a", ""); err != nil || string(result) != "7" {
			t.Errorf("%s, %v", result, err)
		}
		for i, at := range a.at {
			want := ""
			if i > 0 {
				want = at.Truncate(time.Millisecond).String()
				if pause := at - a.at[i-1]; pause < 9*time.Second || pause > 11*time.Second {
					t.Errorf("pause %d is %v long, want 9 to 11 s", i, pause)
				}
			}
			if a.waited[i] != want {
				t.Errorf("after %v the call says that it has waited %q", at, a.waited[i])
			}
		}
		if n := len(a.at); n < 10 || n > 13 {
			t.Errorf("the server was asked %d times", n)
		}
	})
}

// A pause is not longer than the client allows.
func TestLongestPause(t *testing.T) {
	t.Parallel()
	waits(t, 31*time.Minute, http.StatusAccepted, muchLater, func(t *testing.T, a *asked, c *client.Client) {
		if _, err := c.Result(t.Context(), "a", ""); err != nil || len(a.at) < 7 || len(a.at) > 9 || a.at[1] > 5*time.Minute {
			t.Errorf("%v, after requests at %v", err, a.at)
		}
	})
	waits(t, 10*time.Second, http.StatusAccepted, muchLater, func(t *testing.T, a *asked, _ *client.Client) {
		c := client.New("http://a", client.Options{LongestPause: 3 * time.Second, HTTP: &http.Client{Transport: transport{a}}})
		if _, err := c.Result(t.Context(), "a", ""); err != nil || len(a.at) < 4 || len(a.at) > 6 {
			t.Errorf("%v, after requests at %v", err, a.at)
		}
	})
}

// A call looks once more before its context ends.
func TestTheLastLook(t *testing.T) {
	t.Parallel()
	waits(t, 2*time.Second, http.StatusAccepted, muchLater, func(t *testing.T, a *asked, c *client.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if result, err := c.Result(ctx, "a", ""); err != nil || string(result) != "7" || len(a.at) != 2 {
			t.Errorf("%s, %v, after requests at %v", result, err, a.at)
		}
	})
	waits(t, time.Hour, http.StatusAccepted, muchLater, func(t *testing.T, a *asked, c *client.Client) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := c.Result(ctx, "a", ""); !errors.Is(err, context.DeadlineExceeded) || len(a.at) > 6 || time.Since(a.began) != 10*time.Second {
			t.Errorf("%v, after requests at %v", err, a.at)
		}
	})
}

// A server that asks for no pause is asked again at once, as one that holds requests to their end.
func TestACallOfAServerThatHolds(t *testing.T) {
	t.Parallel()
	waits(t, time.Second, http.StatusAccepted, stillOpen, func(t *testing.T, a *asked, c *client.Client) {
		if _, err := c.Result(t.Context(), "a", ""); err != nil || len(a.at) != 21 {
			t.Errorf("%v, after requests at %v", err, a.at)
		}
	})
}

// A call that waits goes on while the server refuses it for lack of capacity, less and less often.
func TestACallOutlivesRefusals(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		waits(t, time.Hour, status, `{"message":"Too Many Requests"}`, func(t *testing.T, a *asked, c *client.Client) {
			if result, err := c.Result(t.Context(), "a", ""); err != nil || string(result) != "7" {
				t.Errorf("%d: %s, %v", status, result, err)
			}
			if n := len(a.at); n < 60 || n > 140 {
				t.Errorf("%d: the server was asked %d times in an hour", status, n)
			}
		})
		waits(t, 2*time.Hour, status, `{"message":"Too Many Requests"}`, func(t *testing.T, a *asked, c *client.Client) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			if _, err := c.Result(ctx, "a", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(a.began) != time.Hour {
				t.Errorf("%d: after %v: %v", status, time.Since(a.began), err)
			}
		})
	}
	waits(t, time.Hour, http.StatusBadGateway, "", func(t *testing.T, a *asked, c *client.Client) {
		if _, err := c.Result(t.Context(), "a", ""); err == nil || len(a.at) > 12 {
			t.Errorf("%v, after %d requests", err, len(a.at))
		}
	})
}

// transport sends requests to a handler.
type transport struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// Each call that waits gets its news from a function that holds nobody.
func TestCallsThatNobodyHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		works := d.Start(executor.Options{}, testbed.Workload("build-1")...)
		c := d.Idle(executor.Options{WaitHold: -1}, testbed.Workload("build-1")...).Client
		began := time.Now()
		within := func(what string, least, most time.Duration, err error) {
			t.Helper()
			if took := time.Since(began); err != nil || took < least || took > most {
				t.Errorf("%s: %v after %v", what, err, took)
			}
			began = time.Now()
		}
		_, err := c.Run(t.Context(), "a", "sleeper", []byte(`"1h"`), client.StartOptions{})
		within("Run", time.Hour, time.Hour+2*time.Second, err)
		_, _, err = c.Start(t.Context(), "b", "counter", nil, client.StartOptions{})
		within("Start", 0, 0, err)
		_, err = c.Call(t.Context(), "b", "nap", []byte(`"1m"`), client.UpdateOptions{})
		within("Call", time.Minute, 68500*time.Millisecond, err)
		later := func(fn func() error) {
			go func() {
				time.Sleep(time.Minute)
				if err := fn(); err != nil {
					t.Error(err)
				}
			}()
		}
		later(func() error { return works.Client.Signal(t.Context(), "b", "poke", nil, client.SignalOptions{}) })
		d2, err := c.Describe(t.Context(), "b", "")
		within("Describe", 0, 0, err)
		page, err := c.WaitHistory(t.Context(), "b", "", d2.HistoryLength+1)
		within("WaitHistory", time.Minute, 66*time.Second, err)
		if len(page.Events) == 0 {
			t.Error("the page has no events")
		}
		_, _, err = c.Start(t.Context(), "p", "publisher", nil, client.StartOptions{})
		within("Start", 0, 0, err)
		later(func() error {
			return works.Client.Signal(t.Context(), "p", "say", []byte(`"hello"`), client.SignalOptions{})
		})
		items, err := c.WaitTopic(t.Context(), "p", "", "steps", 0)
		within("WaitTopic", time.Minute, 66*time.Second, err)
		if len(items.Items) != 1 || !strings.Contains(string(items.Items[0].Value), "hello") {
			t.Errorf("%+v", items)
		}
	})
}
