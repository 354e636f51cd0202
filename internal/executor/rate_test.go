package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// paced is a deployment whose default task queue has a rate, and a record of its activities.
type paced struct {
	*testbed.Deployment
	t     *testing.T
	rate  limits.Rate
	epoch time.Time

	takes time.Duration // how long an attempt takes
	fails int           // how many attempts of each activity fail

	mu    sync.Mutex
	begun []time.Duration // since the epoch
}

var pacedType = workflow.NewWorkflow[int, []string]("paced")

func newPaced(t *testing.T, perSecond float64, burst int) *paced {
	return &paced{Deployment: testbed.New(t), t: t, rate: limits.Rate{PerSecond: perSecond, Burst: burst}, epoch: time.Now()}
}

// registrations returns a workflow that starts as many activities at once as its input says, each
// with these options.
func (d *paced) registrations(o activity.Options) []workflow.Registration {
	tick := activity.New("tick", func(ctx context.Context, _ int) (string, error) {
		d.mu.Lock()
		d.begun = append(d.begun, time.Since(d.epoch))
		d.mu.Unlock()
		time.Sleep(d.takes)
		if activity.InfoOf(ctx).Attempt <= d.fails {
			return "", errors.New("failed")
		}
		return "ran", nil
	}, o)
	return []workflow.Registration{tick, workflow.Bind(pacedType, func(ctx workflow.Context, n int) ([]string, error) {
		results := make([]string, n)
		var group workflow.WaitGroup
		for i := range n {
			group.Go(ctx, func(ctx workflow.Context) {
				var err error
				if results[i], err = tick.Run(ctx, i); err != nil {
					results[i] = "did not run"
				}
			})
		}
		return results, group.Wait(ctx)
	})}
}

// options returns the options of a process.
func (d *paced) options() executor.Options {
	return executor.Options{Rate: func(taskQueue string) limits.Rate {
		if taskQueue != "" {
			return limits.Rate{}
		}
		return d.rate
	}}
}

// take removes the next message of an activity from its queue.
func (d *paced) take() *engine.Message {
	d.t.Helper()
	deliveries, err := d.Queue.Receive(d.t.Context(), queue.Activities, 1)
	if err != nil {
		d.t.Fatal(err)
	}
	m, err := outbox.Decode(deliveries[0].Body)
	if err = errors.Join(err, d.Queue.Delete(d.t.Context(), queue.Activities, deliveries[0].Receipt)); err != nil {
		d.t.Fatal(err)
	}
	return m
}

// start starts a workflow of n activities.
func (d *paced) start(p *testbed.Process, id string, n int) workflow.Run[[]string] {
	d.t.Helper()
	run, err := pacedType.Start(d.t.Context(), p.Client, id, n)
	if err != nil {
		d.t.Fatal(err)
	}
	return run
}

// result returns how many activities of a workflow ran.
func (d *paced) result(run workflow.Run[[]string]) (ran int) {
	d.t.Helper()
	results, err := run.Result(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, r := range results {
		if r == "ran" {
			ran++
		}
	}
	return ran
}

// holds demands that each window has no more attempts than the rate allows for the window and
// longer together, plus the burst.
func (d *paced) holds(longer time.Duration) {
	d.t.Helper()
	for i := range d.begun {
		for j := i; j < len(d.begun); j++ {
			window := d.begun[j] - d.begun[i] + longer
			if most := int(window/d.rate.Every()) + d.rate.AtOnce(); j-i+1 > most {
				d.t.Fatalf("%d attempts began in %v, from %v on; at most %d may", j-i+1, window-longer, d.begun[i], most)
			}
		}
	}
}

// All processes together begin as many attempts as the rate allows: first a burst, and then one
// after the other.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const activities, burst = 100, 5
		d := newPaced(t, 10, burst)
		p := d.Start(d.options(), d.registrations(activity.Options{})...)
		d.Start(d.options(), d.registrations(activity.Options{})...)
		if ran := d.result(d.start(p, "a", activities)); ran != activities {
			t.Errorf("%d of %d activities ran", ran, activities)
		}
		if d.holds(0); len(d.begun) != activities {
			t.Errorf("%d attempts", len(d.begun))
		}
		const slot = (activities - burst) * 100 * time.Millisecond
		if last := d.begun[activities-1]; last < slot || last >= slot+100*time.Millisecond { // a lost race takes some time
			t.Errorf("the last attempt began after %v, want %v", last, slot)
		}
		time.Sleep(time.Minute) // by then there is a full burst again, and no more
		d.result(d.start(p, "b", activities))
		d.holds(0)
	})
}

// Each attempt takes a slot. Only the first attempt has to begin in time.
func TestRateOfFurtherAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1, 1)
		d.fails = 2
		p := d.Start(d.options(), d.registrations(activity.Options{ScheduleToStart: 1500 * time.Millisecond})...)
		if ran := d.result(d.start(p, "a", 2)); ran != 2 || len(d.begun) != 6 {
			t.Errorf("%d ran, in attempts after %v", ran, d.begun)
		}
		d.holds(0)
	})
}

// Slots that are further ahead than a queue can delay a message are waited for in the store.
func TestRateOfOneInAnHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1.0/3600, 0)
		run := d.start(d.Start(d.options(), d.registrations(activity.Options{})...), "a", 3)
		time.Sleep(2*time.Hour + time.Minute)
		if d.result(run); fmt.Sprint(d.begun) != "[0s 1h0m0s 2h0m0s]" {
			t.Errorf("attempts began after %v", d.begun)
		}
	})
}

// After a time without attempts, its unused slots are not all used at once.
func TestRateAfterAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const activities, kept = 200, 5 * time.Second
		d := newPaced(t, 10, 1)
		away := d.Idle(d.options(), d.registrations(activity.Options{})...)
		run := d.start(away, "a", activities)
		for d.Queue.Ready(queue.Activities) { // all activities get their slots, and one begins
			d.DrainFor(t.Context(), 0, func(string) *testbed.Process { return away })
		}
		time.Sleep(time.Hour)
		d.Start(d.options(), d.registrations(activity.Options{})...)
		if ran := d.result(run); ran != activities || len(d.begun) != activities {
			t.Errorf("%d of %d activities ran, in %d attempts", ran, activities, len(d.begun))
		}
		d.holds(kept)
	})
}

// An activity that cannot begin in time takes no slot from those that can. If activities arrive too
// fast, as many run as the rate allows.
func TestRateAndTheLastMomentToBegin(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]activity.Options{
		"ScheduleToStart": {ScheduleToStart: 3 * time.Second}, "ScheduleToClose": {ScheduleToClose: 3500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newPaced(t, 1, 1)
				p := d.Start(d.options(), d.registrations(o)...)
				if ran := d.result(d.start(p, "a", 10)); ran != 4 {
					t.Errorf("%d activities ran, want one at once, and one in each of three seconds", ran)
				}
				if took := time.Since(d.epoch).Round(100 * time.Millisecond); took > 4*time.Second {
					t.Errorf("the other activities failed after %v", took)
				}
				time.Sleep(time.Second)
				before := time.Since(d.epoch)
				if d.result(d.start(p, "b", 1)); d.begun[4] != before {
					t.Errorf("an activity began after %v, want %v: the rate was not used up", d.begun[4], before)
				}
			})
		})
	}
}

// A redelivered message takes another slot, because it may have used its first one. No attempt has
// begun, so none is counted, whatever the receive count is.
func TestRateOfRedeliveries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1, 1)
		p := d.Idle(d.options(), d.registrations(activity.Options{Retry: activity.Retry{MaxAttempts: 2}})...)
		run := d.start(p, "a", 1)
		message := d.take()
		for look := range 3 {
			if _, err := d.Store.Reserve(t.Context(), store.Reservation{Floor: time.Now(), By: time.Minute}); err != nil { // another activity has taken the slot
				t.Fatal(err)
			}
			handleOnce(t, p, message, 1+5*look)
			time.Sleep(2 * time.Minute)
			waiting := d.take()
			if waiting.Attempt != 1 || waiting.Reserved <= message.Reserved || waiting.Due != waiting.Reserved || waiting.Sent != message.Sent || waiting.Look != look+1 {
				t.Errorf("the waiting messages are %+v", waiting)
			}
			message = waiting
		}
		handleOnce(t, p, message, 9)
		d.Drain(t.Context(), func(string) *testbed.Process { return p })
		if ran := d.result(run); ran != 1 || len(d.begun) != 1 {
			t.Errorf("%d ran, in %d attempts", ran, len(d.begun))
		}
	})
}

// Copies of a message do not multiply. Of the copies that wait for a slot at the same time, one
// continues, however often each is delivered.
func TestRateOfCopies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1, 1)
		p := d.Idle(d.options(), d.registrations(activity.Options{})...)
		run := d.start(p, "a", 1)
		all := []*engine.Message{d.take()}
		for look := range 20 {
			if _, err := d.Store.Reserve(t.Context(), store.Reservation{Floor: time.Now(), By: time.Minute}); err != nil {
				t.Fatal(err)
			}
			for _, m := range all {
				for range 2 { // each copy is duplicated
					handleOnce(t, p, m, 1)
				}
			}
			time.Sleep(5 * time.Minute)
			for all = nil; d.Queue.Ready(queue.Activities); {
				all = append(all, d.take())
			}
			if len(all) == 0 || len(all) > 2 {
				t.Fatalf("after look %d %d messages wait", look, len(all))
			}
		}
		for _, m := range all {
			handleOnce(t, p, m, 1)
		}
		d.Drain(t.Context(), func(string) *testbed.Process { return p })
		if ran := d.result(run); ran != 1 {
			t.Errorf("%d ran", ran)
		}
	})
}

// An activity with a single attempt does not run twice if it is unknown whether its waiting message
// was sent.
func TestRateIfASendMayHaveFailed(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newPaced(t, 1, 1)
			d.takes = 5 * time.Second
			sends := &unsure{Sender: d.Ports.Queue, applied: applied}
			d.Ports.Queue = sends
			p := d.Start(d.options(), d.registrations(activity.Options{Retry: activity.Retry{MaxAttempts: 1}})...)
			if ran := d.result(d.start(p, "a", 4)); ran > 4 || len(d.begun) != ran || sends.failed == 0 {
				t.Errorf("%d ran, in %d attempts; %d sends have failed", ran, len(d.begun), sends.failed)
			}
		})
	}
}

// unsure fails the first send of a message that waits for its slot.
type unsure struct {
	queue.Sender
	applied bool
	failed  int
}

func (u *unsure) Send(ctx context.Context, name string, all ...queue.Message) error {
	if name != queue.Activities || all[0].Delay == 0 || u.failed > 0 {
		return u.Sender.Send(ctx, name, all...)
	}
	if u.failed++; u.applied {
		_ = u.Sender.Send(ctx, name, all...)
	}
	return errors.New("no answer")
}

// While the store gives out no reservations, no attempt begins or is counted, and operators are
// warned.
func TestRateWithoutTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1, 1)
		away := &awayRates{Rates: d.Ports.Rates, until: time.Now().Add(time.Minute)}
		d.Ports.Rates = away
		var warnings testbed.Warnings
		o := d.options()
		o.Logger = warnings.Logger()
		p := d.Start(o, d.registrations(activity.Options{Retry: activity.Retry{MaxAttempts: 1}})...)
		run := d.start(p, "a", 2)
		time.Sleep(2 * time.Minute)
		if ran := d.result(run); ran != 2 || len(d.begun) != 2 || d.begun[0] < time.Minute {
			t.Errorf("%d ran, after %v", ran, d.begun)
		}
		if told := warnings.Take(); !strings.Contains(told, "gives out no reservation") {
			t.Errorf("operators see %q", told)
		}
	})
}

// awayRates is a store that is unavailable for a while.
type awayRates struct {
	store.Rates
	until time.Time
}

func (a *awayRates) Reserve(ctx context.Context, s store.Reservation) (time.Time, error) {
	if time.Now().Before(a.until) {
		return time.Time{}, store.ErrThrottled
	}
	return a.Rates.Reserve(ctx, s)
}

// If activities have a rate, none runs inline after another, because it would take no slot.
func TestRateAndInline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newPaced(t, 1, 1)
		p := d.Start(d.options(), testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"courier","input":[{"name":"one"},{"name":"two"},{"name":"three"}]}`)
		time.Sleep(1900 * time.Millisecond)
		if got := resultText(p); strings.Contains(got, "did three") {
			t.Errorf("three activities in less than two seconds: %s", got)
		}
		time.Sleep(time.Second)
		if got := resultText(p); !strings.Contains(got, "did three") {
			t.Error(got)
		}
	})
}
