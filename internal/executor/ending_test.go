package executor_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	hearer  = workflow.NewWorkflow[[]string, []string]("hearer")
	hearing = workflow.NewSignal[string]("hearing")
)

// hear collects signals in a coroutine, and continues as new with them after a minute. The run in
// which it receives "end" completes.
func hear(broken bool) func(workflow.Context, []string) ([]string, error) {
	return func(ctx workflow.Context, got []string) ([]string, error) {
		first := len(got) == 0
		workflow.Go(ctx, func(ctx workflow.Context) {
			for {
				text, err := hearing.Receive(ctx)
				if err != nil {
					return
				}
				got = append(got, text)
			}
		})
		if !first {
			return got, workflow.Await(ctx, func() bool { return got[len(got)-1] == "end" })
		}
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return got, err
		}
		if broken {
			panic("the bug of build 1")
		}
		return hearer.ContinueAsNew(ctx, append([]string{"lap"}, got...))
	}
}

// A signal that was acknowledged while a run was stuck is kept when the run recovers by continuing
// as new.
func TestASignalToAStuckRunIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		p := d.Start(executor.Options{Build: "build-1"}, workflow.Bind(hearer, hear(true), workflow.Names(hearing)))
		send := func(text string) {
			t.Helper()
			if err := hearing.Send(ctx, p.Client, "w", text); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := hearer.Start(ctx, p.Client, "w", nil, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		send("before")
		time.Sleep(2 * time.Minute)
		send("one")
		send("two")
		p.Stop()
		p = d.Start(executor.Options{Build: "build-2"}, workflow.Bind(hearer, hear(false), workflow.Names(hearing)))
		time.Sleep(time.Hour)
		send("end")
		got, err := hearer.Get(p.Client, "w").Result(ctx)
		if want := []string{"lap", "before", "one", "two", "end"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("the runs received %q, want %q (%v)", got, want, err)
		}
		d.CheckReplay(p)
	})
}

// Canceled code may need another task before the run closes. No update begins after the workflow's
// function has returned, because its effect would be lost with the run.
func TestNoUpdateBeginsAfterTheReturn(t *testing.T) {
	var (
		typ  = workflow.NewWorkflow[workflow.None, int]("leaver")
		slow = workflow.NewUpdate[workflow.None, string]("slow")
		add  = workflow.NewUpdate[int, int]("add")
	)
	leave := func(ctx workflow.Context, _ workflow.None) (sum int, err error) {
		slow.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) { return "", workflow.Sleep(ctx, time.Hour) })
		add.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
			sum += n
			return sum, nil
		})
		_ = workflow.Sleep(ctx, 2*time.Hour)
		return sum, nil
	}
	for _, cached := range []int{0, -1} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := testbed.New(t), context.Background()
			p := d.Start(executor.Options{CacheEntries: cached, Engine: engine.Options{MaxStarts: 1}}, workflow.Bind(typ, leave, workflow.Names(slow, add)))
			run, err := typ.Start(ctx, p.Client, "w", workflow.None{}, workflow.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"u1", "u2", "u3"} {
				if _, err := slow.Send(ctx, p.Client, "w", workflow.None{}, workflow.CallOptions{ID: id}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := add.Call(ctx, p.Client, "w", 1); err != nil {
				t.Fatal(err)
			}
			if err := run.Cancel(ctx, "enough"); err != nil {
				t.Fatal(err)
			}
			before := d.Runs("w")[0]
			if before.State.Status.Closed() {
				t.Fatal("the run closed in the task of the request")
			}
			if got, err := add.Call(ctx, p.Client, "w", 2, workflow.CallOptions{ID: "late"}); !errors.Is(err, client.ErrNotFound) {
				t.Errorf("an update after the return returned %d, %v", got, err)
			}
			if got, err := run.Result(ctx); err != nil || got != 1 {
				t.Errorf("the run returned %d, %v", got, err)
			}
			d.CheckReplay(p)
		})
	}
}

// An update that the run has not accepted when it closes is passed to the next run. If no run
// follows, the caller gets an error.
func TestUpdateIsPreventedByTheReturn(t *testing.T) {
	first, second := workflow.NewUpdate[workflow.None, string]("first"), workflow.NewUpdate[workflow.None, string]("second")
	typ := workflow.NewWorkflow[int, string]("relay")
	for _, continues := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := testbed.New(t), context.Background()
			hooks := d.Hook()
			p := d.Start(executor.Options{}, workflow.Bind(typ, func(ctx workflow.Context, lap int) (string, error) {
				if lap == 1 {
					second.Handle(ctx, func(workflow.Context, workflow.None) (string, error) { return "two", nil })
					return "", workflow.Sleep(ctx, time.Hour)
				}
				first.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) {
					second.Handle(ctx, func(workflow.Context, workflow.None) (string, error) { return "never", nil })
					return "one", nil
				})
				if continues {
					return typ.ContinueAsNew(ctx, 1)
				}
				return "over", nil
			}, workflow.Names(second, first)))
			if _, err := typ.Start(ctx, p.Client, "w", 0, workflow.StartOptions{StartDelay: time.Minute}); err != nil {
				t.Fatal(err)
			}
			// A signal holds the workflow's lock until both updates wait behind it. They then share
			// a task.
			release, done := make(chan struct{}), make(chan error)
			hooks.Next(testbed.OnPut, func(do func() error) error { <-release; return do() })
			go func() { done <- hearing.Send(ctx, p.Client, "w", "held") }()
			synctest.Wait()
			var got string
			go func() {
				_, err := first.Call(ctx, p.Client, "w", workflow.None{}, workflow.CallOptions{ID: "u1"})
				done <- err
			}()
			synctest.Wait()
			go func() {
				var err error
				got, err = second.Call(ctx, p.Client, "w", workflow.None{}, workflow.CallOptions{ID: "u2"})
				if !continues && !errors.Is(err, client.ErrNotFound) {
					t.Errorf("the second update returned %v, want an error that the run has closed", err)
				}
				done <- nil
			}()
			synctest.Wait()
			close(release)
			for range 3 {
				<-done
			}
			if continues != (got == "two") {
				t.Errorf("continues %v: the second update returned %q", continues, got)
			}
		})
	}
}
