package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// reporting starts a workflow that does one job on the task queue reports, with at most times
// attempts.
func reporting(t *testing.T, p *testbed.Process, job string, times int) {
	t.Helper()
	a := p.Do(http.MethodPost, "/v1/workflows", fmt.Sprintf(`{"workflowId":"a","type":"courier","input":[{%s,"queue":"reports","times":%d}]}`, job, times))
	if a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// resultText returns the result of the workflow a.
func resultText(p *testbed.Process) string {
	return string(p.Do(http.MethodGet, "/v1/workflows/a/result", "").Body)
}

// What follows from a message of a task queue goes to that task queue, too:
//   - the next attempt, even if the input is too large for the message to carry the activity
//   - a copy that waits for a commit
//   - a message that returns from the dead letters
func TestTaskQueueOfFollowingMessages(t *testing.T) {
	t.Parallel()
	reports := queue.ForTasks("reports")
	for name, size := range map[string]int{"a small input": 10, "a large input": 40 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				p := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
				reporting(t, p, `"fails":1,"name":"`+strings.Repeat("x", size)+`"`, 0)
				first := messages(t, d, reports)[0]
				if large := first.Activity == nil; large != (size > 32<<10) {
					t.Errorf("the message carries the activity: %v", !large)
				}
				stray := *first
				stray.Slot = 1 // the slot of a commit that is not in the log yet
				for _, handle := range []func() error{
					func() error {
						return p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: first, Received: 1})
					},
					func() error {
						return p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: &stray, Received: 1})
					},
					func() error { return p.Service.Service.Deliveries.HandleDead(t.Context(), &stray) },
				} {
					before := d.Queue.Len(reports)
					if err := handle(); err != nil || d.Queue.Len(reports) != before+1 {
						t.Errorf("%v; %d messages of the task queue, want %d", err, d.Queue.Len(reports), before+1)
					}
				}
				if n := d.Queue.Len(queue.Activities) + d.Queue.Len(queue.Timers); n != 0 {
					t.Errorf("%d messages on other queues", n)
				}
				d.Drain(t.Context(), func(string) *testbed.Process { return p })
				if got := resultText(p); !strings.Contains(got, `"did xxx`) {
					t.Error(got)
				}
			})
		})
	}
}

// An activity whose task queue was removed waits, and operators see that. It continues when the
// queue exists again. No attempt is counted, and there is one message, however often the queue was
// looked up.
func TestRemovedTaskQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		var warnings testbed.Warnings
		with := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
		without := d.Idle(executor.Options{Logger: warnings.Logger(), Engine: engine.Options{TaskQueues: []string{"slow"}}}, testbed.Workload("build-2")...)
		reporting(t, with, `"name":"x","fails":1`, 2)
		for _, m := range messages(t, d, queue.ForTasks("reports")) {
			for range 2 { // the message was redelivered
				handleOnce(t, without, m, 1)
			}
		}
		if err := d.Queue.Delete(t.Context(), queue.ForTasks("reports")); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(5 * time.Minute)
			if sent, err := without.Service.Service.Deliveries.Sweep(t.Context()); err != nil || sent != 1 {
				t.Fatalf("%d messages were due, %v; want the waiting one", sent, err)
			}
		}
		if told := warnings.Take(); !strings.Contains(told, "task queue that this deployment does not have") {
			t.Errorf("operators see %q", told)
		}
		time.Sleep(5 * time.Minute)
		if sent, err := with.Service.Service.Deliveries.Sweep(t.Context()); err != nil || sent != 1 {
			t.Fatalf("%d, %v", sent, err)
		}
		d.Drain(t.Context(), func(string) *testbed.Process { return with })
		if got := resultText(with); !strings.Contains(got, `"did x"`) {
			t.Error(got)
		}
	})
}

// A workflow that starts an activity on a missing task queue continues when the queue exists.
func TestTaskQueueThatIsAdded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		before := d.Start(executor.Options{Engine: engine.Options{TaskQueues: []string{"slow"}}}, testbed.Workload("build-2")...)
		reporting(t, before, `"name":"x"`, 0)
		time.Sleep(time.Minute)
		if got := string(before.Do(http.MethodGet, "/v1/workflows/a", "").Body); !strings.Contains(got, "WEFT_TASK_QUEUES") {
			t.Errorf("the log does not say what the run waits for: %s", got)
		}
		before.Stop()
		after := d.Start(executor.Options{}, testbed.Workload("build-2")...)
		time.Sleep(15 * time.Minute)
		if got := resultText(after); !strings.Contains(got, `"did x"`) {
			t.Error(got)
		}
	})
}

// A process runs a limited number of a task queue's activities at once. The others wait in the
// queue, and no attempt is counted for them.
func TestTaskQueueAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const runs = 9
		d := testbed.New(t)
		p := d.Start(executor.Options{}, testbed.Workload("build-2")...)
		begun := time.Now()
		for i := range runs {
			p.Do(http.MethodPost, "/v1/workflows", fmt.Sprintf(`{"workflowId":"w%d","type":"courier","input":[{"name":"x","for":"1h","queue":"slow","times":1}]}`, i))
		}
		for i := range runs {
			for !strings.Contains(string(p.Do(http.MethodGet, fmt.Sprintf("/v1/workflows/w%d/result", i), "").Body), `"did x"`) {
				if time.Sleep(time.Minute); time.Since(begun) > 24*time.Hour {
					t.Fatalf("run %d did not complete", i)
				}
			}
		}
		if took := time.Since(begun).Round(time.Hour); took != 5*time.Hour { // two run at once
			t.Errorf("%d attempts of an hour took %v, want 5h", runs, took)
		}
	})
}

// Messages that were parked before the task queue was removed, and are parked again, stay separate
// if they are separate sendings, because each is responsible for what follows from it.
func TestRemovedTaskQueueAndBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		with := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
		without := d.Idle(executor.Options{Engine: engine.Options{TaskQueues: []string{"slow"}}}, testbed.Workload("build-2")...)
		reporting(t, with, `"name":"x"`, 0)
		first := messages(t, d, queue.ForTasks("reports"))[0]
		second := *first
		second.Send++
		for _, m := range []*engine.Message{first, first, &second} {
			if err := without.Service.Service.Deliveries.Park(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			time.Sleep(5 * time.Minute)
			if sent, err := without.Service.Service.Deliveries.Sweep(t.Context()); err != nil || sent != 2 {
				t.Fatalf("%d messages were due, %v; want one of each sending", sent, err)
			}
		}
	})
}

// ScheduleToClose ends an activity on a task queue that nobody serves, because no function receives
// its message or because the deployment no longer has the queue. ScheduleToStart does not: it is
// checked when a function receives the message.
func TestActivitiesThatAreNotServed(t *testing.T) {
	t.Parallel()
	for _, limit := range []string{`"close":"10m"`, `"start":"10m"`} {
		for _, has := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, the deployment has the queue: %v", limit, has), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { serveNobody(t, limit, has) })
			})
		}
	}
}

func serveNobody(t *testing.T, limit string, has bool) {
	d := testbed.New(t)
	with := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
	p := with
	if !has {
		p = d.Idle(executor.Options{Engine: engine.Options{TaskQueues: []string{"slow"}}}, testbed.Workload("build-2")...)
	}
	reporting(t, with, `"name":"x",`+limit, 0)
	first := messages(t, d, queue.ForTasks("reports"))[0]
	told := string(p.Do(http.MethodGet, "/v1/workflows/a", "").Body)
	if held := strings.Contains(told, `"held":"it is to run on the task queue \"reports\", and this deployment has only`); held == has {
		t.Errorf("the log says what the activity waits for: %v; %s", held, told)
	}
	time.Sleep(11 * time.Minute)
	ends := strings.Contains(limit, "close")
	if due := d.Queue.Len(queue.Timers); due != map[bool]int{true: 1}[ends] {
		t.Fatalf("%d messages are due", due)
	}
	if ends {
		m := messages(t, d, queue.Timers)[0]
		handleOnce(t, p, m, 1)
	}
	if got := resultText(with); strings.Contains(got, `"completed"`) != ends {
		t.Errorf("when its time has passed: %s", got)
	}
	handleOnce(t, with, first, 1)
	if got := resultText(with); !strings.Contains(got, `"completed"`) || strings.Contains(got, "did x") {
		t.Errorf("when the queue is served in the end: %s", got)
	}
}
