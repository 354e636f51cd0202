package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	guarded  = workflow.NewWorkflow[int, string]("guarded")
	nested   = workflow.NewWorkflow[workflow.None, string]("nested")
	nudge    = workflow.NewUpdate[workflow.None, string]("nudge")
	seen     = activity.New("seen", sees)
	errSaved = workflow.NewError("saved", "an interceptor has made something else of it")
)

// sees returns the header fields that an activity reads, as text.
func sees(ctx context.Context, _ workflow.None) (string, error) {
	text := ""
	for _, name := range []string{"tenant", "path", "more"} {
		value, ok := activity.Header[string](ctx, name)
		text += fmt.Sprintf("%s=%s,%t ", name, value, ok)
	}
	return text, nil
}

func nests(ctx workflow.Context, _ workflow.None) (string, error) {
	if number, ok := workflow.Header[int](ctx, "tenant"); ok {
		return fmt.Sprint(number), nil
	}
	return seen.Run(ctx, workflow.None{})
}

func guard(ctx workflow.Context, left int) (string, error) {
	nudged := false
	nudge.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) {
		nudged = true
		return "nudged", nil
	})
	if left > 0 {
		return guarded.ContinueAsNew(ctx, left-1)
	}
	if left == -2 {
		return "", workflow.Await(ctx, func() bool { return nudged })
	}
	if left < 0 {
		return "", errors.New("it fails")
	}
	workflow.SetHeader(ctx, "more", "yes")
	return nested.RunChild(ctx, workflow.None{})
}

// layer returns an interceptor that logs its name at each call.
func layer(name string, log *[]string) workflow.Interceptor {
	say := func(what string) { *log = append(*log, name+" "+what) }
	return workflow.Interceptor{
		Run: func(ctx workflow.Context, next func(workflow.Context) error) error {
			say("begins " + workflow.InfoOf(ctx).WorkflowType)
			err := next(ctx)
			say("ends " + workflow.InfoOf(ctx).WorkflowType)
			if err != nil && err.Error() == "it fails" {
				return errSaved
			}
			return err
		},
		Update: func(ctx workflow.Context, update string, next func(workflow.Context) error) error {
			say("begins " + update)
			defer say("ends " + update)
			return next(ctx)
		},
		Start: func(ctx workflow.Context, s *workflow.Starting) {
			before, _ := workflow.Header[string](ctx, "path")
			s.SetHeader("path", before+"/"+name)
		},
	}
}

func TestInterceptors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log, attempts []string
		around := func(name string) activity.Interceptor {
			return func(ctx context.Context, next func(context.Context) error) error {
				attempts = append(attempts, name+" "+activity.InfoOf(ctx).ActivityType)
				return next(ctx)
			}
		}
		env := weftest.New(t, workflow.Bind(guarded, guard, workflow.Names(nudge)), workflow.Bind(nested, nests), seen,
			workflow.Intercept(layer("outer", &log), layer("inner", &log)), activity.Intercept(around("first"), around("second")))
		ctx := client.WithHeader(t.Context(), "tenant", "acme")
		run, err := guarded.Start(ctx, env.Client(), "w", 1)
		if err != nil {
			t.Fatal(err)
		}
		want := "tenant=acme,true path=/inner/inner,true more=yes,true "
		if result, err := run.Result(t.Context()); err != nil || result != want {
			t.Errorf("%q, %v; want %q", result, err, want)
		}
		text := strings.Join(log, ", ")
		for _, order := range []string{
			"outer begins guarded, inner begins guarded, inner ends guarded, outer ends guarded, ",
			", outer begins nested, inner begins nested, inner ends nested, outer ends nested, ",
		} {
			if !strings.Contains(text, order) {
				t.Errorf("%q has no %q", text, order)
			}
		}
		if !slices.Equal(attempts, []string{"first seen", "second seen"}) {
			t.Errorf("attempts: %q", attempts)
		}
		runs := env.Runs("w")
		for _, h := range runs {
			started := h.Events[0].Attributes.(*history.WorkflowExecutionStarted)
			if value, ok := started.Header.Get("tenant"); !ok || string(value) != `"acme"` || len(started.Header) != 1 {
				t.Errorf("the run has the header %v", started.Header)
			}
		}
		if len(runs) != 2 {
			t.Errorf("there are %d runs", len(runs))
		}
	})
}

func TestInterceptedErrorsAndUpdates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log []string
		env := weftest.New(t, workflow.Bind(guarded, guard, workflow.Names(nudge)), seen, workflow.Intercept(layer("only", &log)))
		run, err := guarded.Start(t.Context(), env.Client(), "w", -1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(t.Context()); !errors.Is(err, errSaved) {
			t.Errorf("the run ended with %v", err)
		}
		if _, err := guarded.Start(t.Context(), env.Client(), "u", -2); err != nil {
			t.Fatal(err)
		}
		log = nil
		if result, err := nudge.Call(t.Context(), env.Client(), "u", workflow.None{}); err != nil || result != "nudged" {
			t.Errorf("%q, %v", result, err)
		}
		if want := []string{"only begins nudge", "only ends nudge", "only ends guarded"}; !slices.Equal(log, want) {
			t.Errorf("%q, want %q", log, want)
		}
	})
}

// A program's interceptors wrap the runs that a schedule starts. They do not wrap the schedule's
// own run, which is not the program's code. The schedule's header is passed to its runs.
func TestSchedulesAreNotIntercepted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var around []string
		needy := workflow.Interceptor{
			Run: func(ctx workflow.Context, next func(workflow.Context) error) error {
				tenant, _ := workflow.Header[string](ctx, "tenant")
				mu.Lock() //weftvet:ignore channel the test reads what several runs write
				around = append(around, workflow.InfoOf(ctx).WorkflowType+" of "+tenant)
				mu.Unlock()
				if tenant != "acme" {
					return errSaved
				}
				return next(ctx)
			},
			Update: func(workflow.Context, string, func(workflow.Context) error) error { return errSaved },
			Start:  func(ctx workflow.Context, _ *workflow.Starting) { _ = workflow.Sleep(ctx, time.Hour) },
		}
		env := weftest.New(t, workflow.Bind(guarded, guard, workflow.Names(nudge)), workflow.Bind(nested, nests), seen, workflow.Intercept(needy))
		hourly := workflow.ScheduleOptions{Every: []client.Every{{Interval: time.Hour}}}
		if _, err := guarded.Schedule(t.Context(), env.Client(), "nobodys", -1, hourly); err != nil {
			t.Fatal(err)
		}
		acme := client.WithHeader(t.Context(), "tenant", "acme")
		s, err := guarded.Schedule(acme, env.Client(), "acmes", -1, hourly)
		if err != nil {
			t.Fatal(err)
		}
		env.Sleep(time.Hour)
		for _, err := range []error{s.Pause(t.Context(), ""), s.Delete(t.Context()), env.Client().Schedule("nobodys").Delete(t.Context())} {
			if err != nil {
				t.Error(err)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(around)
		if want := []string{"guarded of ", "guarded of acme"}; !slices.Equal(slices.Compact(around), want) {
			t.Errorf("the interceptors wrapped %q, want %q", around, want)
		}
	})
}

// An interceptor's Start may not start an activity or a child: that would call Start again, without
// end. The call is refused, also through a derived context.
func TestAnInterceptorsStartStartsNothing(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(workflow.Context){
		"activity": func(ctx workflow.Context) { seen.Start(ctx, workflow.None{}) },
		"child":    func(ctx workflow.Context) { nested.StartChild(ctx, workflow.None{}) },
		"derived": func(ctx workflow.Context) {
			ctx, cancel := workflow.WithCancel(workflow.Disconnected(ctx))
			defer cancel()
			seen.Start(ctx, workflow.None{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				greedy := workflow.Interceptor{Start: func(ctx workflow.Context, s *workflow.Starting) {
					defer func() { s.SetHeader("path", fmt.Sprint(recover())) }()
					start(ctx)
				}}
				env := weftest.New(t, workflow.Bind(nested, nests), seen, workflow.Intercept(greedy))
				run, err := nested.Start(t.Context(), env.Client(), "w", workflow.None{})
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(t.Context()); err != nil || !strings.Contains(got, "path=an interceptor's Start may not start ") {
					t.Errorf("%q, %v", got, err)
				}
			})
		})
	}
}

func TestAClientsInterceptors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, workflow.Bind(nested, nests), seen)
		large := client.WithHeader(t.Context(), "tenant", strings.Repeat("x", 4096))
		if _, err := nested.Start(large, env.Client(), "w", workflow.None{}); err == nil || !strings.Contains(err.Error(), "give at most 4096") {
			t.Errorf("a large header: %v", err)
		}
		odd := client.WithHeader(t.Context(), "tenant", func() {})
		if _, err := nested.Start(odd, env.Client(), "w", workflow.None{}); err == nil || !strings.Contains(err.Error(), `header field "tenant"`) {
			t.Errorf("a header value that JSON cannot express: %v", err)
		}
	})
}
