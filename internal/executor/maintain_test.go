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
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// maintained is a deployment whose processes check all runs once a day.
func maintained(t *testing.T) *testbed.Deployment {
	d := testbed.New(t)
	d.Ports.Scanner = d.Store
	return d
}

func purge(d *testbed.Deployment) {
	for _, name := range []string{queue.Activities, queue.Timers, queue.Workflow} {
		d.Queue.Purge(name)
		d.Queue.Purge(queue.DeadLetters(name))
	}
}

// The workflow of these tests waits for messages in every way.
var (
	lostType  = workflow.NewWorkflow[int, string]("lost")
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

// All queues are purged in the middle of a workflow, whatever the workflow waits for. Maintenance
// makes it complete. It does nothing to a healthy workflow.
func TestPurge(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{
		0, 10 * time.Second, 45 * time.Second, 2 * time.Minute, 4 * time.Minute, 9 * time.Minute, 20 * time.Minute,
		20*time.Minute + 5*time.Second, 3 * time.Hour, 3*time.Hour + 10*time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			d, began := maintained(t), time.Now()
			p := d.Start(executor.Options{Build: "build-1"}, lostRegistrations("build-1")...)
			_, err := lostType.Start(t.Context(), p.Client, "w", 3, workflow.StartOptions{StartDelay: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if after >= 20*time.Minute { // from here on the fixed build runs; before, the purge may hit retries of the broken one
				time.Sleep(20 * time.Minute)
				p.Stop()
				p = d.Start(executor.Options{Build: "build-2"}, lostRegistrations("build-2")...)
			}
			time.Sleep(time.Until(began.Add(after)))
			purge(d)
			p.Stop()
			p = d.Start(executor.Options{Build: "build-2"}, lostRegistrations("build-2")...)
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

// For a healthy workflow, maintenance sends nothing: the workflow sends the same messages with and
// without it.
func TestNothingIsSentAgain(t *testing.T) {
	t.Parallel()
	messages := map[bool]int64{}
	for _, maintains := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			if maintains {
				d.Ports.Scanner = d.Store
			}
			p := d.Start(executor.Options{CheckEvery: time.Hour}, lostRegistrations("build-2")...)
			// Activities run one at a time, because the number of messages that carry several
			// results is random.
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

// An activity may run only once, and its message was lost before an attempt began. It runs a day
// later, because the record shows that no attempt has begun.
func TestPurgeOfASingleAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		single := workflow.NewWorkflow[int, string]("singleRun")
		ran := 0
		once := activity.New("counted", func(context.Context, int) (string, error) {
			ran++
			return "", nil
		}, activity.Options{StartToClose: time.Hour, Retry: activity.Retry{MaxAttempts: 1}})
		code := workflow.Bind(single, func(ctx workflow.Context, n int) (string, error) { return once.Run(ctx, n) })
		idle := d.Idle(executor.Options{}, code, once)
		if _, err := single.Start(t.Context(), idle.Client, "w", 1, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		purge(d)
		d.Start(executor.Options{}, code, once)
		time.Sleep(3 * 24 * time.Hour)
		if status := d.Runs("w")[0].State.Status; status != history.Completed || ran != 1 {
			t.Errorf("the activity ran %d times, and the run is %v", ran, status)
		}
	})
}

// An activity does not end before the time in its options, even if the slow check repairs something
// else of its run.
func TestCheckDoesNotEndAnActivityEarly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		both := workflow.NewWorkflow[int, string]("both")
		long := activity.New("long", func(ctx context.Context, _ int) (string, error) {
			if activity.InfoOf(ctx).Attempt == 1 {
				return "", errors.New("it takes two attempts")
			}
			time.Sleep(5 * 24 * time.Hour)
			return "", nil
		}, activity.Options{StartToClose: 6 * 24 * time.Hour, ScheduleToClose: 10 * 24 * time.Hour})
		code := workflow.Bind(both, func(ctx workflow.Context, n int) (string, error) {
			workflow.Go(ctx, func(ctx workflow.Context) { _ = workflow.Sleep(ctx, 10*time.Minute) })
			return long.Run(ctx, n)
		})
		p := d.Start(executor.Options{}, code, long)
		if _, err := both.Start(t.Context(), p.Client, "w", 1, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // the first attempt at the long activity has failed
		purge(d)
		time.Sleep(6 * 24 * time.Hour)
		if status := d.Runs("w")[0].State.Status; status != history.Completed {
			t.Errorf("the run is %v", status)
		}
	})
}

// failingReads is a log whose reads can be made to fail.
type failingReads struct {
	store.Log
	fail bool
}

func (l *failingReads) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	if l.fail {
		return store.Page{}, errors.New("the store does not answer")
	}
	return l.Log.Backward(ctx, workflow, before, until, limit)
}

// What a round of the check could not send, the next round sends once. That holds for a few runs,
// and for more runs than the round's mark can name.
func TestRoundAfterAFailedOne(t *testing.T) {
	t.Parallel()
	for _, runs := range []int{1, 60} {
		synctest.Test(t, func(t *testing.T) {
			d := maintained(t)
			reads := &failingReads{Log: d.Store}
			d.Ports.Log = reads
			p := d.Idle(executor.Options{CheckEvery: day, CacheEntries: -1}, counters()...)
			for i := range runs {
				id := fmt.Sprint("w", i)
				if _, err := testbed.Counter.Start(t.Context(), p.Client, id, 10_000, workflow.StartOptions{}); err != nil {
					t.Fatal(err)
				}
				if a := p.Do(http.MethodPost, "/v1/workflows/"+id+"/updates/nap", `{"input":"1m","waitFor":"accepted"}`); a.Status >= 300 {
					t.Fatalf("%d %s", a.Status, a.Body)
				}
			}
			purge(d)
			time.Sleep(10 * day)
			for round, want := range []executor.Report{{Failed: runs}, {Failed: runs}, {Sent: runs}, {}} {
				reads.fail = want.Failed > 0
				did, err := p.Service.Service.Maintenance.Maintain(t.Context())
				if err != nil || did.Failed != want.Failed || did.Sent != want.Sent {
					t.Errorf("round %d: %+v, %v, want %+v", round, did, err, want)
				}
				time.Sleep(day)
			}
		})
	}
}

// The message that has claimed an attempt is lost. The slow check sends a copy of that message. A
// new sending, if it had to be replaced in turn, would wait for the claim for ever.
func TestPurgeOfACopyThatHasClaimed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Idle(executor.Options{}, lostRegistrations("build-1")...)
		if _, err := lostType.Start(t.Context(), p.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		purge(d)
		claim, err := history.EncodeBody(struct {
			By   uint64 `cbor:"3,keyasint"`
			Look int    `cbor:"8,keyasint"`
			Copy uint64 `cbor:"9,keyasint"`
		}{7, 1, 9})
		if err != nil {
			t.Fatal(err)
		}
		run := d.Runs("w")[0]
		if err := d.Store.RecordAttempt(t.Context(), store.Attempt{Workflow: "w", Run: 1, RunID: string(run.State.RunID), Event: 5, Number: 1, Body: claim}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * day)
		if did, err := p.Service.Service.Maintenance.Maintain(t.Context()); err != nil || did.Sent != 1 {
			t.Fatalf("%+v, %v", did, err)
		}
		sent, err := d.Queue.Receive(t.Context(), queue.Activities, 10)
		if err != nil || len(sent) != 1 {
			t.Fatal(sent, err)
		}
		m, err := outbox.Decode(sent[0].Body)
		if err != nil || m.Send != 7 || m.Look != 2 || m.Copy == 0 || m.Copy == 9 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// A copy from the dead letters is not replaced while the store does not answer, because its
// duplicates would multiply.
func TestDeadCopyStaysWhileTheStoreIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		reads := &failingReads{Log: d.Store}
		d.Ports.Log = reads
		p := d.Idle(executor.Options{CacheEntries: -1}, lostRegistrations("build-1")...)
		if _, err := lostType.Start(t.Context(), p.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		sent, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
		if err != nil || len(sent) != 1 {
			t.Fatal(sent, err)
		}
		m, err := outbox.Decode(sent[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		purge(d)
		m.Look, m.Copy = 1, 2
		reads.fail = true
		if err := p.Service.Service.Deliveries.HandleDead(t.Context(), m); err == nil || d.Queue.Len(queue.Activities) != 0 {
			t.Errorf("%v, and %d messages are sent", err, d.Queue.Len(queue.Activities))
		}
		reads.fail = false
		if err := p.Service.Service.Deliveries.HandleDead(t.Context(), m); err != nil || d.Queue.Len(queue.Activities) != 1 {
			t.Errorf("%v, and %d messages are sent", err, d.Queue.Len(queue.Activities))
		}
	})
}

// A dead letter of an attempt that another message continues is deleted.
func TestDeadCopyOfAttemptThatHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{CacheEntries: -1}, lostRegistrations("build-1")...)
		if _, err := lostType.Start(t.Context(), p.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		sent, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
		if err != nil || len(sent) != 1 {
			t.Fatal(sent, err)
		}
		m, err := outbox.Decode(sent[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		purge(d)
		record := attempts.Record{By: m.Send + 1, Number: attempts.Failed(1)}
		body, err := history.EncodeBody(&record)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Store.RecordAttempt(t.Context(), store.Attempt{Workflow: "w", Run: 1, RunID: string(m.RunID), Event: m.EventID, Number: record.Number, Body: body}); err != nil {
			t.Fatal(err)
		}
		m.Look, m.Copy = 1, 2
		if err := p.Service.Service.Deliveries.HandleDead(t.Context(), m); err != nil || d.Queue.Len(queue.Activities) != 0 {
			t.Errorf("%v, and %d messages are sent", err, d.Queue.Len(queue.Activities))
		}
	})
}

// slowScans is a scanner whose pages take some time, and which can be made to fail.
type slowScans struct {
	store.Scanner
	takes time.Duration
	err   error
}

// Scan implements store.Scanner.
func (s *slowScans) Scan(ctx context.Context, token string, limit int) ([]store.Item, string, error) {
	select {
	case <-time.After(s.takes):
	case <-ctx.Done():
		return nil, "", ctx.Err()
	}
	if s.err != nil {
		return nil, "", s.err
	}
	return s.Scanner.Scan(ctx, token, min(limit, 1))
}

// Steps of the slow check that fail are reported, and so is each step of a walk that takes longer
// than a day and a half. A step that ends because its time is over is not, if it made progress.
func TestLateChecksAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, told, log := testbed.New(t), &testbed.Observed{}, &testbed.Warnings{}
		scans := &slowScans{Scanner: d.Store, takes: time.Second}
		d.Ports.Scanner = scans
		p := d.Idle(executor.Options{Observe: observe.New(told), Logger: log.Logger(), CheckAtOnce: 1000}, counters()...)
		for i := range 9 {
			if _, err := testbed.Counter.Start(t.Context(), p.Client, fmt.Sprint("w", i), 0); err != nil {
				t.Fatal(err)
			}
		}
		var before float64
		step := func(what string, ctx context.Context, limit time.Duration, fails bool, want float64) {
			t.Helper()
			ctx, cancel := context.WithTimeout(ctx, limit)
			defer cancel()
			_, err := p.Service.Service.Maintenance.Maintain(ctx)
			got := told.Sum(observe.CheckLate)
			if (err != nil) != fails || got-before != want {
				t.Errorf("%s: %v late steps were reported, want %v; %v", what, got-before, want, err)
			}
			before = got
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		step("a step without time for a page", t.Context(), time.Second/2, true, 1)
		step("a process that ends", gone, time.Minute, true, 0)
		step("a step with time for two pages", t.Context(), 5*time.Second/2, false, 0)
		time.Sleep(36 * time.Hour)
		if text := log.Take(); strings.Contains(text, "takes too long") {
			t.Errorf("the log: %s", text)
		}
		step("a step of a walk that began too long ago", t.Context(), 5*time.Second/2, false, 1)
		scans.err = errors.New("access denied")
		step("a step that fails", t.Context(), time.Minute, true, 1)
		if text := log.Take(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "takes too long") || !strings.Contains(text, "WEFT_CHECK_COMMITS") {
			t.Errorf("the log: %s", text)
		}
		scans.err = nil
		step("the last step of the walk", t.Context(), time.Minute, false, 0)
		step("a step without a walk", t.Context(), time.Minute, false, 0)
		time.Sleep(day)
		step("a step that is a walk", t.Context(), time.Minute, false, 0)
	})
}
