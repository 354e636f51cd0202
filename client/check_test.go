package client_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/client"
)

// byID are the calls whose request has an id that the caller gives, by method.
var byID = map[string]func(ctx context.Context, c *client.Client, id string) error{
	"Start": func(ctx context.Context, c *client.Client, id string) error {
		_, _, err := c.Start(ctx, id, "t", nil, client.StartOptions{})
		return err
	},
	"Run": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Run(ctx, id, "t", nil, client.StartOptions{})
		return err
	},
	"StartBatch": func(ctx context.Context, c *client.Client, id string) error {
		if _, err := c.Batch(id).Describe(ctx); !errors.Is(err, client.ErrInvalid) {
			return err
		}
		if err := c.Batch(id).Stop(ctx, ""); id == "" {
			return err // an empty one is chosen
		}
		_, err := c.StartBatch(ctx, client.BatchOptions{ID: id})
		return err
	},
	"Signal": func(ctx context.Context, c *client.Client, id string) error {
		return c.Signal(ctx, id, "n", nil, client.SignalOptions{})
	},
	"Query": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Query(ctx, id, "", "n", nil)
		return err
	},
	"Update": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Update(ctx, id, "n", nil, client.UpdateOptions{})
		return err
	},
	"Call": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Call(ctx, id, "n", nil, client.UpdateOptions{})
		return err
	},
	"Result": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Result(ctx, id, "")
		return err
	},
	"Describe": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Describe(ctx, id, "")
		return err
	},
	"Waits": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Waits(ctx, id, "")
		return err
	},
	"History": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.History(ctx, id, "")
		return err
	},
	"Topics": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Topics(ctx, id, "")
		return err
	},
	"Topic": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Topic(ctx, id, "", "n", 0)
		return err
	},
	"WaitTopic": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.WaitTopic(ctx, id, "", "n", 0)
		return err
	},
	"ReadTopic": func(ctx context.Context, c *client.Client, id string) (err error) {
		for _, err = range c.ReadTopic(ctx, id, "n", 0, client.ReadOptions{NoWait: true}) {
			return err
		}
		return err
	},
	"WaitHistory": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.WaitHistory(ctx, id, "", 1)
		return err
	},
	"Runs": func(ctx context.Context, c *client.Client, id string) error {
		_, _, err := c.Runs(ctx, id, "")
		return err
	},
	"Reset": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Reset(ctx, id, client.ResetOptions{})
		return err
	},
	"Move": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Move(ctx, id, client.MoveOptions{})
		return err
	},
	"Cancel":    func(ctx context.Context, c *client.Client, id string) error { return c.Cancel(ctx, id, "", "") },
	"Terminate": func(ctx context.Context, c *client.Client, id string) error { return c.Terminate(ctx, id, "", "") },
	"Delete":    func(ctx context.Context, c *client.Client, id string) error { return c.Delete(ctx, id, "") },
	"FailUpdate": func(ctx context.Context, c *client.Client, id string) error {
		return c.FailUpdate(ctx, id, "", "u", "")
	},
	"Pause": func(ctx context.Context, c *client.Client, id string) error {
		return c.Pause(ctx, id, client.PauseOptions{})
	},
	"Resume": func(ctx context.Context, c *client.Client, id string) error {
		return c.Resume(ctx, id, client.PauseOptions{})
	},
	"Retry":         func(ctx context.Context, c *client.Client, id string) error { return c.Retry(ctx, id, "") },
	"RetryActivity": func(ctx context.Context, c *client.Client, id string) error { return c.RetryActivity(ctx, id, "", 5) },
	"CompleteByHand": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.CompleteByHand(ctx, id, "1-0000000000000000", 5, nil, "")
		return err
	},
	"FailByHand": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.FailByHand(ctx, id, "1-0000000000000000", 5, nil, "")
		return err
	},
	"Handle": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Handle(id, "", "u").Wait(ctx)
		return err
	},
	"CreateSchedule": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.CreateSchedule(ctx, id, "t", nil, client.ScheduleOptions{})
		return err
	},
	"Schedule.Change": func(ctx context.Context, c *client.Client, id string) error {
		return c.Schedule(id).Change(ctx, "t", nil, client.ScheduleOptions{})
	},
	"Schedule.Pause":   func(ctx context.Context, c *client.Client, id string) error { return c.Schedule(id).Pause(ctx, "") },
	"Schedule.Unpause": func(ctx context.Context, c *client.Client, id string) error { return c.Schedule(id).Unpause(ctx, "") },
	"Schedule.Trigger": func(ctx context.Context, c *client.Client, id string) error { return c.Schedule(id).Trigger(ctx, "") },
	"Schedule.Backfill": func(ctx context.Context, c *client.Client, id string) error {
		return c.Schedule(id).Backfill(ctx, time.Time{}, time.Time{}, "")
	},
	"Schedule.Describe": func(ctx context.Context, c *client.Client, id string) error {
		_, err := c.Schedule(id).Describe(ctx)
		return err
	},
	"Schedule.Delete": func(ctx context.Context, c *client.Client, id string) error { return c.Schedule(id).Delete(ctx) },
}

// byName are the calls whose request has a name, or the id of an update, in its path.
var byName = map[string]func(ctx context.Context, c *client.Client, name string) error{
	"Signal": func(ctx context.Context, c *client.Client, name string) error {
		return c.Signal(ctx, "w", name, nil, client.SignalOptions{})
	},
	"Topic": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.Topic(ctx, "w", "", name, 0)
		return err
	},
	"WaitTopic": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.WaitTopic(ctx, "w", "", name, 0)
		return err
	},
	"ReadTopic": func(ctx context.Context, c *client.Client, name string) (err error) {
		for _, err = range c.ReadTopic(ctx, "w", name, 0, client.ReadOptions{NoWait: true}) {
			return err
		}
		return err
	},
	"Query": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.Query(ctx, "w", "", name, nil)
		return err
	},
	"Update": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.Update(ctx, "w", name, nil, client.UpdateOptions{})
		return err
	},
	"FailUpdate": func(ctx context.Context, c *client.Client, name string) error {
		return c.FailUpdate(ctx, "w", "", name, "")
	},
	"TypeContract": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.TypeContract(ctx, name)
		return err
	},
	"Redrive": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.Redrive(ctx, name)
		return err
	},
	"Handle": func(ctx context.Context, c *client.Client, name string) error {
		_, err := c.Handle("w", "", name).Wait(ctx)
		return err
	},
}

// withoutID are the methods whose request has no such id.
var withoutID = []string{
	"Count", "Costs", "List", "ListPage", "Schedules", "Schedule", "CompleteActivity", "FailActivity", "HeartbeatActivity",
	"Builds", "Deployment", "Queues", "Redrive", "Types", "Contract", "TypeContract", "Batch", "Batches", "WebhookSecret",
}

// A call with an invalid id or name returns ErrInvalid with the reason, whatever is wrong with it,
// and sends nothing.
func TestInvalidIDs(t *testing.T) {
	t.Parallel()
	c := client.ForHandler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the client sent %s %s", r.Method, r.URL)
	}))
	check := func(method, id string, err error) {
		t.Helper()
		var p *client.Problem
		if !errors.Is(err, client.ErrInvalid) || errors.Is(err, client.ErrNotFound) || !errors.As(err, &p) || p.Status != http.StatusBadRequest || p.Detail == "" {
			t.Errorf("%s of %q: %v, want ErrInvalid with the reason", method, id, err)
		}
	}
	for method, call := range byID {
		for _, id := range []string{"", ".", "..", "a/b", "a b", "é", strings.Repeat("a", 256)} {
			if chosen := id == "" && (method == "Start" || method == "Run"); !chosen {
				check(method, id, call(t.Context(), c, id))
			}
		}
	}
	for method, call := range byName {
		for _, name := range []string{"", ".", "..", strings.Repeat("a", 256)} {
			check(method, name, call(t.Context(), c, name))
		}
	}
}

// Each method of a client and of a schedule is tested, or has no id.
func TestInvalidIDsOfAllMethods(t *testing.T) {
	t.Parallel()
	for prefix, typ := range map[string]reflect.Type{"": reflect.TypeFor[*client.Client](), "Schedule.": reflect.TypeFor[client.Schedule]()} {
		for m := range typ.Methods() {
			name, exempt := prefix+m.Name, false
			for _, other := range withoutID {
				exempt = exempt || other == name
			}
			if (byID[name] == nil) != exempt {
				t.Errorf("%s: add it to byID, or to withoutID if its request has no id", name)
			}
		}
	}
}
