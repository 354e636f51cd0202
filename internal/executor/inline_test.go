package executor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// A run schedules an inline activity in the task in which it continues as new. The next run begins
// with another activity of the same number, which runs with its own input.
func TestInlineOfTheNextRun(t *testing.T) {
	t.Parallel()
	lap := workflow.NewWorkflow[int, string]("lap")
	quick := activity.New("quick", func(_ context.Context, text string) (string, error) { return text, nil })
	inline := quick.With(activity.Options{Inline: true})
	sameNumber := false
	for patches := range 8 { // so many events precede the activity of the next run
		run := func(ctx workflow.Context, before int) (string, error) {
			if before < 0 {
				if _, err := quick.Run(ctx, "the one before"); err != nil {
					return "", err
				}
				inline.Start(ctx, "of the run before")
				return lap.ContinueAsNew(ctx, patches)
			}
			for i := range before {
				workflow.Patched(ctx, fmt.Sprint(i))
			}
			return inline.Run(ctx, "of the next run")
		}
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, workflow.Bind(lap, run), quick)
			started, err := lap.Start(t.Context(), p.Client, "w", -1)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			result, err := lap.Get(p.Client, "w").Result(t.Context())
			if err != nil || result != "of the next run" {
				t.Errorf("after %d patches the next run's activity returned %q, %v", patches, result, err)
			}
			last := func(runID string) (id int64) {
				told, err := p.Client.History(t.Context(), "w", runID)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range told.Events {
					if _, ok := e.Attributes.(*history.ActivityTaskScheduled); ok {
						id = e.ID
					}
				}
				return id
			}
			sameNumber = sameNumber || last(started.RunID) == last("")
			p.Stop()
			d.CheckReplay(p)
		})
	}
	if !sameNumber {
		t.Error("the two activities never have the same number")
	}
}

// deaf is a queue that refuses all messages after its process has died.
type deaf struct {
	queue.Sender
	dead bool
}

func (d *deaf) Send(ctx context.Context, name string, messages ...queue.Message) error {
	if d.dead {
		return errors.New("the process is dead")
	}
	return d.Sender.Send(ctx, name, messages...)
}

// A process commits the result of an inline step, and dies before it sends what follows. Another
// process, which holds only the beginning of the run, receives the message that the first one
// handled. Its handler sends what follows. (The model of the protocol found this: decision 30.)
func TestAnInlineStepIsRepairedByAnOldCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		look := func() {}
		chain := workflow.NewWorkflow[int, string]("chain")
		first := activity.New("first", func(context.Context, int) (string, error) { return "1", nil })
		second := activity.New("second", func(context.Context, int) (string, error) {
			look()
			return "2", nil
		}, activity.Options{Inline: true})
		third := activity.New("third", func(context.Context, int) (string, error) { return "3", nil })
		registrations := []workflow.Registration{workflow.Bind(chain, func(ctx workflow.Context, n int) (all string, err error) {
			for _, a := range []activity.Activity[int, string]{first, second, third} {
				result, err := a.Run(ctx, n)
				if err != nil {
					return "", err
				}
				all += result
			}
			return all, nil
		}), first, second, third}
		network := &deaf{Sender: d.Ports.Queue}
		d.Ports.Queue = network
		dies := d.Idle(executor.Options{SoftLimit: time.Second}, registrations...)
		d.Ports.Queue = d.Queue
		other := d.Idle(executor.Options{}, registrations...)
		if _, err := chain.Start(t.Context(), dies.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		look = func() {
			if _, err := other.Describe(t.Context(), "w", ""); err != nil { // this process now holds the run up to here
				t.Error(err)
			}
			network.dead = true
		}
		if err := deliverActivity(t, d, dies, 1); err == nil {
			t.Fatal("the process sent the message that follows from its last step")
		}
		time.Sleep(10 * time.Minute) // then the message is visible again
		look = func() {}
		for range 2 { // the messages of the first and of the second step
			if err := deliverActivity(t, d, other, 2); err != nil {
				t.Fatal(err)
			}
		}
		if err := deliverActivity(t, d, other, 1); err != nil { // the message of the third step
			t.Fatal(err)
		}
		if result, err := chain.Get(other.Client, "w").Result(t.Context()); err != nil || result != "123" {
			t.Errorf("the run returned %q, %v", result, err)
		}
		d.CheckReplay(other)
	})
}
