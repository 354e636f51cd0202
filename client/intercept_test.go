package client_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// A client's interceptors wrap each call, the first outermost. The request includes the header
// fields that they add.
func TestInterceptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...)
		var log []string
		around := func(name string) client.Interceptor {
			return func(ctx context.Context, r client.Request, next func(context.Context) error) error {
				log = append(log, name+" "+r.Operation+" "+r.WorkflowID+" "+r.Name)
				return next(client.WithHeader(ctx, name, r.Operation))
			}
		}
		refuse := errors.New("not today")
		c := client.New("http://in-process", client.Options{HTTP: handled(p.Handler), Interceptors: []client.Interceptor{
			around("outer"), around("inner"), func(ctx context.Context, r client.Request, next func(context.Context) error) error {
				if r.Operation == "terminate" {
					return refuse
				}
				return next(ctx)
			},
		}})
		if _, err := testbed.Counter.Start(t.Context(), c, "a", 10); err != nil {
			t.Fatal(err)
		}
		if err := testbed.Counter.Get(c, "a").Terminate(t.Context(), "enough"); !errors.Is(err, refuse) {
			t.Errorf("the call was not refused: %v", err)
		}
		want := []string{"outer start a counter", "inner start a counter", "outer terminate a ", "inner terminate a "}
		if !slices.Equal(log, want) {
			t.Errorf("%q, want %q", log, want)
		}
		h, err := p.Client.History(t.Context(), "a", "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := h.Events[0].Attributes.(*history.WorkflowExecutionStarted).Header.MarshalJSON()
		if err != nil || string(got) != `{"inner":"start","outer":"start"}` {
			t.Errorf("the header is %s, %v", got, err)
		}
	})
}

// Each call passes the interceptor with its operation and its workflow, and the interceptor can
// refuse it.
func TestInterceptorsKnowAllCalls(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	var seen client.Request
	c := client.New("http://nobody.invalid", client.Options{Interceptors: []client.Interceptor{
		func(_ context.Context, r client.Request, _ func(context.Context) error) error {
			seen = r
			return refused
		},
	}})
	ctx, s := t.Context(), c.Schedule("s")
	everyHour := client.ScheduleOptions{Every: []client.Every{{Interval: time.Hour}}}
	request := func(operation, name string) client.Request {
		return client.Request{Operation: operation, WorkflowID: "w", Name: name}
	}
	ofSchedule := func(operation, name string) client.Request {
		return client.Request{Operation: operation, WorkflowID: "weft.schedule:s", Name: name}
	}
	b := c.Batch("b")
	ofBatch := func(operation, name string) client.Request {
		return client.Request{Operation: operation, WorkflowID: "weft.batch:b", Name: name}
	}
	for _, call := range []struct {
		want client.Request
		do   func() error
	}{
		{request("start", "t"), func() error { _, _, err := c.Start(ctx, "w", "t", nil, client.StartOptions{}); return err }},
		{request("signal", "n"), func() error { return c.Signal(ctx, "w", "n", nil, client.SignalOptions{}) }},
		{request("query", "n"), func() error { _, err := c.Query(ctx, "w", "", "n", nil); return err }},
		{request("update", "n"), func() error { _, err := c.Update(ctx, "w", "n", nil, client.UpdateOptions{}); return err }},
		{request("poll", "u"), func() error { _, err := c.Handle("w", "", "u").Wait(ctx); return err }},
		{request("result", ""), func() error { _, err := c.Result(ctx, "w", ""); return err }},
		{request("describe", ""), func() error { _, err := c.Describe(ctx, "w", ""); return err }},
		{request("waits", ""), func() error { _, err := c.Waits(ctx, "w", ""); return err }},
		{request("history", ""), func() error { _, err := c.History(ctx, "w", ""); return err }},
		{request("history", ""), func() error { _, err := c.WaitHistory(ctx, "w", "", 1); return err }},
		{request("runs", ""), func() error { _, _, err := c.Runs(ctx, "w", ""); return err }},
		{request("topics", ""), func() error { _, err := c.Topics(ctx, "w", ""); return err }},
		{request("topic", "n"), func() error { _, err := c.Topic(ctx, "w", "", "n", 0); return err }},
		{request("topic", "n"), func() error { _, err := c.WaitTopic(ctx, "w", "", "n", 0); return err }},
		{request("cancel", ""), func() error { return c.Cancel(ctx, "w", "", "") }},
		{request("terminate", ""), func() error { return c.Terminate(ctx, "w", "", "") }},
		{request("reset", ""), func() error { _, err := c.Reset(ctx, "w", client.ResetOptions{To: "firstTask"}); return err }},
		{request("move", ""), func() error { _, err := c.Move(ctx, "w", client.MoveOptions{}); return err }},
		{request("delete", ""), func() error { return c.Delete(ctx, "w", "1-0000000000000000") }},
		{request("pause", ""), func() error { return c.Pause(ctx, "w", client.PauseOptions{}) }},
		{request("resume", ""), func() error { return c.Resume(ctx, "w", client.PauseOptions{}) }},
		{request("retry", ""), func() error { return c.Retry(ctx, "w", "") }},
		{request("retryActivity", "5"), func() error { return c.RetryActivity(ctx, "w", "", 5) }},
		{request("completeByHand", "5"), func() error {
			_, err := c.CompleteByHand(ctx, "w", "1-0000000000000000", 5, nil, "")
			return err
		}},
		{request("failByHand", "5"), func() error {
			_, err := c.FailByHand(ctx, "w", "1-0000000000000000", 5, refused, "")
			return err
		}},
		{client.Request{Operation: "list"}, func() error { _, err := c.ListPage(ctx, client.ListOptions{}); return err }},
		{client.Request{Operation: "count"}, func() error { _, err := c.Count(ctx, client.CountOptions{}); return err }},
		{client.Request{Operation: "costs"}, func() error { _, err := c.Costs(ctx, client.CostsOptions{}); return err }},
		{client.Request{Operation: "list"}, func() error { _, _, err := c.List(ctx, "", ""); return err }},
		{client.Request{Operation: "list"}, func() error { _, _, err := c.Schedules(ctx, ""); return err }},
		{client.Request{Operation: "complete activity"}, func() error { return c.CompleteActivity(ctx, "token", nil) }},
		{client.Request{Operation: "fail activity"}, func() error { return c.FailActivity(ctx, "token", refused) }},
		{client.Request{Operation: "heartbeat activity"}, func() error { return c.HeartbeatActivity(ctx, "token", nil) }},
		{ofSchedule("start", "weft.schedule"), func() error { _, err := c.CreateSchedule(ctx, "s", "t", nil, everyHour); return err }},
		{ofSchedule("update", "weft.pause"), func() error { return s.Pause(ctx, "") }},
		{ofSchedule("query", "weft.describe"), func() error { _, err := s.Describe(ctx); return err }},
		{ofSchedule("terminate", ""), func() error { return s.Delete(ctx) }},
		{ofBatch("start", "weft.batch"), func() error { _, err := c.StartBatch(ctx, client.BatchOptions{ID: "b"}); return err }},
		{ofBatch("query", "weft.describe"), func() error { _, err := b.Describe(ctx); return err }},
		{ofBatch("update", "weft.stop"), func() error { return b.Stop(ctx, "") }},
		{ofBatch("update", "weft.rate"), func() error { return b.SetRate(ctx, 1) }},
		{client.Request{Operation: "list"}, func() error { _, _, err := c.Batches(ctx, ""); return err }},
	} {
		seen = client.Request{}
		if err := call.do(); !errors.Is(err, refused) || seen != call.want {
			t.Errorf("%+v, %v; want %+v", seen, err, call.want)
		}
	}
}

// handled returns an HTTP client of a handler in this process.
func handled(h http.Handler) *http.Client {
	return &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Result(), nil
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
