package weftest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// recorder is a test that may fail. It keeps its messages.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	said     strings.Builder
	failed   bool
	cleanups []func()
}

func (r *recorder) say(fails bool, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || fails
	fmt.Fprintf(&r.said, format+"\n", args...)
}

func (r *recorder) Errorf(format string, args ...any) { r.say(true, format, args...) }
func (r *recorder) Logf(format string, args ...any)   { r.say(false, format, args...) }
func (r *recorder) Cleanup(fn func())                 { r.cleanups = append(r.cleanups, fn) }

func (r *recorder) Fatal(args ...any) {
	r.say(true, "%s", fmt.Sprint(args...))
	runtime.Goexit()
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.say(true, format, args...)
	runtime.Goexit()
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// play runs a test that has to fail, and returns its messages.
func play(t *testing.T, fn func(r *recorder)) (said string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		var body sync.WaitGroup
		body.Go(func() { fn(r) })
		body.Wait()
		for _, cleanup := range r.cleanups {
			cleanup()
		}
		if !r.Failed() {
			t.Error("the test did not fail")
		}
		said = r.said.String()
	})
	return said
}

func expect(t *testing.T, said string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(said, part) {
			t.Errorf("%q is missing in\n%s", part, said)
		}
	}
}

var (
	Waiter = workflow.NewWorkflow[string, string]("waiter")
	Coming = workflow.NewSignal[workflow.None]("coming")
	Never  = workflow.NewUpdate[workflow.None, workflow.None]("never")
	Broken = activity.New("broken", func(context.Context, workflow.None) (workflow.None, error) {
		return workflow.None{}, errors.New("it is broken")
	})
)

// waiter does what its input says.
func waiter(ctx workflow.Context, what string) (string, error) {
	Never.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, workflow.Await(ctx, func() bool { return false })
	})
	switch what {
	case "signal":
		_, err := Coming.Receive(ctx)
		return "", err
	case "retries":
		_, err := Broken.Run(ctx, workflow.None{})
		return "", err
	case "loops":
		for {
			if err := workflow.Sleep(ctx, time.Hour); err != nil {
				return "", err
			}
		}
	case "runs":
		return Waiter.ContinueAsNew(ctx, what)
	case "chance":
		//weftvet:ignore time the test wants it
		if time.Now().Second() == 0 {
			return "", workflow.Sleep(ctx, time.Second)
		}
		return "", nil
	}
	panic("there is no such thing")
}

func TestWaitsWithoutEnd(t *testing.T) {
	t.Parallel()
	for what, parts := range map[string][]string{
		"signal":  {"nothing will end what the test waits for", "workflow w (waiter) waits", "failing_test.go:", "in weftest_test.waiter", "WorkflowExecutionStarted"},
		"retries": {`activity "broken" of workflow w has failed 1000 times`, "MaxAttempts", "The last error: it is broken"},
		"loops":   {"10000 messages have been delivered", "env.Sleep", "workflow w (waiter) waits\n\tat ", "in weftest_test.waiter\n", "events are left out"},
		"runs":    {"10000 messages have been delivered", "workflow w (waiter)", "runs are left out"},
		"panics":  {"a workflow task of w failed", "there is no such thing", "failing_test.go:"},
	} {
		t.Run(what, func(t *testing.T) {
			if what == "runs" && testing.Short() {
				t.Skip("10000 runs are slow with the race detector, make test starts them, and loops delivers as many messages")
			}
			t.Parallel()
			said := play(t, func(r *recorder) {
				env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)), Broken)
				run, err := Waiter.Start(r.Context(), env.Client(), "w", what)
				if err == nil {
					_, err = run.Result(r.Context())
				}
				if err == nil || !strings.Contains(err.Error(), "weftest: ") {
					t.Errorf("the wait ended with %v", err)
				}
				if err := Coming.Send(r.Context(), env.Client(), "w", workflow.None{}); err == nil {
					t.Error("a signal was accepted after that")
				}
			})
			expect(t, said, parts...)
		})
	}
}

// A mock that fails without end, or that ends its goroutine, is reported with the reason.
func TestMocksThatFail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		broken func(r *recorder, ctx context.Context) error
		parts  []string
	}{
		"panics": {func(*recorder, context.Context) error { panic("no tea") }, []string{"has failed 1000 times", "The last error: panic: no tea", "failing_test.go:"}},
		"times out": {func(_ *recorder, ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, []string{"has failed 1000 times", "The last error: it timed out"}},
		"is fatal": {func(r *recorder, _ context.Context) error {
			r.Fatal("no tea today")
			return nil
		}, []string{"no tea today", `activity "broken" of workflow w ended its goroutine`, "t.Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := play(t, func(r *recorder) {
				env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
				weftest.Mock(env, Broken, func(ctx context.Context, _ workflow.None) (workflow.None, error) {
					return workflow.None{}, test.broken(r, ctx)
				})
				run, err := Waiter.Start(r.Context(), env.Client(), "w", "retries")
				if err == nil {
					_, err = run.Result(r.Context())
				}
				if err == nil {
					t.Error("the run has a result")
				}
			})
			expect(t, said, test.parts...)
			if strings.Count(said, "no tea today") > 1 {
				t.Errorf("the activity was retried after t.Fatal:\n%s", said)
			}
		})
	}
}

func TestAnUpdateWithoutEnd(t *testing.T) {
	t.Parallel()
	said := play(t, func(r *recorder) {
		env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
		if _, err := Waiter.Start(r.Context(), env.Client(), "w", "signal"); err != nil {
			t.Error(err)
		}
		if _, err := Never.Call(r.Context(), env.Client(), "w", workflow.None{}, workflow.CallOptions{ID: "never-1"}); err == nil {
			t.Error("the update has an outcome")
		}
	})
	expect(t, said, "update never-1 is in flight", "in weftest_test.waiter.func1")
}

// A goroutine of the test that sleeps may still send what the workflow waits for, so the test does
// not fail.
func TestGoroutinesOfTheTestMaySleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
		run, err := Waiter.Start(t.Context(), env.Client(), "w", "signal")
		if err != nil {
			t.Fatal(err)
		}
		var sent sync.WaitGroup
		defer sent.Wait() // the test's context ends when the test returns
		sent.Go(func() {
			time.Sleep(20 * time.Hour)
			if err := Coming.Send(t.Context(), env.Client(), "w", workflow.None{}); err != nil {
				t.Error(err)
			}
		})
		if _, err := run.Result(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCodeThatIsNotDeterministic(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		wrong := func(r *recorder) {
			env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
			if skip {
				env.SkipReplay()
			}
			if _, err := Waiter.Start(r.Context(), env.Client(), "w", "chance"); err != nil {
				t.Error(err)
			}
			env.Sleep(2 * time.Second)
			if skip {
				r.Errorf("the test fails, so that it logs")
			}
		}
		said := play(t, wrong)
		if skip {
			if strings.Contains(said, "does something else when it is rebuilt") {
				t.Errorf("the run was replayed:\n%s", said)
			}
			continue
		}
		expect(t, said, "does something else when it is rebuilt", "order of a map", "Run weftvet", "not deterministic: at event 5 history records TimerStarted", "WorkflowExecutionCompleted")
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fn   func(r *recorder)
		want string
	}{
		"registered twice": {func(r *recorder) { weftest.New(r, Broken, Broken) }, `"broken" is registered twice`},
		"two in a bubble": {func(r *recorder) {
			weftest.New(r)
			weftest.New(r)
		}, "another Env"},
		"no such workflow": {func(r *recorder) { weftest.New(r).History("w") }, `there is no workflow "w"`},
		"a call that does not come": {func(r *recorder) {
			weftest.New(r).After(time.Hour, func() {})
		}, "the function that env.After was to call at 2000-01-01 01:00:00.000 has not been called"},
		"mocked too late": {func(r *recorder) {
			env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
			if _, err := Waiter.Start(r.Context(), env.Client(), "w", "signal"); err != nil {
				t.Error(err)
			}
			weftest.Watch(env, Broken)
		}, `activity "broken" is not registered, and a request was sent already`},
		"an update that panics at once": {func(r *recorder) {
			env := weftest.New(r, workflow.Bind(Waiter, func(ctx workflow.Context, _ string) (string, error) {
				Never.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { panic("no tea") })
				_, err := Coming.Receive(ctx)
				return "", err
			}, workflow.Names(Never, Coming)))
			if _, err := Waiter.Start(r.Context(), env.Client(), "w", ""); err != nil {
				t.Error(err)
			}
			if _, err := Never.Call(r.Context(), env.Client(), "w", workflow.None{}); err == nil || !strings.Contains(err.Error(), "panic: no tea") {
				t.Errorf("the call returned %v", err)
			}
			env.Settle()
		}, `an update of workflow w failed its task (panic)`},
		"an unregistered activity": {func(r *recorder) {
			env := weftest.New(r, workflow.Bind(Waiter, waiter, workflow.Names(Never, Coming)))
			run, err := Waiter.Start(r.Context(), env.Client(), "w", "retries")
			if err == nil {
				_, err = run.Result(r.Context())
			}
			r.Errorf("%v", err)
		}, `workflow w runs activity "broken", which is not registered`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, play(t, test.fn), test.want)
		})
	}
}

func TestNewWantsABubble(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		weftest.New(r)
	}()
	<-done
	expect(t, r.said.String(), "synctest.Test(t, func(t *testing.T) {")
}
