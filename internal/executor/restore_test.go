package executor_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

// backUp returns a store with the present contents of a deployment's store.
func backUp(t *testing.T, d *testbed.Deployment) *memory.Store {
	t.Helper()
	ctx := context.Background()
	to := memory.New(memory.Options{Violation: func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }})
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range d.Workflows() {
		last := uint32(0)
		for _, item := range d.Store.Dump(id) {
			do(to.Append(ctx, item))
			last = item.Run
		}
		attempts, err := d.Store.ReadAttempts(ctx, id, last)
		do(err)
		for _, a := range attempts {
			do(to.RecordAttempt(ctx, a))
		}
	}
	timers, err := d.Store.DueTimers(ctx, time.Now().AddDate(1, 0, 0), math.MaxInt)
	do(err)
	do(to.PutTimers(ctx, timers))
	mark, err := d.Store.ReadMark(ctx)
	do(err)
	do(to.WriteMark(ctx, nil, mark))
	return to
}

// restored returns a deployment on a backup of the table, with the queues of another deployment.
func restored(t *testing.T, from *testbed.Deployment, table *memory.Store) *testbed.Deployment {
	t.Helper()
	d := testbed.New(t)
	d.Store, d.Queue = table, from.Queue
	d.Ports = executor.Ports{Log: table, Attempts: table, Timers: table, Lister: table, Scanner: table, Queue: from.Queue}
	return d
}

// The table is set back to an earlier moment, as docs/operations.md says, with the old queues or
// with new ones. Everything that was open at that moment ends under new processes. What was begun
// later does not exist.
func TestRestore(t *testing.T) {
	t.Parallel()
	moments := []time.Duration{0, 10 * time.Second, 36 * time.Second, 4 * time.Minute, 9 * time.Minute, 3 * time.Hour}
	for _, moment := range shortform.Or(moments, moments[1:4]) {
		for _, later := range []time.Duration{30 * time.Second, 2 * time.Hour} {
			for _, newQueues := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					d := maintained(t)
					p := d.Start(executor.Options{Build: "build-2"}, lostRegistrations("build-2")...)
					start := func(p *testbed.Process, id string) {
						t.Helper()
						if _, err := lostType.Start(t.Context(), p.Client, id, 3, workflow.StartOptions{StartDelay: 5 * time.Second}); err != nil {
							t.Fatal(err)
						}
					}
					start(p, "before")
					time.Sleep(moment)
					table := backUp(t, d)
					start(p, "after")
					time.Sleep(later)
					p.Stop()
					if newQueues {
						purge(d)
					}

					d = restored(t, d, table)
					p = d.Start(executor.Options{Build: "build-2"}, lostRegistrations("build-2")...)
					if _, err := p.Describe(t.Context(), "after", ""); !errors.Is(err, client.ErrNotFound) {
						t.Errorf("a workflow that was started after the moment: %v", err)
					}
					start(p, "after")
					time.Sleep(3 * 24 * time.Hour)
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					for _, id := range []string{"before", "after"} {
						result, err := lostType.Get(p.Client, id).Result(ctx)
						if err != nil || result != "[r0 r1 r2]ok" {
							t.Errorf("%s; restored to %v, %v later, new queues %v: %q, %v", id, moment, later, newQueues, result, err)
						}
					}
					p.Stop()
					d.CheckReplay(p)
				})
			}
		}
	}
}

// A run that waits for a purged message continues at once when it is reset to its last task.
func TestResetAfterPurge(t *testing.T) {
	t.Parallel()
	for _, after := range []time.Duration{10 * time.Second, 45 * time.Second, 2 * time.Minute, 9 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d := maintained(t)
			p := d.Start(executor.Options{Build: "build-2"}, lostRegistrations("build-2")...)
			run, err := lostType.Start(t.Context(), p.Client, "w", 3)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(after)
			purge(d)
			if _, err := run.Reset(t.Context(), workflow.ResetOptions{To: "lastTask"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Hour) // the workflow itself takes more than three hours
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if result, err := lostType.Get(p.Client, "w").Result(ctx); err != nil || result != "[r0 r1 r2]ok" {
				t.Errorf("purged after %v: %q, %v", after, result, err)
			}
			p.Stop()
			d.CheckReplay(p)
		})
	}
}
