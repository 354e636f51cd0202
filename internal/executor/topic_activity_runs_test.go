package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// An item names its activity so that no other one of the chain has the same ids: runs that follow
// each other schedule their activities with the same events. A reset keeps the ids, those of an
// activity that goes on in the new run as well.
func TestItemsNameTheirActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		relay := workflow.NewWorkflow[int, string]("relay")
		var executions atomic.Int32
		act := activity.New("relay", func(ctx context.Context, in int) (string, error) {
			n := executions.Add(1)
			if err := activity.Publish(ctx, tokensOf, fmt.Sprint(n)); err != nil || n != 2 {
				return "", err
			}
			time.Sleep(10 * time.Second) // the run is reset meanwhile
			return "", activity.Publish(ctx, tokensOf, "late")
		})
		p := testbed.New(t).Start(executor.Options{}, act, workflow.Bind(relay, func(ctx workflow.Context, in int) (string, error) {
			if _, err := act.Run(ctx, in); err != nil || in == 1 {
				return "done", err
			}
			return relay.ContinueAsNew(ctx, in+1)
		}, workflow.Names(tokensOf, testbed.Say)))
		run, err := relay.Start(t.Context(), p.Client, "p", 0)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		publish(t, p, "a task to reset to")
		time.Sleep(time.Second)
		second := latestRun(t, p)
		change(t, p, http.MethodPost, "/reset", `{"to":"lastTask"}`)
		if _, err := run.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		var by []client.TopicActivity
		for item, err := range tokensOf.Read(t.Context(), p.Client, "p", 0, client.ReadOptions{NoWait: true}) {
			if err != nil {
				t.Fatal(err)
			}
			by = append(by, *item.Activity)
		}
		if len(by) != 3 {
			t.Fatalf("%+v", by)
		}
		if by[0].ScheduledEventID != by[1].ScheduledEventID || string(by[0].RunID) != run.RunID {
			t.Errorf("the first run's: %+v", by)
		}
		for _, a := range by[1:] {
			if a.RunID != second || a.ScheduledEventID != by[1].ScheduledEventID {
				t.Errorf("%+v, want the activity of run %s", a, second)
			}
		}
		if latest := latestRun(t, p); latest == second || by[1].Execution == by[2].Execution {
			t.Errorf("the run was not reset, or the activity did not go on: %+v", by)
		}
		time.Sleep(10 * time.Second) // the execution that was overtaken ends
	})
}
