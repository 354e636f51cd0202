package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// errors.Is and errors.As find the errors of workflow code across HTTP, however they are wrapped.
func TestErrorsTravel(t *testing.T) {
	t.Parallel()
	bubble(t, executor.Options{}, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		ctx := t.Context()
		if _, err := testbed.Counter.Start(ctx, c, "a", 10); err != nil {
			t.Fatal(err)
		}
		if _, err := testbed.Sour.Call(ctx, c, "a", workflow.None{}); !errors.Is(err, testbed.ErrSour) {
			t.Errorf("a handler's error: %v", err)
		}
		_, err := testbed.Do.Call(ctx, c, "a", testbed.Job{Name: "x", Fails: -1})
		var failed *workflow.ActivityError
		if !errors.Is(err, testbed.ErrBroken) || !errors.As(err, &failed) || failed.ActivityType != "work" {
			t.Errorf("an activity's error through a handler: %v", err)
		}
		if _, err := testbed.Wrong.Ask(ctx, c, "a", workflow.None{}); !errors.Is(err, client.ErrQueryFailed) || !errors.Is(err, testbed.ErrSour) {
			t.Errorf("a query handler's error: %v", err)
		}
		_, err = testbed.Parallel.Get(c, startParallel(t, c)).Result(ctx)
		if !errors.Is(err, testbed.ErrBroken) || !errors.As(err, &failed) {
			t.Errorf("a workflow's error: %v", err)
		}
		handle, err := testbed.Nap.Send(ctx, c, "a", "1h")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Terminate(ctx, "a", "", "enough"); err != nil {
			t.Fatal(err)
		}
		if _, err := handle.Get(ctx); !errors.Is(err, client.ErrRunClosed) {
			t.Errorf("an update whose run closed: %v", err)
		}
		if _, err := testbed.Counter.Get(c, "a").Result(ctx); !errors.Is(err, client.ErrTerminated) || !strings.Contains(err.Error(), "enough") {
			t.Errorf("the result of a terminated run: %v", err)
		}
	})
}

func startParallel(t *testing.T, c *client.Client) string {
	t.Helper()
	run, err := testbed.Parallel.Start(t.Context(), c, "", []testbed.Job{{Name: "x", Fails: -1}, {Name: "y"}})
	if err != nil {
		t.Fatal(err)
	}
	return run.WorkflowID
}

// errors.Is finds the sentinel of each refusal and no other.
func TestRefusals(t *testing.T) {
	t.Parallel()
	all := []error{
		client.ErrInvalid, client.ErrNotFound, client.ErrAlreadyStarted, client.ErrNotReady, client.ErrTooLarge,
		client.ErrQueryFailed, client.ErrUpdateLimit, client.ErrUpdatesInFlight, client.ErrBusy, client.ErrOutcomeUnknown,
	}
	var o executor.Options
	o.Engine.Limits.UpdatesInFlight, o.Engine.Limits.UpdatesInTotal = 1, 2
	bubble(t, o, func(t *testing.T, _ *testbed.Deployment, c *client.Client, w *network) {
		for name, refusal := range refusals {
			err := refusal.provoke(t.Context(), c)
			for _, kind := range all {
				if errors.Is(err, kind) != (kind == refusal.want) {
					t.Errorf("%s: %v; errors.Is(%v) is %v", name, err, kind, errors.Is(err, kind))
				}
			}
			var problem *client.Problem
			if !errors.As(err, &problem) || problem.Detail == "" {
				t.Errorf("%s: %v is no *client.Problem with advice", name, err)
			}
		}
	})
}

// refusals are requests that are refused, by name. Each is independent of the others.
var refusals = map[string]struct {
	want    error
	provoke func(ctx context.Context, c *client.Client) error
}{
	"a type that there is not": {client.ErrInvalid, func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Start(ctx, "x", "nothing", nil, client.StartOptions{})
		return err
	}},
	"a workflow that there is not": {client.ErrNotFound, func(ctx context.Context, c *client.Client) error {
		return c.Signal(ctx, "nobody", "x", nil, client.SignalOptions{})
	}},
	"an id that a path cannot hold": {client.ErrInvalid, func(ctx context.Context, c *client.Client) error {
		_, err := c.Describe(ctx, "a/b", "")
		return err
	}},
	"no id": {client.ErrInvalid, func(ctx context.Context, c *client.Client) error { return c.Terminate(ctx, "", "", "") }},
	"an id that is in use": {client.ErrAlreadyStarted, func(ctx context.Context, c *client.Client) error {
		return startTwice(ctx, c, "open", client.StartOptions{}, "counter")
	}},
	"an id that was in use": {client.ErrAlreadyStarted, func(ctx context.Context, c *client.Client) error {
		return startTwice(ctx, c, "used", client.StartOptions{IDReusePolicy: "rejectDuplicate"}, "sleeper")
	}},
	"an input that is too large": {client.ErrTooLarge, func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Start(ctx, "x", "registrar", history.Payload(`"`+strings.Repeat("x", 300<<10)+`"`), client.StartOptions{})
		return err
	}},
	"code that fails": {client.ErrNotReady, func(ctx context.Context, c *client.Client) error {
		return afterStart(ctx, c, "boom", func() error { _, err := testbed.Boom.Call(ctx, c, "boom", workflow.None{}); return err })
	}},
	"too many in flight": {client.ErrUpdatesInFlight, func(ctx context.Context, c *client.Client) error {
		return afterStart(ctx, c, "flight", func() error {
			_, first := testbed.Nap.Send(ctx, c, "flight", "1h")
			_, err := testbed.Nap.Send(ctx, c, "flight", "1h")
			return errors.Join(first, err)
		})
	}},
	"too many in total": {client.ErrUpdateLimit, func(ctx context.Context, c *client.Client) error {
		return afterStart(ctx, c, "total", func() (err error) {
			for range 3 {
				_, err = testbed.Add.Call(ctx, c, "total", 1)
			}
			return err
		})
	}},
}

func afterStart(ctx context.Context, c *client.Client, id string, then func() error) error {
	if _, err := testbed.Counter.Start(ctx, c, id, 10); err != nil {
		return err
	}
	return then()
}

func startTwice(ctx context.Context, c *client.Client, id string, o client.StartOptions, typ string) error {
	input := map[string]history.Payload{"sleeper": history.Payload(`"0s"`)}[typ]
	if _, _, err := c.Start(ctx, id, typ, input, client.StartOptions{}); err != nil {
		return err
	}
	_, _, err := c.Start(ctx, id, typ, input, o)
	return err
}
