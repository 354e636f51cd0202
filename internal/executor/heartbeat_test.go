package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

var beating = workflow.NewWorkflow[workflow.None, string]("beating")

// pulse returns a deployment and a run of a workflow that runs one activity and returns the
// activity's result. A signal cancels the activity.
func pulse(t *testing.T, o activity.Options, code func(context.Context) (string, error)) (*testbed.Deployment, []workflow.Registration) {
	act := activity.New("beat", func(ctx context.Context, _ activity.None) (string, error) { return code(ctx) }, o)
	stop := workflow.NewSignal[workflow.None]("stop")
	run := workflow.Bind(beating, func(ctx workflow.Context, _ workflow.None) (string, error) {
		inner, cancel := workflow.WithCancel(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			if _, err := stop.Receive(ctx); err == nil {
				cancel()
			}
		})
		result, err := act.Run(inner, activity.None{})
		if errors.Is(err, workflow.ErrCanceled) {
			return "canceled", workflow.Sleep(ctx, time.Hour) // long enough to see the end of the activity
		}
		return result, err
	}, workflow.Names(stop))
	return testbed.New(t), []workflow.Registration{run, act}
}

func startPulse(t *testing.T, p *testbed.Process) {
	t.Helper()
	if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"beating"}`); a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

func outcomeOf(t *testing.T, p *testbed.Process) string {
	t.Helper()
	result, err := beating.Get(p.Client, "a").Result(t.Context())
	return fmt.Sprint(result, " ", err)
}

// The next attempt has the last details of a failed one, including details that were not recorded
// while it ran.
func TestHeartbeatDetails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		d, all := pulse(t, activity.Options{StartToClose: time.Hour}, func(ctx context.Context) (string, error) {
			from, ok := activity.HeartbeatDetails[int](ctx)
			seen = append(seen, fmt.Sprint(from, ok))
			for i := from; i < from+3; i++ {
				if err := activity.Heartbeat(ctx, i+1); err != nil {
					return "", err
				}
				time.Sleep(time.Second)
			}
			if from < 6 {
				return "", errors.New("not yet")
			}
			return "done", nil
		})
		p := d.Start(executor.Options{}, all...)
		startPulse(t, p)
		if got := outcomeOf(t, p); got != "done <nil>" || fmt.Sprint(seen) != "[0 false 3 true 6 true]" {
			t.Errorf("%s; the attempts had %v", got, seen)
		}
	})
}

// If the process dies, the redelivered message repeats the attempt with the recorded details. If
// attempts are not counted, the attempt's number is one more than the known failed attempts.
func TestHeartbeatOfAProcessThatDies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		d, all := pulse(t, activity.Options{StartToClose: time.Hour}, func(ctx context.Context) (string, error) {
			if at, ok := activity.HeartbeatDetails[string](ctx); ok {
				return fmt.Sprint("attempt ", activity.InfoOf(ctx).Attempt, " after ", at), nil
			}
			_ = activity.Heartbeat(ctx, "halfway")
			<-ctx.Done() // from here on the process is silent
			return "", ctx.Err()
		})
		p := d.Idle(executor.Options{}, all...)
		startPulse(t, p)
		var now schema.Description
		sent := messages(t, d, queue.Activities)
		go func() { _ = p.Service.Service.Deliveries.Handle(ctx, executor.Delivery{Message: sent[0], Received: 1}) }()
		synctest.Wait()
		p.Do(http.MethodGet, "/v1/workflows/a", "").Into(t, &now)
		if len(now.PendingActivities) != 1 || now.PendingActivities[0].Attempt != 1 || now.PendingActivities[0].NextAttemptAt != nil {
			t.Errorf("while the attempt runs: %+v", now.PendingActivities)
		}
		handleOnce(t, p, sent[0], 2)
		if got := outcomeOf(t, p); got != "attempt 1 after halfway <nil>" {
			t.Error(got)
		}
		end()
		time.Sleep(2 * time.Hour)
	})
}

// An attempt that sends no heartbeat for too long has failed, even if it has time left.
func TestHeartbeatTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun []time.Time
		d, all := pulse(t, activity.Options{StartToClose: time.Hour, Heartbeat: time.Minute, Retry: activity.Retry{MaxAttempts: 2}}, func(ctx context.Context) (string, error) {
			begun = append(begun, time.Now())
			for range 5 {
				time.Sleep(50 * time.Second)
				if err := activity.Heartbeat(ctx, activity.None{}); err != nil {
					return "", err
				}
			}
			<-ctx.Done()
			return "", context.Cause(ctx)
		})
		p := d.Start(executor.Options{}, all...)
		startPulse(t, p)
		got := outcomeOf(t, p)
		if !strings.Contains(got, "silent for longer than 1m0s") || len(begun) != 2 || begun[1].Sub(begun[0]).Round(time.Second) != 311*time.Second {
			t.Errorf("%s; attempts began at %v", got, begun)
		}
		if n := typed(d, history.TypeActivityTaskTimedOut); n != 1 {
			t.Errorf("%d time-outs are recorded", n)
		}
	})
}

// A heartbeat reports to an attempt that its workflow no longer waits for it.
func TestHeartbeatOfACanceledActivity(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []error
		d, all := pulse(t, activity.Options{StartToClose: time.Hour}, func(ctx context.Context) (string, error) {
			for {
				if err := activity.Heartbeat(ctx, "working"); err != nil {
					told = append(told, err, activity.Heartbeat(ctx, "still"), ctx.Err())
					return "", err
				}
				time.Sleep(10 * time.Second)
			}
		})
		p := d.Start(executor.Options{}, all...)
		startPulse(t, p)
		time.Sleep(time.Minute)
		p.Do(http.MethodPost, "/v1/workflows/a/signals/stop", "")
		if got := outcomeOf(t, p); got != "canceled <nil>" || len(told) != 3 || !errors.Is(told[0], workflow.ErrCanceled) || !errors.Is(told[1], workflow.ErrCanceled) || told[2] == nil {
			t.Errorf("%s; the heartbeat returned %v", got, told)
		}
		if n := typed(d, history.TypeActivityTaskCanceled); n != 1 {
			t.Errorf("the cancellation is recorded %d times", n)
		}
	})
}

// A recorded heartbeat costs a write and a read. Heartbeats in between cost nothing.
func TestHeartbeatCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var costs []meter.Cost
		var p *testbed.Process
		d, all := pulse(t, activity.Options{StartToClose: time.Hour}, func(ctx context.Context) (string, error) {
			time.Sleep(time.Second) // the meter counts the whole process, so nothing else may run during a heartbeat
			for range 7 {
				before := p.Meter.Cost()
				if err := activity.Heartbeat(ctx, "x"); err != nil {
					return "", err
				}
				after := p.Meter.Cost()
				costs = append(costs, meter.Cost{Writes: after.Writes - before.Writes, Reads: after.Reads - before.Reads, Messages: after.Messages - before.Messages})
				time.Sleep(10 * time.Second)
			}
			return "", activity.Heartbeat(ctx, strings.Repeat("x", 20<<10))
		})
		p = d.Start(executor.Options{}, all...)
		startPulse(t, p)
		time.Sleep(65 * time.Second)
		synctest.Wait() // the activity sleeps, so the costs can be read now
		recorded, none := meter.Cost{Writes: 1, Reads: 1}, meter.Cost{}
		for i, c := range costs {
			if want := []meter.Cost{recorded, none, none}[i%3]; c != want {
				t.Errorf("heartbeat %d cost %v, want %v", i, c, want)
			}
		}
		if len(costs) < 7 {
			t.Errorf("%d heartbeats", len(costs))
		}
		p.Do(http.MethodPost, "/v1/workflows/a/terminate", "")
		time.Sleep(time.Hour)
	})
}

// If no process runs activities, an activity whose time has passed still ends. One that has waited
// too long does not begin.
func TestActivitiesThatNoProcessRan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options activity.Options
		queue   string // the queue whose messages are handled in the end
		want    string
	}{
		"nobody ever":   {activity.Options{ScheduleToClose: time.Hour}, queue.Timers, "its time was over"},
		"too late":      {activity.Options{ScheduleToClose: time.Hour}, queue.Activities, "its time was over before the attempt began"},
		"begun late":    {activity.Options{ScheduleToStart: 10 * time.Minute}, queue.Activities, "no attempt had begun after 10m0s"},
		"begun in time": {activity.Options{ScheduleToStart: 3 * time.Hour, ScheduleToClose: 4 * time.Hour}, queue.Activities, "begun"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, all := pulse(t, test.options, func(context.Context) (string, error) { return "begun", nil })
				p := d.Idle(executor.Options{LongTimer: 24 * time.Hour}, all...)
				startPulse(t, p)
				time.Sleep(2 * time.Hour)
				for _, m := range messages(t, d, test.queue) {
					handleOnce(t, p, m, 1)
				}
				if got := outcomeOf(t, p); !strings.Contains(got, test.want) {
					t.Error(got)
				}
			})
		})
	}
}

// handleOnce lets a process handle one delivery of a message.
func handleOnce(t *testing.T, p *testbed.Process, m *engine.Message, received int) {
	t.Helper()
	if err := p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: received}); err != nil {
		t.Fatal(err)
	}
}

// messages receives the visible messages of a queue.
func messages(t *testing.T, d *testbed.Deployment, name string) (all []*engine.Message) {
	t.Helper()
	deliveries, err := d.Queue.Receive(t.Context(), name, queue.MaxBatch)
	if err != nil {
		t.Fatal(err)
	}
	for _, delivery := range deliveries {
		m, err := outbox.Decode(delivery.Body)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// typed counts the events of a type in the first run of the workflow a.
func typed(d *testbed.Deployment, typ history.Type) int {
	types := []history.Type{}
	for _, c := range d.Runs("a")[0].Log {
		for _, e := range c.Events() {
			types = append(types, e.Type())
		}
	}
	return testbed.Count(types, typ)
}
