package workflow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// met are the conditions that workflow code gets, by name.
var met = map[string]error{
	"canceled": workflow.ErrCanceled, "timeout": workflow.ErrTimeout, "terminated": workflow.ErrTerminated, "run closed": workflow.ErrRunClosed,
	"not found": workflow.ErrNotFound, "already started": workflow.ErrAlreadyStarted, "invalid": workflow.ErrInvalid,
	"too large": workflow.ErrTooLarge, "rejected": workflow.ErrRejected,
	"activity ended": workflow.ErrActivityEnded, "query failed": workflow.ErrQueryFailed, "busy": workflow.ErrBusy,
}

// namesOf returns the names of the conditions that err matches.
func namesOf(err error) (names []string) {
	for name, condition := range met {
		if errors.Is(err, condition) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// outside are a client's requests that an activity sends, by the name of the condition that they
// meet.
var outside = map[string]func(ctx context.Context, c *client.Client) error{
	"not found": func(ctx context.Context, c *client.Client) error {
		return c.Signal(ctx, "nobody", "x", nil, client.SignalOptions{})
	},
	"already started": func(ctx context.Context, c *client.Client) error {
		_, err := shop.Start(ctx, c, "shop-1", 1)
		return err
	},
	"rejected": func(ctx context.Context, c *client.Client) error {
		_, err := buy.Call(ctx, c, "shop-1", 101)
		return err
	},
	"invalid": func(ctx context.Context, c *client.Client) error { return c.CompleteActivity(ctx, "no token", nil) },
	"terminated": func(ctx context.Context, c *client.Client) error {
		_, err := shop.Get(c, "shop-gone").Result(ctx)
		return err
	},
}

// inside are the calls by which workflow code meets a condition without an activity, by its name.
var inside = map[string]func(ctx workflow.Context) error{
	"not found": func(ctx workflow.Context) error {
		_, err := workflow.External("nobody").Cancel(ctx, "").Get(ctx)
		return err
	},
	"already started": func(ctx workflow.Context) error {
		_, err := shop.StartChild(ctx, 1, workflow.ChildOptions{WorkflowID: "shop-1"}).Started(ctx)
		return err
	},
	"invalid": func(ctx workflow.Context) error {
		_, err := shop.RunChild(ctx, 1, workflow.ChildOptions{WorkflowID: "a/b"})
		return err
	},
	"timeout": func(ctx workflow.Context) error {
		_, err := shop.RunChild(ctx, 1, workflow.ChildOptions{RunTimeout: time.Minute})
		return err
	},
	"canceled": func(ctx workflow.Context) error {
		ctx, cancel := workflow.WithCancel(ctx)
		cancel()
		return workflow.Sleep(ctx, time.Hour)
	},
}

// A condition has one value. errors.Is finds it in these places:
//   - what a client returns
//   - what workflow code gets, also from an activity that returns a client's error
//   - the result of that workflow
func TestOneValueForEachCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c *client.Client
		ask := activity.New("ask", func(ctx context.Context, what string) (none, error) { return none{}, outside[what](ctx, c) },
			activity.Options{Retry: activity.Retry{MaxAttempts: 1}})
		meets := workflow.NewWorkflow[string, []string]("meets")
		returns := workflow.NewWorkflow[string, none]("returns")
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(shop, sells, workflow.Names(buy, sold, shut)), ask,
			workflow.Bind(meets, func(ctx workflow.Context, what string) ([]string, error) {
				_, err := ask.Run(ctx, what)
				return namesOf(err), nil
			}),
			workflow.Bind(returns, func(ctx workflow.Context, what string) (none, error) { return none{}, inside[what](ctx) }))
		c = p.Client
		for _, id := range []string{"shop-1", "shop-gone"} {
			if _, err := shop.Start(ctx, c, id, 100); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Terminate(ctx, "shop-gone", "", ""); err != nil {
			t.Fatal(err)
		}
		for what, ask := range outside {
			if got := namesOf(ask(ctx, c)); !slices.Equal(got, []string{what}) {
				t.Errorf("a client meets %q, want %q", got, what)
			}
			if got, err := meets.Run(ctx, c, "", what); err != nil || !slices.Equal(got, []string{what}) {
				t.Errorf("a workflow meets %q in an activity (%v), want %q", got, err, what)
			}
		}
		for what := range inside {
			_, err := returns.Run(ctx, c, "", what)
			if got := namesOf(err); !slices.Equal(got, []string{what}) {
				t.Errorf("a workflow returns %q (%v), want %q", got, err, what)
			}
		}
	})
}
