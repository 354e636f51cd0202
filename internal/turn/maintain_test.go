package turn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// maintained is a deployment whose processes go through all runs once a day.
func maintained(t *testing.T) *turntest.Deployment {
	d := turntest.New(t)
	d.Ports.Scanner = d.Store
	return d
}

func purge(d *turntest.Deployment) {
	for _, name := range []string{queue.Activities, queue.Timers, queue.Workflow} {
		d.Queue.Purge(name)
		d.Queue.Purge(queue.DeadLetters(name))
	}
}

// The workflow of these tests waits in all the ways in which a run can wait for a message.
var (
	lostType  = workflow.Declare[int, string]("lost")
	lostSlow  = activity.New("slow", lostActivity, activity.Options{StartToClose: time.Hour})
	lostOnce  = activity.New("single", lostActivity, activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 1}})
	lostFlaky = activity.New("shaky", func(ctx context.Context, _ int) (string, error) {
		if activity.InfoOf(ctx).Attempt <= 3 {
			return "", errors.New("it takes four attempts")
		}
		return "ok", nil
	}, activity.Options{StartToClose: time.Hour, Retry: activity.Retry{InitialInterval: time.Minute}})
)

func lostActivity(_ context.Context, i int) (string, error) {
	time.Sleep(30 * time.Second)
	return fmt.Sprint("r", i), nil
}

func lostRun(build string) func(workflow.Context, int) (string, error) {
	return func(ctx workflow.Context, n int) (string, error) {
		var group workflow.WaitGroup
		results := make([]string, n)
		for i := range n {
			group.Go(ctx, func(ctx workflow.Context) { results[i], _ = lostSlow.Run(ctx, i) })
		}
		if err := group.Wait(ctx); err != nil {
			return "", err
		}
		flaky, err := lostFlaky.Run(ctx, 0)
		if err != nil {
			return "", err
		}
		if err := workflow.Sleep(ctx, 5*time.Minute); err != nil {
			return "", err
		}
		if build == "build-1" {
			panic("the bug of build 1")
		}
		return fmt.Sprint(results, flaky), workflow.Sleep(ctx, 3*time.Hour)
	}
}

func lostRegistrations(build string) []workflow.Registration {
	return []workflow.Registration{workflow.Bind(lostType, lostRun(build)), lostSlow, lostOnce, lostFlaky}
}

// All queues are purged in the midst of a workflow, whatever it is waiting for: maintenance brings it to its end, and does
// nothing about one that is well.
func TestPurge(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{
		0, 10 * time.Second, 45 * time.Second, 2 * time.Minute, 4 * time.Minute, 9 * time.Minute, 20 * time.Minute,
		20*time.Minute + 5*time.Second, 3 * time.Hour, 3*time.Hour + 10*time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			d, began := maintained(t), time.Now()
			p := d.Start(turn.Options{Build: "build-1"}, lostRegistrations("build-1")...)
			_, err := lostType.Start(t.Context(), p.Client, "w", 3, workflow.StartOptions{StartDelay: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if after >= 20*time.Minute { // the mended build; before, the purge may hit the retries of the broken one
				time.Sleep(20 * time.Minute)
				p.Stop()
				p = d.Start(turn.Options{Build: "build-2"}, lostRegistrations("build-2")...)
			}
			time.Sleep(time.Until(began.Add(after)))
			purge(d)
			p.Stop()
			p = d.Start(turn.Options{Build: "build-2"}, lostRegistrations("build-2")...)
			time.Sleep(3 * 24 * time.Hour)
			result, err := lostType.Get(p.Client, "w").Result(t.Context())
			if err != nil || result != "[r0 r1 r2]ok" {
				t.Errorf("purged after %v: %q, %v", after, result, err)
			}
			p.Stop()
			d.CheckReplay(p)
		})
	}
}

// What is well is not sent again: with maintenance a workflow sends the messages that it sends without.
func TestNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	messages := map[bool]int64{}
	for _, maintains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := turntest.New(t)
			if maintains {
				d.Ports.Scanner = d.Store
			}
			p := d.Start(turn.Options{CheckEvery: time.Hour}, lostRegistrations("build-2")...)
			// One activity at a time: how many messages it takes to bring several results together is chance.
			run, err := lostType.Start(t.Context(), p.Client, "w", 1, workflow.StartOptions{StartDelay: 30 * 24 * time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(31 * 24 * time.Hour)
			if _, err := run.Result(t.Context()); err != nil {
				t.Fatal(err)
			}
			messages[maintains] = p.Meter.Cost().Messages
		})
	}
	if messages[true] != messages[false] {
		t.Errorf("%d messages, without maintenance %d", messages[true], messages[false])
	}
}

// An activity that may run only once, and whose message was lost, is not run a second time: nobody knows whether it ran. It
// ends as timed out when no queue can hold its message any more.
func TestPurgeOfASingleAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		single := workflow.Declare[int, string]("singleRun")
		ran := 0
		once := activity.New("counted", func(context.Context, int) (string, error) {
			ran++
			return "", nil
		}, activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 1}})
		code := workflow.Bind(single, func(ctx workflow.Context, n int) (string, error) { return once.Run(ctx, n) })
		idle := d.Idle(turn.Options{}, code, once)
		if _, err := single.Start(t.Context(), idle.Client, "w", 1, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		purge(d)
		p := d.Start(turn.Options{}, code, once)
		time.Sleep(14 * 24 * time.Hour)
		if run := d.Runs("w")[0]; run.State.Status.Closed() {
			t.Error("it ended when its message could still have come")
		}
		time.Sleep(3 * 24 * time.Hour)
		if _, err := single.Get(p.Client, "w").Result(t.Context()); err == nil || ran > 0 {
			t.Errorf("it ran %d times, and ended with %v", ran, err)
		}
	})
}
