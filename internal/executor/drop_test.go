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

// A delivery that is dropped repairs what the log needs, in this order:
//  1. Two processes receive a message of an activity. Another sending of the message runs the
//     activity, too.
//  2. One process commits the result, and dies before it sends what follows.
//  3. The other process, which does not have that commit, drops its delivery. It sends what follows
//     before it deletes the message. Nothing else sends that for a day.
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
				d.Ports.Log = alive.Log // puts of the dead process still land
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
				other.Send, other.Seen = other.Send+1, 1 // the handler that found the first commit sent it again
				other.CausationID++
				go func() { fail <- errors.New("it fails") }()
				handleOnce(t, second, other, 1)

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
					t.Errorf("the run returned %q: the message that follows from the result was not sent", got)
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

// This is the same with a commit that lands only after the delivery was dropped, minutes after its
// writer died. A copy of the message finds the commit.
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
		other.Send, other.Seen = other.Send+1, 1 // the handler that found the first commit sent it again
		other.CausationID++

		held.held.Store(true) // the put is under way when the process dies
		dead.Store(true)
		go d.hand(first, queue.Activities, message)
		synctest.Wait()
		handleOnce(t, second, other, 1) // this runs the attempt, which fails
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
			t.Errorf("the run returned %q: the message that follows from the result was not sent", got)
		}
	})
}
