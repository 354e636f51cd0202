package executor_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	fragile    = workflow.NewWorkflow[workflow.None, string]("fragile")
	fragileSet = workflow.NewUpdate[string, string]("set")
)

// bindFragile returns the code of fragile. It panics at each update while broken is set, and does
// not do what its history says while other is set.
func bindFragile(broken, other *atomic.Bool) workflow.Registration {
	return workflow.Bind(fragile, func(ctx workflow.Context, _ workflow.None) (string, error) {
		fragileSet.Handle(ctx, func(_ workflow.Context, how string) (string, error) {
			if broken.Load() {
				panic(how)
			}
			return how, nil
		}, workflow.Validate(func(how string) error {
			if how == "" {
				return workflow.NewError("Empty", "say how")
			}
			return nil
		}))
		if other.Load() {
			return "", nil
		}
		return "", workflow.Sleep(ctx, 2*time.Minute)
	}, workflow.Names(fragileSet))
}

// refuses is a process with the code of fragile.
type refuses struct {
	t *testing.T
	*testbed.Deployment
	*testbed.Process
	broken, other *atomic.Bool
}

func newRefuses(t *testing.T) *refuses {
	t.Helper()
	r := &refuses{t: t, Deployment: testbed.New(t), broken: new(atomic.Bool), other: new(atomic.Bool)}
	r.broken.Store(true)
	r.Process = r.Deployment.Start(executor.Options{}, bindFragile(r.broken, r.other))
	return r
}

// describe returns the description of a run, and demands that it is in a state and that the list
// agrees on whether it is stuck.
func (r *refuses) describe(state client.RunState) *client.Description {
	r.t.Helper()
	d, err := r.Client.Describe(r.t.Context(), "w", "")
	if err != nil || d.State != state {
		r.t.Fatalf("%+v, %v, want state %s", d, err, state)
	}
	var page struct {
		Workflows []schema.WorkflowSummary
	}
	r.Do(http.MethodGet, "/v1/workflows?filter=Stuck", "").Into(r.t, &page)
	if stuck := state == client.StateStuck; stuck != (len(page.Workflows) == 1) || stuck != (d.StuckTask != nil) {
		r.t.Fatalf("the list of stuck runs has %+v; the description has %+v", page.Workflows, d.StuckTask)
	}
	return d
}

// set sends an update, and returns how many commits it has added, and its error.
func (r *refuses) set(how string) (added int, err error) {
	before := len(r.Commits("w", 1))
	_, err = fragileSet.Call(r.t.Context(), r.Client, "w", how)
	return len(r.Commits("w", 1)) - before, err
}

// A run whose code refuses all updates is listed as stuck, with the reason. It says that nothing
// retries its task. A retry by hand, or an update that the code takes, ends that.
func TestRunThatRefusesUpdatesIsStuck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuses(t)
		if _, err := fragile.Start(t.Context(), r.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		var rejected *client.Rejected
		if added, err := r.set(""); !errors.As(err, &rejected) || added != 0 {
			t.Fatal(err, added)
		}
		r.describe(client.StateWaiting)
		if err := r.Client.Retry(t.Context(), "w", ""); !errors.Is(err, client.ErrNothingToDo) {
			t.Fatal(err)
		}
		since := time.Now()
		for i, want := range []int{1, 0, 0} {
			if added, err := r.set("one"); !errors.Is(err, client.ErrNotReady) || added != want {
				t.Fatalf("update %d: %v, and %d commits, want %d", i, err, added, want)
			}
			time.Sleep(time.Second)
		}
		s := r.describe(client.StateStuck).StuckTask
		if !s.Speculative || s.Failures != 1 || !s.Since.Equal(since) || s.NextAttemptAt != nil || s.Failure.Message != "one" || s.FirstFailure.Message != "one" || s.Place == "" || s.UpdateID != "" {
			t.Fatalf("%+v", s)
		}
		if added, err := r.set("two"); !errors.Is(err, client.ErrNotReady) || added != 1 {
			t.Fatal(err, added)
		}
		if s := r.describe(client.StateStuck).StuckTask; s.Failures != 2 || s.Failure.Message != "two" || s.FirstFailure.Message != "one" {
			t.Fatalf("%+v", s)
		}
		w, err := r.Client.Waits(t.Context(), "w", "")
		if err != nil || w.State != client.StateStuck || w.BeforeTask || len(w.Coroutines) != 1 {
			t.Fatalf("%+v, %v", w, err)
		}
		r.broken.Store(false)
		if added, err := r.set("three"); err != nil || added != 1 {
			t.Fatal(err, added)
		}
		r.describe(client.StateWaiting)
	})
}

// If a build no longer has an update that a run has accepted, that is a failure of its code, not of
// the caller: the run is stuck until a build has the update again. A name that the run has not
// accepted is refused, and writes nothing.
func TestRunWhoseUpdateIsLost(t *testing.T) {
	t.Parallel()
	renamed := workflow.NewUpdate[string, string]("assign")
	bindRenamed := workflow.Bind(fragile, func(ctx workflow.Context, _ workflow.None) (string, error) {
		renamed.Handle(ctx, func(_ workflow.Context, how string) (string, error) { return how, nil })
		return "", workflow.Sleep(ctx, 2*time.Minute)
	}, workflow.Names(renamed))
	synctest.Test(t, func(t *testing.T) {
		r := newRefuses(t)
		r.broken.Store(false)
		if _, err := fragile.Start(t.Context(), r.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		good := r.Process
		r.Process = r.Deployment.Start(executor.Options{}, bindRenamed)
		var rejected *client.Rejected
		if added, err := r.set("early"); !errors.As(err, &rejected) || rejected.Failure.Type != "UnknownUpdate" || added != 0 {
			t.Fatal(err, added)
		}
		r.describe(client.StateWaiting)
		r.Process = good
		if added, err := r.set("one"); err != nil || added != 1 {
			t.Fatal(err, added)
		}
		r.Process = r.Deployment.Start(executor.Options{}, bindRenamed)
		for i, want := range []int{1, 0} {
			if added, err := r.set("two"); !errors.Is(err, client.ErrNotReady) || added != want {
				t.Fatalf("update %d: %v, and %d commits, want %d", i, err, added, want)
			}
		}
		if s := r.describe(client.StateStuck).StuckTask; !s.Speculative || s.Failure.Kind != failure.KindNonDeterminism {
			t.Fatalf("%+v", s)
		}
		r.Process = good
		if added, err := r.set("three"); err != nil || added != 1 {
			t.Fatal(err, added)
		}
		r.describe(client.StateWaiting)
	})
}

// A retry of a run that has refused updates is durable: a process that reads the log finds the run
// well. If the code fails, it writes nothing.
func TestRetryOfRunThatRefusesUpdates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuses(t)
		if _, err := fragile.Start(t.Context(), r.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.set("one"); !errors.Is(err, client.ErrNotReady) {
			t.Fatal(err)
		}
		r.other.Store(true)
		before := len(r.Commits("w", 1))
		if err := r.Client.Retry(t.Context(), "w", ""); !errors.Is(err, client.ErrNotReady) || len(r.Commits("w", 1)) != before {
			t.Fatal(err)
		}
		r.describe(client.StateStuck)
		r.other.Store(false)
		r.broken.Store(false)
		if err := r.Client.Retry(t.Context(), "w", ""); err != nil || len(r.Commits("w", 1)) != before+1 {
			t.Fatal(err)
		}
		r.describe(client.StateWaiting)
		if err := r.Client.Retry(t.Context(), "w", ""); !errors.Is(err, client.ErrNothingToDo) {
			t.Fatal(err)
		}
		if added, err := r.set("two"); err != nil || added != 1 {
			t.Fatal(err, added)
		}
	})
}

// A run that waits for its start delay and has refused an update is stuck until its first task.
// There is nothing to retry before.
func TestDelayedRunThatRefusesUpdates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRefuses(t)
		if _, err := fragile.Start(t.Context(), r.Client, "w", workflow.None{}, workflow.StartOptions{StartDelay: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if added, err := r.set("one"); !errors.Is(err, client.ErrNotReady) || added != 1 {
			t.Fatal(err, added)
		}
		r.describe(client.StateStuck)
		if err := r.Client.Retry(t.Context(), "w", ""); !errors.Is(err, client.ErrNothingToDo) {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		r.describe(client.StateWaiting)
	})
}
