package activity_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

type none = activity.None

func double(_ context.Context, n int) (int, error) { return 2 * n, nil }

// An activity is an ordinary function, which a unit test calls without Weft.
func TestCalledWithoutWeft(t *testing.T) {
	t.Parallel()
	if n, err := double(t.Context(), 21); err != nil || n != 42 {
		t.Errorf("%d, %v", n, err)
	}
	if info := activity.InfoOf(t.Context()); info != (activity.Info{}) {
		t.Errorf("%+v, want the zero value outside of an attempt", info)
	}
}

func TestOptionsAreRecorded(t *testing.T) {
	t.Parallel()
	broken := activity.NewError("broken", "it is broken")
	retry := activity.Retry{InitialInterval: time.Minute, BackoffCoefficient: 1, MaxInterval: 2 * time.Minute, MaxAttempts: 7, NonRetryable: []*activity.Error{broken}}
	base := activity.New("double", double, activity.Options{StartToClose: time.Hour})
	for name, test := range map[string]struct {
		activity activity.Activity[int, int]
		want     history.ActivityTaskScheduled
	}{
		"the defaults": {activity.New("double", double), history.ActivityTaskScheduled{
			StartToClose: history.Duration(30 * time.Second),
			Retry:        history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2, MaximumInterval: history.Duration(100 * time.Second)},
		}},
		"some": {base, history.ActivityTaskScheduled{
			StartToClose: history.Duration(time.Hour),
			Retry:        history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2, MaximumInterval: history.Duration(100 * time.Second)},
		}},
		"another task queue for one call": {base.On("reports"), history.ActivityTaskScheduled{
			StartToClose: history.Duration(time.Hour), TaskQueue: "reports",
			Retry: history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2, MaximumInterval: history.Duration(100 * time.Second)},
		}},
		"others for one call, beside what it keeps": {base.With(activity.Options{ScheduleToClose: time.Minute, Retry: retry}), history.ActivityTaskScheduled{
			StartToClose: history.Duration(time.Hour), ScheduleToClose: history.Duration(time.Minute),
			Retry: history.RetryPolicy{
				InitialInterval: history.Duration(time.Minute), BackoffCoefficient: 1, MaximumInterval: history.Duration(2 * time.Minute),
				MaximumAttempts: 7, NonRetryableTypes: []string{"broken"},
			},
		}},
		"a part of its retry for one call": {base.With(activity.Options{Retry: retry}).With(activity.Options{Retry: activity.Retry{MaxAttempts: 2}}), history.ActivityTaskScheduled{
			StartToClose: history.Duration(time.Hour),
			Retry: history.RetryPolicy{
				InitialInterval: history.Duration(time.Minute), BackoffCoefficient: 1, MaximumInterval: history.Duration(2 * time.Minute),
				MaximumAttempts: 2, NonRetryableTypes: []string{"broken"},
			},
		}},
		"two sets": {activity.New("double", double, activity.Options{StartToClose: time.Hour}, activity.Options{TaskQueue: "reports"}), history.ActivityTaskScheduled{
			StartToClose: history.Duration(time.Hour), TaskQueue: "reports",
			Retry: history.RetryPolicy{InitialInterval: history.Duration(time.Second), BackoffCoefficient: 2, MaximumInterval: history.Duration(100 * time.Second)},
		}},
	} {
		s := enginetest.New(t, func(ctx workflow.Context, n int) (int, error) { return test.activity.Run(ctx, n) }, 21)
		test.want.ActivityType, test.want.Input = "double", history.Payload("21")
		if diff := cmp.Diff(&test.want, s.Run.Log[0].Commands[0].Attributes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// badOptions are invalid options, each with a part of its error.
var badOptions = map[string]activity.Options{
	"negative":                 {StartToClose: -1},
	"interval of its retry":    {Retry: activity.Retry{MaxInterval: -1}},
	"backoff coefficient":      {Retry: activity.Retry{BackoffCoefficient: 0.5}},
	"number of attempts":       {Retry: activity.Retry{MaxAttempts: -1}},
	"has no type":              {Retry: activity.Retry{NonRetryable: []*activity.Error{{Message: "no type"}}}},
	"make it with NewError":    {Retry: activity.Retry{NonRetryable: []*activity.Error{nil}}},
	"in its options is":        {ScheduleToClose: -1},
	"characters of a-z, 0-9":   {TaskQueue: "Reports"},
	"both Inline and Queued":   {Inline: true, Queued: true},
	"names that end in -dead":  {TaskQueue: "reports-dead"},
	"is negative (at activity": {Retry: activity.Retry{InitialInterval: -1}},
}

// Invalid options are reported when the activity is registered. If With sets them later, they are
// reported when the activity is started.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for text, options := range badOptions {
		good := activity.New("double", double)
		err := bridge.Register(&engine.Registry{}, good.With(options))
		if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "activity_test.go:") {
			t.Errorf("registering: %v, want an error with %q and the place", err, text)
		}
		s := enginetest.New(t, func(ctx workflow.Context, n int) (int, error) { return good.With(options).Run(ctx, n) }, 21)
		var misuse *failure.OtherError
		if err := s.Stuck(); !errors.As(err, &misuse) || misuse.Kind != failure.KindMisuse || !strings.Contains(misuse.Message, text) {
			t.Errorf("starting: %v, want a misuse with %q", err, text)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{"double": true, "": false, strings.Repeat("a", 256): false} {
		a := activity.New(name, double)
		err := bridge.Register(&engine.Registry{}, a)
		if a.Name() != name || ok != (err == nil) || !ok && !strings.Contains(err.Error(), "activity_test.go:") {
			t.Errorf("%q: %v, want that it is valid: %v", name, err, ok)
		}
	}
}

// once runs a workflow that runs an activity once, and returns the activity's outcome.
func once[In, Out any](t *testing.T, a activity.Activity[In, Out], in In) (out Out, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		typ := workflow.NewWorkflow[In, Out]("once")
		p := testbed.One(t, a, workflow.Bind(typ, func(ctx workflow.Context, in In) (Out, error) { return a.Run(ctx, in) }))
		run, startErr := typ.Start(t.Context(), p.Client, "w", in)
		if startErr != nil {
			t.Fatal(startErr)
		}
		out, err = run.Result(t.Context())
		time.Sleep(time.Minute) // an attempt that timed out may still run
	})
	return out, err
}

func TestInfo(t *testing.T) {
	a := activity.New("info", func(ctx context.Context, _ none) (activity.Info, error) {
		info := activity.InfoOf(ctx)
		if info.Attempt < 3 {
			return info, errors.New("not yet")
		}
		return info, nil
	})
	info, err := once(t, a, none{})
	if err != nil || info.RunID == "" {
		t.Fatalf("%+v, %v", info, err)
	}
	if want := (activity.Info{WorkflowID: "w", RunID: info.RunID, ActivityType: "info", EventID: 5, Attempt: 3}); info != want {
		t.Errorf("%+v, want %+v", info, want)
	}
}

var (
	errTyped = activity.NewError("typed", "it is typed")
	errOther = activity.NewError("other", "it is other")
)

// An activity's error reaches the workflow with the errors that it wraps. A final or non-retryable
// error is not retried.
func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		retry    activity.Retry
		err      error
		attempts int
	}{
		"an ordinary error":                          {activity.Retry{MaxAttempts: 3}, errors.New("plain"), 3},
		"a typed error":                              {activity.Retry{MaxAttempts: 3}, errTyped, 3},
		"an error that is final":                     {activity.Retry{}, errTyped.Final(), 1},
		"an error that wraps one that is final":      {activity.Retry{}, fmt.Errorf("wrapped: %w", errTyped.Final()), 1},
		"a non-retryable error":                      {activity.Retry{NonRetryable: []*activity.Error{errOther, errTyped}}, errTyped, 1},
		"an error that wraps one that is not":        {activity.Retry{NonRetryable: []*activity.Error{errTyped}}, fmt.Errorf("wrapped: %w", errTyped), 1},
		"an error that is not among the listed ones": {activity.Retry{NonRetryable: []*activity.Error{errOther}, MaxAttempts: 2}, errTyped, 2},
		"an ordinary error that is not listed":       {activity.Retry{NonRetryable: []*activity.Error{errOther}, MaxAttempts: 2}, errors.New("plain"), 2},
		"one attempt":                                {activity.Retry{MaxAttempts: 1}, errTyped, 1},
	} {
		t.Run(name, func(t *testing.T) {
			attempts := 0
			a := activity.New("fails", func(context.Context, none) (none, error) { attempts++; return none{}, test.err }, activity.Options{Retry: test.retry})
			_, err := once(t, a, none{})
			var failed *workflow.ActivityError
			if !errors.As(err, &failed) || failed.ActivityType != "fails" || failed.EventID != 5 || failed.Cause.Error() != test.err.Error() {
				t.Fatalf("%v, want a failure of activity fails with %v", err, test.err)
			}
			if errors.Is(test.err, errTyped) != errors.Is(err, errTyped) || errors.Is(err, errOther) {
				t.Errorf("%v: errors.Is finds another error than before", err)
			}
			if attempts != test.attempts {
				t.Errorf("%d attempts, want %d", attempts, test.attempts)
			}
		})
	}
}

// poison may hold a value that JSON cannot express. Its type does not say so.
type poison struct{ C any }

// bomb is a value whose decoder panics.
type bomb struct{}

func (*bomb) UnmarshalJSON([]byte) error { panic("boom") }

// A misbehaving activity fails with an error of its own and affects nothing else.
func TestPoison(t *testing.T) {
	one := activity.Options{Retry: activity.Retry{MaxAttempts: 1}}
	t.Run("a result that cannot be encoded", func(t *testing.T) {
		_, err := once(t, activity.New("a", func(context.Context, none) (poison, error) { return poison{make(chan int)}, nil }), none{})
		if err == nil || !strings.Contains(err.Error(), "cannot be encoded") {
			t.Error(err)
		}
	})
	t.Run("a panic", func(t *testing.T) {
		_, err := once(t, activity.New("a", func(context.Context, none) (none, error) { panic("boom") }, one), none{})
		var panicked *workflow.PanicError
		if !errors.As(err, &panicked) || panicked.Message != "boom" || !strings.Contains(panicked.Stack, "activity_test.") {
			t.Errorf("%v, want a panic with its stack", err)
		}
	})
	t.Run("the end of its goroutine", func(t *testing.T) {
		_, err := once(t, activity.New("a", func(context.Context, none) (none, error) { runtime.Goexit(); return none{}, nil }, one), none{})
		if err == nil || !strings.Contains(err.Error(), "ended its goroutine") {
			t.Error(err)
		}
	})
	t.Run("a context that it ignores", func(t *testing.T) {
		_, err := once(t, activity.New("a", func(context.Context, none) (none, error) { time.Sleep(time.Minute); return none{}, nil }, one), none{})
		var timeout *workflow.TimeoutError
		if !errors.As(err, &timeout) || timeout.Limit != failure.StartToClose {
			t.Errorf("%v, want a time-out", err)
		}
	})
}

// An activity fails if its input does not decode as its type, because one side was changed.
func TestAnInputThatDoesNotDecode(t *testing.T) {
	for text, changed := range map[string]workflow.Registration{
		"does not decode": activity.New("a", func(context.Context, int) (string, error) { return "", nil }),
		"panicked: boom":  activity.New("a", func(context.Context, bomb) (string, error) { return "", nil }),
	} {
		sent := activity.New("a", func(context.Context, string) (string, error) { return "", nil })
		synctest.Test(t, func(t *testing.T) {
			typ := workflow.NewWorkflow[none, string]("w")
			p := testbed.One(t, changed, workflow.Bind(typ, func(ctx workflow.Context, _ none) (string, error) { return sent.Run(ctx, "text") }))
			run, err := typ.Start(t.Context(), p.Client, "w", none{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(t.Context()); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want an error that the input %s", err, text)
			}
		})
	}
}

// A result that the workflow cannot decode fails its task until code that can decode it is
// deployed. The activity does not run again.
func TestAResultThatDoesNotDecode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		a := activity.New("a", func(context.Context, none) (string, error) { runs++; return "text", nil })
		changed := activity.New("a", func(context.Context, none) (bomb, error) { return bomb{}, nil })
		typ, d := workflow.NewWorkflow[none, string]("w"), testbed.New(t)
		wrong := workflow.Bind(typ, func(ctx workflow.Context, _ none) (string, error) {
			_, err := changed.Run(ctx, none{})
			return "", err
		})
		p := d.Start(executor.Options{Build: "wrong"}, a, wrong)
		if _, err := typ.Start(t.Context(), p.Client, "w", none{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		known, err := p.Describe(t.Context(), "w", "")
		if err != nil || known.StuckTask == nil || !strings.Contains(known.StuckTask.Failure.Message, "does not decode") {
			t.Fatalf("%+v, %v; want a task that fails because of the result", known, err)
		}
		p.Stop()
		fixed := workflow.Bind(typ, func(ctx workflow.Context, _ none) (string, error) { return a.Run(ctx, none{}) })
		p = d.Start(executor.Options{Build: "fixed"}, a, fixed)
		text, err := typ.Get(p.Client, "w").Result(t.Context())
		if err != nil || text != "text" || runs != 1 {
			t.Errorf("%q, %v after %d attempts; want the one result", text, err, runs)
		}
		p.Stop()
		d.Replay(fixed)
	})
}

// Start returns at once. Each future gets its own result, whatever the order of the results.
func TestStart(t *testing.T) {
	t.Parallel()
	a := activity.New("double", double)
	s := enginetest.New(t, func(ctx workflow.Context, n int) (got []int, err error) {
		var futures []workflow.Future[int]
		for i := range n {
			futures = append(futures, a.Start(ctx, i))
		}
		for _, f := range futures {
			v, err := f.Get(ctx)
			if err != nil {
				return got, err
			}
			got = append(got, v)
		}
		return got, nil
	}, 5)
	pending := s.Activities()
	for i, event := range slices.Backward(pending) {
		s.Complete(event, 2*i)
	}
	var got []int
	if err := s.Outcome(&got); err != nil || !slices.Equal(got, []int{0, 2, 4, 6, 8}) {
		t.Errorf("%v, %v", got, err)
	}
}

// An activity whose context is canceled is asked to stop. The workflow does not wait for it and
// ignores its result.
func TestCancel(t *testing.T) {
	t.Parallel()
	a := activity.New("double", double)
	s := enginetest.New(t, func(ctx workflow.Context, n int) (log []string, err error) {
		inner, cancel := workflow.WithCancel(ctx)
		f, kept := a.Start(inner, n), a.Start(ctx, n)
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return log, err
		}
		taken := a.Start(inner, n) // canceled before the command was sent
		cancel()
		for _, f := range []workflow.Future[int]{f, taken, a.Start(inner, n)} {
			_, err := f.Get(ctx)
			log = append(log, fmt.Sprint(f.Ready(), errors.Is(err, workflow.ErrCanceled)))
		}
		v, err := kept.Get(ctx)
		return append(log, fmt.Sprint(v)), err
	}, 21)
	s.Sleep(time.Minute)
	if last := s.Run.Log[len(s.Run.Log)-1].Commands; len(last) != 1 || last[0].Type() != history.TypeActivityTaskCancelRequested {
		t.Errorf("the task recorded %v, want one request to cancel", s.Events())
	}
	s.Complete(s.Activities()[0], 1)
	s.Complete(s.Activities()[0], 42)
	var log []string
	if err := s.Outcome(&log); err != nil || !slices.Equal(log, []string{"true true", "true true", "true true", "42"}) {
		t.Errorf("%q, %v", log, err)
	}
}
