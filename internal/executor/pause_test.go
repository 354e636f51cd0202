package executor_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// No activity of a paused run begins an attempt, however long the pause: neither one that failed
// before, nor one that failed while the run was paused, nor one whose first message is late. The
// attempt that was in progress goes on, and its result waits for the resumption.
func TestNoAttemptBeginsWhilePaused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var failed, slow, flaky, late atomic.Int32
		every := activity.Options{Retry: activity.Retry{InitialInterval: 10 * time.Second, BackoffCoefficient: 1}, StartToClose: 2 * time.Minute}
		fails := activity.New("fails", func(context.Context, string) (string, error) {
			failed.Add(1)
			return "", errors.New("not yet")
		}, every)
		takesLong := activity.New("takesLong", func(context.Context, string) (string, error) {
			slow.Add(1)
			time.Sleep(time.Minute)
			return "slow", nil
		}, every)
		failsLate := activity.New("failsLate", func(context.Context, string) (string, error) {
			time.Sleep(time.Minute)
			if flaky.Add(1) == 1 {
				return "", errors.New("not yet")
			}
			return "flaky", nil
		}, every)
		first := activity.New("first", func(context.Context, string) (string, error) {
			late.Add(1)
			return "late", nil
		}, activity.Options{TaskQueue: "reports"})
		parallel := workflow.NewWorkflow[string, []string]("parallel")
		d := testbed.New(t)
		p := d.Start(executor.Options{}, fails, takesLong, failsLate, first, workflow.Bind(parallel, func(ctx workflow.Context, _ string) (all []string, err error) {
			within, stop := workflow.WithCancel(ctx)
			fails.Start(within, "")
			for _, f := range []workflow.Future[string]{takesLong.Start(ctx, ""), failsLate.Start(ctx, ""), first.Start(ctx, "")} {
				one, err := f.Get(ctx)
				if err != nil {
					return all, err
				}
				all = append(all, one)
			}
			stop()
			return all, nil
		}))
		if _, err := parallel.Start(t.Context(), p.Client, "w", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		before := failed.Load()
		if before != 3 || slow.Load() != 1 {
			t.Fatalf("%d and %d attempts", before, slow.Load())
		}
		if err := p.Client.Pause(t.Context(), "w", client.PauseOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		if failed.Load() != before || slow.Load() != 1 || flaky.Load() != 1 {
			t.Errorf("of a paused run %d, %d and %d attempts have begun", failed.Load(), slow.Load(), flaky.Load())
		}
		what, err := p.Client.Describe(t.Context(), "w", "")
		if err != nil {
			t.Fatal(err)
		}
		held := map[string]string{}
		for _, a := range what.PendingActivities {
			held[a.Type] = a.Held
		}
		if len(held) != 2 || held["fails"] != "the run is paused" || held["failsLate"] != "the run is paused" || what.State != client.StatePaused {
			t.Errorf("%s: %v", what.State, held)
		}
		if err := p.Client.Resume(t.Context(), "w", client.PauseOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if failed.Load() != before+1 {
			t.Errorf("%d attempts after the resumption, and %d before", failed.Load(), before)
		}
		all, err := parallel.Get(p.Client, "w").Result(t.Context())
		if err != nil || strings.Join(all, " ") != "slow flaky late" || flaky.Load() != 2 || late.Load() != 1 {
			t.Errorf("%v, %v, %d and %d attempts", all, err, flaky.Load(), late.Load())
		}
	})
}

// The first attempt at an activity whose message is old by the time it arrives is held, too.
func TestALateFirstAttemptIsHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		job := activity.New("job", func(context.Context, string) (string, error) {
			begun.Add(1)
			return "done", nil
		})
		one := workflow.NewWorkflow[string, string]("one")
		registrations := []workflow.Registration{job, workflow.Bind(one, func(ctx workflow.Context, in string) (string, error) { return job.Run(ctx, in) })}
		d := testbed.New(t)
		idle := d.Idle(executor.Options{}, registrations...)
		if _, err := one.Start(t.Context(), idle.Client, "w", ""); err != nil {
			t.Fatal(err)
		}
		if err := idle.Client.Pause(t.Context(), "w", client.PauseOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		p := d.Start(executor.Options{}, registrations...)
		time.Sleep(24 * time.Hour)
		if begun.Load() != 0 {
			t.Errorf("%d attempts of a paused run", begun.Load())
		}
		if err := p.Client.Resume(t.Context(), "w", client.PauseOptions{}); err != nil {
			t.Fatal(err)
		}
		if result, err := one.Get(p.Client, "w").Result(t.Context()); err != nil || result != "done" || begun.Load() != 1 {
			t.Errorf("%q, %v after %d attempts", result, err, begun.Load())
		}
	})
}

// A query of a paused run is answered from before the pause. If no task of the run has succeeded,
// its code has set no handlers: the query is refused as paused, and not as unknown.
func TestQueryOfAPausedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		sum, add := workflow.NewQuery[workflow.None, int]("sum"), workflow.NewSignal[int]("add")
		adder := workflow.NewWorkflow[string, int]("adder")
		d := testbed.New(t)
		p := d.Start(executor.Options{}, workflow.Bind(adder, func(ctx workflow.Context, _ string) (int, error) {
			if broken.Load() {
				panic("not today")
			}
			total := 0
			sum.Handle(ctx, func(workflow.None) (int, error) { return total, nil })
			for {
				n, err := add.Receive(ctx)
				if err != nil {
					return total, err
				}
				total += n
			}
		}, workflow.Names(sum, add)))
		do := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		start := func(id string) {
			t.Helper()
			_, err := adder.Start(t.Context(), p.Client, id, "")
			do(err)
		}
		ask := func(id string, want int) {
			t.Helper()
			if got, err := sum.Ask(t.Context(), p.Client, id, workflow.None{}); err != nil || got != want {
				t.Errorf("%d, %v; want %d", got, err, want)
			}
		}
		pause := func(id string) { t.Helper(); do(p.Client.Pause(t.Context(), id, client.PauseOptions{})) }
		resume := func(id string) { t.Helper(); do(p.Client.Resume(t.Context(), id, client.PauseOptions{})) }

		start("well")
		do(add.Send(t.Context(), p.Client, "well", 1))
		pause("well")
		do(add.Send(t.Context(), p.Client, "well", 2))
		ask("well", 1)
		ask("well", 1)
		resume("well")
		ask("well", 3)

		broken.Store(true)
		start("broken")
		pause("broken")
		broken.Store(false)
		if _, err := sum.Ask(t.Context(), p.Client, "broken", workflow.None{}); !errors.Is(err, client.ErrPaused) || !strings.Contains(err.Error(), "none of its tasks has succeeded") {
			t.Errorf("%v", err)
		}
		if w, err := p.Client.Waits(t.Context(), "broken", ""); err != nil || w.State != client.StatePaused || len(w.Coroutines) != 0 || w.AtEventID != 0 {
			t.Errorf("%+v, %v", w, err)
		}
		resume("broken")
		ask("broken", 0)

		// A reset copies tasks that have succeeded.
		do(add.Send(t.Context(), p.Client, "broken", 5))
		broken.Store(true)
		_, err := p.Client.Reset(t.Context(), "broken", client.ResetOptions{To: "lastTask"})
		do(err)
		pause("broken")
		broken.Store(false)
		ask("broken", 0)
		resume("broken")
		ask("broken", 5)
	})
}
