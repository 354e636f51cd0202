package executor_test

import (
	"flag"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var coroutines = flag.Int("coroutines", 2000, "how many coroutines wait in TestManyCoroutines")

// waysToWait make n coroutines of a run wait, and release them. They return how many of them
// continued.
var waysToWait = map[string]func(ctx workflow.Context, n int) (int, error){
	"await": func(ctx workflow.Context, n int) (int, error) {
		open := false
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			return workflow.Await(ctx, func() bool { return open })
		}, func(workflow.Context) error { open = true; return nil })
	},
	"channel":          func(ctx workflow.Context, n int) (int, error) { return receiveAll(ctx, n, 0) },
	"buffered channel": func(ctx workflow.Context, n int) (int, error) { return receiveAll(ctx, n, n) },
	"senders": func(ctx workflow.Context, n int) (int, error) {
		values := workflow.NewChannel[int](0)
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			return values.Send(ctx, 1)
		}, func(ctx workflow.Context) error {
			for range n {
				if _, err := values.Receive(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	},
	"future": func(ctx workflow.Context, n int) (int, error) {
		future, set := workflow.NewFuture[int](ctx)
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			_, err := future.Get(ctx)
			return err
		}, func(workflow.Context) error { set(1, nil); return nil })
	},
	"select": func(ctx workflow.Context, n int) (int, error) {
		future, _ := workflow.NewFuture[int](ctx)
		values := workflow.NewChannel[int](0)
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			return workflow.Select(ctx, workflow.OnFuture(future, nil), workflow.OnReceive(values, func(int, bool) {}))
		}, func(ctx workflow.Context) error { return sendAll(ctx, n, values) })
	},
	"mutex": func(ctx workflow.Context, n int) (int, error) {
		units := workflow.NewSemaphore(1)
		if err := units.Acquire(ctx, 1); err != nil {
			return 0, err
		}
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			defer units.Release(ctx, 1)
			return units.Acquire(ctx, 1)
		}, func(ctx workflow.Context) error { units.Release(ctx, 1); return nil })
	},
	"cancel": func(ctx workflow.Context, n int) (int, error) {
		future, _ := workflow.NewFuture[int](ctx)
		var cancels []workflow.CancelFunc
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			ctx, cancel := workflow.WithCancel(ctx)
			cancels = append(cancels, cancel)
			if _, err := future.Get(ctx); err == nil {
				panic("the context is not canceled")
			}
			return nil
		}, func(workflow.Context) error {
			for _, cancel := range cancels {
				cancel()
			}
			return nil
		})
	},
	"timer": func(ctx workflow.Context, n int) (int, error) {
		return waitFor(ctx, n, func(ctx workflow.Context) error {
			return workflow.Sleep(ctx, time.Hour)
		}, func(workflow.Context) error { return nil })
	},
}

// receiveAll makes n coroutines receive from a channel of this size, and releases them.
func receiveAll(ctx workflow.Context, n, size int) (int, error) {
	values := workflow.NewChannel[int](size)
	return waitFor(ctx, n, func(ctx workflow.Context) error {
		_, err := values.Receive(ctx)
		return err
	}, func(ctx workflow.Context) error { return sendAll(ctx, n, values) })
}

// sendAll sends n values.
func sendAll(ctx workflow.Context, n int, values workflow.Channel[int]) error {
	for i := range n {
		if err := values.Send(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

var many = workflow.NewWorkflow[int, int]("many")

// waitFor makes n coroutines wait, releases them a second later, and returns how many of them
// continued.
func waitFor(ctx workflow.Context, n int, wait, release func(workflow.Context) error) (passed int, err error) {
	var all workflow.WaitGroup
	for range n {
		all.Add(ctx, 1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer all.Done(ctx)
			if wait(ctx) == nil {
				passed++
			}
		})
	}
	if err := workflow.Sleep(ctx, time.Second); err != nil {
		return 0, err
	}
	if err := release(ctx); err != nil {
		return 0, err
	}
	err = all.Wait(ctx)
	return passed, err
}

// Many coroutines of a run wait for the same thing, in each way. They continue in one task, within
// the time that a task may take. The test can also measure: -coroutines=100000.
func TestManyCoroutines(t *testing.T) {
	for name, way := range waysToWait {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			synctest.Test(t, func(t *testing.T) {
				code := workflow.Bind(many, func(ctx workflow.Context, n int) (int, error) {
					return way(ctx, n)
				})
				p := testbed.New(t).Start(executor.Options{}, code)
				run, err := many.Start(t.Context(), p.Client, "w", *coroutines)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(t.Context()); err != nil || got != *coroutines {
					t.Errorf("%d of %d coroutines continued, %v", got, *coroutines, err)
				}
			})
			t.Logf("%v", time.Since(began))
		})
	}
}

// oneByOne lets coroutines wait for conditions that become true one after the other.
func oneByOne(ctx workflow.Context, n int) (int, error) {
	next := 0
	return waitFor(ctx, n, func(ctx workflow.Context) error {
		number := next
		next++
		err := workflow.Await(ctx, func() bool { return next == 2*n-number })
		next++
		return err
	}, func(workflow.Context) error { next++; return nil })
}

// A task that evaluates too many conditions fails with an error that names the limit. The run
// continues under a build that needs fewer evaluations. A replay has no limit.
func TestTooManyConditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100 // n²/2 evaluations, and a few more
		d := testbed.New(t)
		code := workflow.Bind(many, oneByOne)
		first := d.Start(executor.Options{Engine: engine.Options{MaxConditions: n * n / 4}}, code)
		_, err := many.Start(t.Context(), first.Client, "w", n)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		task := d.Runs("w")[0].State.LastTask.Task
		if task.Failure == nil || !strings.Contains(task.Failure.Message, "limit of conditions asked") {
			t.Fatalf("the task failed with %v, want an error that names the limit", task.Failure)
		}
		first.Stop()
		second := d.Start(executor.Options{Build: "build-2"}, code)
		run := many.Get(second.Client, "w")
		if got, err := run.Result(t.Context()); err != nil || got != n {
			t.Errorf("%d of %d coroutines continued, %v", got, n, err)
		}
	})
}
