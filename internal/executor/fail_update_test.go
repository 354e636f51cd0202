package executor_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	office   = workflow.NewWorkflow[workflow.None, []string]("office")
	slowly   = workflow.NewUpdate[string, string]("slowly")
	quickly  = workflow.NewUpdate[string, string]("quickly")
	closeNow = workflow.NewSignal[workflow.None]("closeNow")
)

// runOffice accepts updates until it is closed. A slow update holds a mutex while it waits. The
// update "broken" panics after that, itself or in a coroutine that it has started.
func runOffice(ctx workflow.Context, _ workflow.None) (done []string, err error) {
	var mutex workflow.Mutex
	slowly.Handle(ctx, func(ctx workflow.Context, how string) (string, error) {
		if err := mutex.Lock(ctx); err != nil {
			return "", err
		}
		defer mutex.Unlock(ctx)
		workflow.Go(ctx, func(ctx workflow.Context) {
			if workflow.Sleep(ctx, 2*time.Minute) == nil && how == "broken inside" {
				panic("a bug in a coroutine of the handler")
			}
		})
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return "", err
		}
		if how == "broken" {
			panic("a bug of the handler")
		}
		if err := workflow.Sleep(ctx, 2*time.Minute); err != nil {
			return "", err
		}
		done = append(done, how)
		return how, nil
	})
	quickly.Handle(ctx, func(_ workflow.Context, how string) (string, error) {
		done = append(done, how)
		return how, nil
	})
	if _, err := closeNow.Receive(ctx); err != nil {
		return nil, err
	}
	return done, workflow.AwaitHandlers(ctx)
}

// An accepted update whose handler panics later makes the run not ready. An operator fails this one
// update, and the run continues.
func TestFailUpdate(t *testing.T) {
	for _, how := range []string{"broken", "broken inside"} {
		for _, cold := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { playFailUpdate(t, how, cold) })
		}
	}
}

func playFailUpdate(t *testing.T, how string, cold bool) {
	d, ctx := testbed.New(t), context.Background()
	var o executor.Options
	if cold {
		o.CacheEntries = -1
	}
	p := d.Start(o, workflow.Bind(office, runOffice, workflow.Names(slowly, quickly, closeNow)))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := office.Start(ctx, p.Client, "w", workflow.None{}, workflow.StartOptions{})
	must(err)
	bad, err := slowly.Send(ctx, p.Client, "w", how, workflow.CallOptions{ID: "bad"})
	must(err)
	good, err := slowly.Send(ctx, p.Client, "w", "good", workflow.CallOptions{ID: "good"})
	must(err)
	time.Sleep(2*time.Minute + 10*time.Second)
	if _, err := quickly.Call(ctx, p.Client, "w", "refused"); !errors.Is(err, client.ErrNotReady) {
		t.Fatalf("an update while the task fails: %v", err)
	}
	what, err := p.Client.Describe(ctx, "w", "")
	must(err)
	if what.StuckTask == nil || what.StuckTask.UpdateID != "bad" {
		t.Errorf("the description has %+v", what.StuckTask)
	}
	for range 2 { // the second time has no effect
		must(p.Client.FailUpdate(ctx, "w", "", "bad", "it cannot be fixed"))
	}
	var failed *workflow.Error
	if _, err := bad.Get(ctx); !errors.As(err, &failed) || failed.Type != "UpdateFailedByOperator" || failed.Message != "it cannot be fixed" {
		t.Errorf("the caller of the failed update got %v", err)
	}
	if _, err := quickly.Call(ctx, p.Client, "w", "quick"); err != nil {
		t.Errorf("an update after that: %v", err)
	}
	if got, err := good.Get(ctx); err != nil || got != "good" {
		t.Errorf("the update that waited behind the broken one: %q, %v", got, err)
	}
	if err := p.Client.FailUpdate(ctx, "w", "", "good", ""); err != nil {
		t.Errorf("failing a completed update: %v", err)
	}
	if err := p.Client.FailUpdate(ctx, "w", "", "unknown", ""); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("failing an unknown update: %v", err)
	}
	must(closeNow.Send(ctx, p.Client, "w", workflow.None{}))
	got, err := office.Get(p.Client, "w").Result(ctx)
	if err != nil || len(got) != 2 || got[0] != "quick" || got[1] != "good" {
		t.Errorf("the run returned %q, %v", got, err)
	}
	d.CheckReplay(p)
	types, err := p.History(ctx, "w")
	must(err)
	n := 0
	for _, typ := range types {
		if typ == history.TypeWorkflowExecutionUpdateFailed {
			n++
		}
	}
	if n != 1 {
		t.Errorf("the history has the failure %d times", n)
	}
}
