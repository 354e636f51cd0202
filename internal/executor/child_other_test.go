package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// doubled sends each message twice.
type doubled struct{ queue.Sender }

// Send implements queue.Sender.
func (q doubled) Send(ctx context.Context, name string, messages ...queue.Message) error {
	if err := q.Sender.Send(ctx, name, messages...); err != nil {
		return err
	}
	return q.Sender.Send(ctx, name, messages...)
}

// A message that has started a child is redelivered to a process that could not start the child: it
// lacks the child's type, or refuses its id. The child has started all the same, and its parent
// gets its outcome.
func TestAStartedChildIsNotRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Ports.Queue = doubled{d.Ports.Queue}
		brood := workflow.Bind(parent, func(ctx workflow.Context, _ string) (string, error) {
			return kid.RunChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k"})
		})
		knows, lacks := d.Idle(executor.Options{}, workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), brood), d.Idle(executor.Options{}, brood)
		run, err := parent.Start(t.Context(), knows.Client, "p", "")
		if err != nil {
			t.Fatal(err)
		}
		deliveries := 0
		next := func(string) *testbed.Process {
			if deliveries++; deliveries == 1 {
				return knows
			}
			return lacks
		}
		d.DrainFor(t.Context(), time.Hour, next)
		if deliveries < 2 || d.Runs("k")[0].State.Status != history.Running || d.Runs("p")[0].State.Status != history.Running {
			t.Fatalf("after %d deliveries the child is %s, and its parent %s", deliveries, d.Runs("k")[0].State.Status, d.Runs("p")[0].State.Status)
		}
		if err := knows.Signal(t.Context(), "k", "go", history.Payload(`"hi"`), client.SignalOptions{}); err != nil {
			t.Fatal(err)
		}
		d.DrainFor(t.Context(), time.Hour, next)
		if got, err := run.Result(t.Context()); got != "heard hi" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}
