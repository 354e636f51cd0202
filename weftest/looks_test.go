package weftest_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A validator that reserves goods instead of only reading fails the next update, and the error
// names the validator. The test allows that.
func TestImpureValidator(t *testing.T) {
	t.Parallel()
	shops, buy := workflow.NewWorkflow[int, string]("shop"), workflow.NewUpdate[int, int]("buy")
	shop := workflow.Bind(shops, func(ctx workflow.Context, stock int) (string, error) {
		buy.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(func(n int) error {
			if n > stock {
				return errors.New("out of stock")
			}
			stock -= n //weftvet:ignore readonly the test needs it
			return nil
		}))
		return "", workflow.Await(ctx, func() bool { return stock == 0 })
	}, workflow.Names(buy))
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, shop)
		env.AllowFailedUpdates()
		if _, err := shops.Start(t.Context(), env.Client(), "w", 3); err != nil {
			t.Fatal(err)
		}
		if n, err := buy.Call(t.Context(), env.Client(), "w", 2); n != 2 || err != nil {
			t.Errorf("the first update: %d, %v", n, err)
		}
		_, err := buy.Call(t.Context(), env.Client(), "w", 2)
		if err == nil || !strings.Contains(err.Error(), `the validator of update "buy" changes the workflow's state`) {
			t.Errorf("the second update: %v; want an error with the validator's name", err)
		}
	})
}

// A test fails if an update or a query fails its task, even if the test has looked at the error.
// That is so for a panic of a handler, and for a validator or a query handler that changes state,
// even if only a later task shows the change.
func TestFailedUpdatesAreReported(t *testing.T) {
	t.Parallel()
	typ, end := workflow.NewWorkflow[workflow.None, int]("w"), workflow.NewUpdate[workflow.None, int]("end")
	add, state := workflow.NewUpdate[int, int]("add"), workflow.NewQuery[workflow.None, int]("state")
	fine := activity.New("fine", func(context.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil })
	code := func(handle func(ctx workflow.Context, n, looked int) (int, error)) workflow.Registration {
		return workflow.Bind(typ, func(ctx workflow.Context, _ workflow.None) (int, error) {
			looked, ended := 0, false
			state.Handle(ctx, func(workflow.None) (int, error) {
				looked++ //weftvet:ignore readonly the test needs it
				return looked, nil
			})
			add.Handle(ctx, func(ctx workflow.Context, n int) (int, error) { return handle(ctx, n, looked) }, workflow.Validate(func(n int) error {
				if n >= 0 {
					return nil
				}
				if n == -2 {
					time.Sleep(10 * time.Millisecond) //weftvet:ignore time updates queue behind this validator, and form a batch
				}
				looked++ //weftvet:ignore readonly the test needs it
				return errors.New("no")
			}))
			end.Handle(ctx, func(workflow.Context, workflow.None) (int, error) {
				ended = true
				return 0, nil
			})
			return 0, workflow.Await(ctx, func() bool { return ended })
		}, workflow.Names(add, end, state))
	}
	returns := func(_ workflow.Context, _, looked int) (int, error) { return looked, nil }
	call := func(r *recorder, env *weftest.Env, n int) {
		_, err := add.Call(r.Context(), env.Client(), "w", n)
		r.Logf("%v", err)
	}
	const validator = `the validator of update "add" changes the workflow's state: `
	for name, test := range map[string]struct {
		handle func(ctx workflow.Context, n, looked int) (int, error)
		does   func(r *recorder, env *weftest.Env)
		want   []string
	}{
		"a validator": {returns, func(r *recorder, env *weftest.Env) {
			call(r, env, -1)
			call(r, env, 1)
		}, []string{"an update of workflow w failed its task (misuse): " + validator, "WorkflowExecutionUpdateCompleted(", "differs"}},
		// The batch fails. Each of its updates alone succeeds, on a new instance.
		"a validator, and updates in a batch": {returns, func(r *recorder, env *weftest.Env) {
			var all sync.WaitGroup
			all.Go(func() { call(r, env, -2) })
			time.Sleep(time.Millisecond)
			for range 5 {
				all.Go(func() { call(r, env, 1) })
			}
			all.Wait()
		}, []string{"an update of workflow w failed its task (misuse): " + validator}},
		"a query": {returns, func(r *recorder, env *weftest.Env) {
			_, err := state.Ask(r.Context(), env.Client(), "w", workflow.None{})
			r.Logf("%v", err)
			call(r, env, 1)
		}, []string{`an update of workflow w failed its task (misuse): the handler of query "state" or `}},
		"a validator, in a later task": {func(ctx workflow.Context, _, looked int) (int, error) {
			_, err := fine.Run(ctx, workflow.None{})
			return looked, err
		}, func(r *recorder, env *weftest.Env) {
			call(r, env, -1)
			call(r, env, 1)
		}, []string{"a task of workflow w failed (misuse): " + validator}},
		"a panic": {func(workflow.Context, int, int) (int, error) { panic("no tea") }, func(r *recorder, env *weftest.Env) {
			call(r, env, 1)
		}, []string{"an update of workflow w failed its task (panic): panic: no tea", "looks_test.go:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := func(r *recorder, allow bool) {
				env := weftest.New(r, code(test.handle), fine)
				if allow {
					env.AllowFailedUpdates()
				}
				if _, err := typ.Start(r.Context(), env.Client(), "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				test.does(r, env)
				if _, err := end.Call(r.Context(), env.Client(), "w", workflow.None{}); err != nil {
					t.Errorf("the run does not continue: %v", err)
				}
			}
			expect(t, play(t, func(r *recorder) { run(r, false) }), append(test.want, "AllowFailedUpdates")...)
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{TB: t}
				run(r, true)
				for _, cleanup := range r.cleanups {
					cleanup()
				}
				if r.Failed() {
					t.Errorf("the test allows the failure, and failed:\n%s", r.said.String())
				}
			})
		})
	}
}

// A validator that sleeps fails its update and the test. The bubble ends when the validator has
// returned.
func TestSleepingValidator(t *testing.T) {
	t.Parallel()
	typ, add := workflow.NewWorkflow[workflow.None, int]("w"), workflow.NewUpdate[time.Duration, int]("add")
	code := workflow.Bind(typ, func(ctx workflow.Context, _ workflow.None) (int, error) {
		add.Handle(ctx, func(_ workflow.Context, d time.Duration) (int, error) { return 0, nil }, workflow.Validate(func(d time.Duration) error {
			time.Sleep(d) //weftvet:ignore time the test needs it
			return nil
		}))
		return 0, workflow.Await(ctx, func() bool { return false })
	}, workflow.Names(add))
	for d, returns := range map[time.Duration]bool{3 * time.Second: true, 48 * time.Hour: false} {
		said := play(t, func(r *recorder) {
			env := weftest.New(r, code)
			r.Cleanup(func() { time.Sleep(48 * time.Hour) }) // the environment's own clean-up comes first; without this sleep the bubble would not end
			if _, err := typ.Start(r.Context(), env.Client(), "w", workflow.None{}); err != nil {
				t.Fatal(err)
			}
			_, err := add.Call(r.Context(), env.Client(), "w", d)
			if !errors.Is(err, client.ErrNotReady) {
				t.Errorf("%v; want a failed task", err)
			}
		})
		expect(t, said, `an update of workflow w failed its task (deadlock): the validator of update "add" did not return within 1 s`)
		if left := strings.Contains(said, "1 validators, handlers or activities have not returned 24h0m0s after"); left == returns {
			t.Errorf("a validator that sleeps %v is reported as one that does not return: %v", d, left)
		}
	}
}

// SkipReplay is for code that is not deterministic. It also turns off the checks of validators,
// which would run the code again.
func TestSkipReplaySkipsChecks(t *testing.T) {
	t.Parallel()
	shops, buy := workflow.NewWorkflow[workflow.None, int]("shop"), workflow.NewUpdate[int, int]("buy")
	for name, test := range map[string]struct {
		skip   func(env *weftest.Env)
		checks bool
	}{
		"with checks":                      {func(*weftest.Env) {}, true},
		"without":                          {(*weftest.Env).SkipReplay, false},
		"without, and with small payloads": {func(env *weftest.Env) { env.SkipReplay(); env.SmallPayloads() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			shop := workflow.Bind(shops, func(ctx workflow.Context, _ workflow.None) (int, error) {
				buy.Handle(ctx, func(ctx workflow.Context, n int) (int, error) {
					calls++
					return n, nil
				}, workflow.Validate(func(int) error { return nil }))
				return 0, workflow.Await(ctx, func() bool { return false })
			}, workflow.Names(buy))
			synctest.Test(t, func(t *testing.T) {
				env := weftest.New(t, shop)
				test.skip(env)
				if _, err := shops.Start(t.Context(), env.Client(), "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				for i := range 3 {
					if n, err := buy.Call(t.Context(), env.Client(), "w", i); n != i || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}
				if checked := calls > 3; checked != test.checks {
					t.Errorf("the handler ran %d times for three updates; want checks: %v", calls, test.checks)
				}
			})
		})
	}
}
