package executor_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// Two processes receive a message of an activity, and a message of another sending goes on with the
// activity. One process commits the result, and dies before it sends what follows. The other,
// without that commit, drops its delivery: it sends what follows before it deletes the message.
// Nothing else does, for a day.
func TestDroppedMessageIsRepaired(t *testing.T) {
	t.Parallel()
	two := workflow.NewWorkflow[int, string]("two")
	for name, begins := range map[string]bool{"its attempt fails": true, "its attempt does not begin": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newTries(t)
				code := func(do func() error) []workflow.Registration {
					act := activity.New("tried", func(context.Context, int) (string, error) { return "done", do() }, activity.Options{})
					return []workflow.Registration{act, workflow.Bind(two, func(ctx workflow.Context, _ int) (string, error) {
						if _, err := act.Run(ctx, 1); err != nil {
							return "", err
						}
						return "done", workflow.Sleep(ctx, time.Minute)
					})}
				}
				alive := d.Ports
				dead := mortal(&d.Ports)
				d.Ports.Log = alive.Log // its puts still land
				first := d.Idle(executor.Options{}, code(func() error { return nil })...)
				d.Ports = alive
				fail := make(chan error)
				second := d.Idle(executor.Options{}, code(func() error { return <-fail })...)
				if _, err := two.Start(t.Context(), first.Client, "w", 0); err != nil {
					t.Fatal(err)
				}

				message := d.receive(queue.Activities)
				other, err := outbox.Decode(message.Body)
				if err != nil {
					t.Fatal(err)
				}
				other.Send, other.Seen = other.Send+1, 1 // sent again by the handler that found the first commit
				other.CausationID++
				go func() { fail <- errors.New("it fails") }()
				if err := second.Service.Handle(t.Context(), executor.Delivery{Message: other, Received: 1}); err != nil {
					t.Fatal(err)
				}

				done := make(chan bool)
				if begins {
					go func() { done <- d.hand(second, queue.Activities, message) }()
					synctest.Wait()
				}
				dead.Store(true)
				go d.hand(first, queue.Activities, message)
				synctest.Wait()
				if n := len(d.Runs("w")[0].Log); n != 2 {
					t.Fatalf("the log has %d commits", n)
				}
				if begins {
					fail <- errors.New("it fails")
				} else {
					message.Received = 2
					go func() { done <- d.hand(second, queue.Activities, message) }()
				}
				if !<-done {
					t.Fatal("the message was not deleted")
				}
				d.settle(second)
				if got := d.outcome(second); got != "done" {
					t.Errorf("the run is %q: what follows from the result was not sent", got)
				}
			})
		})
	}
}

// heldLog is a log that holds puts until they are released.
type heldLog struct {
	store.Log
	held   atomic.Bool
	let    chan struct{}
	landed chan struct{}
}

// Append implements store.Log.
func (h *heldLog) Append(ctx context.Context, items ...store.Item) error {
	if !h.held.Load() {
		return h.Log.Append(ctx, items...)
	}
	<-h.let
	defer close(h.landed)
	return h.Log.Append(context.WithoutCancel(ctx), items...)
}

// The same, but the commit lands only after the delivery was dropped: minutes after its writer has
// died. A copy of the message finds it.
func TestDroppedMessageIsRepairedWhenAPutLandsLate(t *testing.T) {
	t.Parallel()
	two := workflow.NewWorkflow[int, string]("two")
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		code := func(do func() error) []workflow.Registration {
			act := activity.New("tried", func(context.Context, int) (string, error) { return "done", do() }, activity.Options{})
			return []workflow.Registration{act, workflow.Bind(two, func(ctx workflow.Context, _ int) (string, error) {
				if _, err := act.Run(ctx, 1); err != nil {
					return "", err
				}
				return "done", workflow.Sleep(ctx, time.Minute)
			})}
		}
		alive := d.Ports
		dead := mortal(&d.Ports)
		held := &heldLog{Log: alive.Log, let: make(chan struct{}), landed: make(chan struct{})}
		d.Ports.Log = held
		first := d.Idle(executor.Options{}, code(func() error { return nil })...)
		d.Ports = alive
		second := d.Idle(executor.Options{}, code(func() error { return errors.New("it fails") })...)
		if _, err := two.Start(t.Context(), first.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		message := d.receive(queue.Activities)
		other, err := outbox.Decode(message.Body)
		if err != nil {
			t.Fatal(err)
		}
		other.Send, other.Seen = other.Send+1, 1 // sent again by the handler that found the first commit
		other.CausationID++

		held.held.Store(true) // its put is on its way when it dies
		dead.Store(true)
		go d.hand(first, queue.Activities, message)
		synctest.Wait()
		if err := second.Service.Handle(t.Context(), executor.Delivery{Message: other, Received: 1}); err != nil { // the attempt fails
			t.Fatal(err)
		}
		message.Received = 2
		if !d.hand(second, queue.Activities, message) {
			t.Fatal("the message was not deleted")
		}
		close(held.let)
		<-held.landed
		synctest.Wait()
		if n := len(d.Runs("w")[0].Log); n != 2 {
			t.Fatalf("the log has %d commits", n)
		}
		d.settle(second)
		if got := d.outcome(second); got != "done" {
			t.Errorf("the run is %q: what follows from the result was not sent", got)
		}
	})
}
