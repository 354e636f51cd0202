package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// The client sends the server a time limit. It is less than the rest of its context, and at most
// what a server allows. Without a deadline the client sends none.
func TestTheServerKnowsTheDeadline(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]string{
		0: "", 200 * time.Millisecond: "180ms", 5 * time.Second: "4.5s", 10 * time.Second: "9.5s", time.Minute: "20s", 20500 * time.Millisecond: "20s",
	} {
		bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
			if err := verbs["start"].send(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := t.Context(), func() {}
			if left > 0 {
				ctx, cancel = context.WithTimeout(ctx, left)
			}
			defer cancel()
			w.sent = nil
			if _, err := c.Update(ctx, "a", "add", history.Payload("1"), client.UpdateOptions{ID: "u"}); err != nil {
				t.Fatal(err)
			}
			var r struct{ Timeout string }
			if err := json.Unmarshal([]byte(w.requests()[0].body), &r); err != nil || r.Timeout != want {
				t.Errorf("with %v left the timeout is %q, want %q (%v)", left, r.Timeout, want, err)
			}
			if want == "" {
				return
			}
			w.sent = nil
			if _, err := c.Handle("a", "", "u").Wait(ctx); err != nil || w.requests()[0].query.Get("wait") != want {
				t.Errorf("with %v left the poll waits %q, want %q (%v)", left, w.requests()[0].query.Get("wait"), want, err)
			}
		})
	}
}

// The server refuses an update of a busy run before the caller's deadline, so the caller knows that
// the update was not carried out.
func TestABusyRunIsRefusedInTime(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		w.always = func(_ *network, r *http.Request) (*http.Response, error) {
			var u schema.UpdateRequest
			if err := json.NewDecoder(r.Body).Decode(&u); err != nil || u.Timeout == nil {
				return nil, errors.New("no timeout")
			}
			time.Sleep(time.Duration(*u.Timeout)) // the update waits behind another request
			return busy(nil, nil)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Update(ctx, "a", "add", history.Payload("1"), client.UpdateOptions{ID: "u"})
		if !errors.Is(err, client.ErrBusy) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// A call of a handler in the same process ends with its context, even if the handler does not
// return.
func TestInProcessCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		goes := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(20 * time.Second) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := client.ForHandler(goes).Cancel(ctx, "a", "", ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		time.Sleep(time.Minute)
		defer func() {
			if p := recover(); p != "the handler's panic" {
				t.Errorf("the caller recovered %v", p)
			}
		}()
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = client.ForHandler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the handler's panic") })).Cancel(ctx, "a", "", "")
	})
}
