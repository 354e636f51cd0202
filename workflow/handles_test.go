package workflow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	shop  = workflow.NewWorkflow[int, int]("shop")
	buy   = workflow.NewUpdate[int, int]("buy")
	sold  = workflow.NewQuery[none, int]("sold")
	shut  = workflow.NewSignal[none]("shut")
	errNo = workflow.NewError("no", "not for sale")
)

// sells counts sales, up to a limit. A sale takes a minute.
func sells(ctx workflow.Context, limit int) (int, error) {
	n := 0
	sold.Handle(ctx, func(none) (int, error) { return n, nil })
	buy.Handle(ctx, func(ctx workflow.Context, more int) (int, error) {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return 0, err
		}
		if more == 13 {
			return 0, errNo
		}
		n += more
		return n, nil
	}, workflow.Validate(func(more int) error {
		if n+more > limit {
			return errNo
		}
		return nil
	}))
	if _, err := shut.Receive(ctx); err != nil {
		return n, err
	}
	err := workflow.AwaitHandlers(ctx)
	return n, err
}

func openShop(t *testing.T) (context.Context, *testbed.Process, workflow.Run[int]) {
	t.Helper()
	ctx, p := t.Context(), testbed.One(t, workflow.Bind(shop, sells, workflow.Names(buy, sold, shut)))
	run, err := shop.Start(ctx, p.Client, "shop-1", 100)
	if err != nil || run.WorkflowID != "shop-1" || run.RunID == "" {
		t.Fatalf("%+v, %v", run, err)
	}
	return ctx, p, run
}

func TestStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := openShop(t)
		if _, err := shop.Start(ctx, p.Client, "shop-1", 1); !errors.Is(err, client.ErrAlreadyStarted) {
			t.Errorf("a second start: %v, want %v", err, client.ErrAlreadyStarted)
		}
		again, err := shop.Start(ctx, p.Client, "shop-1", 1, workflow.StartOptions{IDConflictPolicy: "useExisting"})
		if err != nil || again.RunID != run.RunID {
			t.Errorf("%+v, %v; want the open run %+v", again, err, run)
		}
		made, err := shop.Start(ctx, p.Client, "", 1, workflow.StartOptions{RequestID: "r1"})
		if err != nil || made.WorkflowID == "" {
			t.Errorf("%+v, %v; want a new id", made, err)
		}
		same, err := shop.Start(ctx, p.Client, "", 1, workflow.StartOptions{RequestID: "r1"})
		if err != nil || same.RunID != made.RunID {
			t.Errorf("%+v, %v; want the run %+v of the first request", same, err, made)
		}
		short, err := shop.Start(ctx, p.Client, "shop-2", 1, workflow.StartOptions{RunTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		var timeout *workflow.TimeoutError
		if _, err := short.Result(ctx); !errors.As(err, &timeout) || timeout.Limit != failure.RunTimeout {
			t.Errorf("%v, want a run timeout", err)
		}
		if _, err := workflow.NewWorkflow[none, none]("unknown").Start(ctx, p.Client, "w", none{}); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("an unknown type: %v, want %v", err, client.ErrInvalid)
		}
	})
}

func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := openShop(t)
		if err := run.Cancel(ctx, "it rains"); err != nil {
			t.Fatal(err)
		}
		_, err := run.Result(ctx)
		wantCanceled(t, err, "it rains")
		if err := run.Cancel(ctx, "again"); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a cancellation of a closed run: %v, want %v", err, client.ErrNotFound)
		}
		second, err := shop.Start(ctx, p.Client, "shop-1", 100)
		if err != nil || second.RunID == run.RunID {
			t.Fatalf("%+v, %v", second, err)
		}
		if err := second.Terminate(ctx, "fire"); err != nil {
			t.Fatal(err)
		}
		if _, err := second.Result(ctx); !errors.Is(err, workflow.ErrTerminated) || err.Error() != "the run was terminated: fire" {
			t.Errorf("%v, want a termination with its reason", err)
		}
		// Each handle refers to its own run. Get refers to the latest.
		_, err = run.Result(ctx)
		wantCanceled(t, err, "it rains")
		if _, err := shop.Get(p.Client, "shop-1").Result(ctx); !errors.Is(err, workflow.ErrTerminated) {
			t.Errorf("the latest run: %v, want the second", err)
		}
		if _, err := shop.Get(p.Client, "shop-7").Result(ctx); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an unknown workflow: %v, want %v", err, client.ErrNotFound)
		}
	})
}

// The context bounds the wait for a result and has no effect on the run.
func TestResultWaitsNoLongerThanItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := openShop(t)
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		if _, err := run.Result(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's deadline", err)
		}
		handle, err := buy.Send(ctx, p.Client, "shop-1", 1)
		if err != nil {
			t.Fatal(err)
		}
		shorter, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := handle.Get(shorter); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the context's deadline", err)
		}
		if n, err := handle.Get(ctx); err != nil || n != 1 {
			t.Errorf("%d, %v; want the outcome of the update", n, err)
		}
	})
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := openShop(t)
		if n, err := buy.Call(ctx, p.Client, "shop-1", 90, workflow.CallOptions{RunID: run.RunID}); err != nil || n != 90 {
			t.Errorf("%d, %v", n, err)
		}
		for what, call := range map[string]func() error{
			"Call": func() error { _, err := buy.Call(ctx, p.Client, "shop-1", 50); return err },
			"Send": func() error { _, err := buy.Send(ctx, p.Client, "shop-1", 50); return err },
		} {
			var refused *client.Rejected
			if err := call(); !errors.As(err, &refused) || !errors.Is(err, errNo) || refused.UpdateID == "" {
				t.Errorf("%s: %v, want a refusal that is %v", what, err, errNo)
			}
		}
		var refused *client.Rejected
		handle, err := buy.Send(ctx, p.Client, "shop-1", -77) // accepted: 13 in all
		if err != nil {
			t.Fatal(err)
		}
		if n, err := handle.Get(ctx); err != nil || n != 13 {
			t.Errorf("%d, %v", n, err)
		}
		if _, err := buy.Call(ctx, p.Client, "shop-1", 13); !errors.Is(err, errNo) || errors.As(err, &refused) {
			t.Errorf("%v, want the handler's error %v, and no refusal", err, errNo)
		}
		if _, err := buy.Call(ctx, p.Client, "shop-1", 1, workflow.CallOptions{RunID: "1-0123456789abcdef"}); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an update of an unknown run: %v, want %v", err, client.ErrNotFound)
		}
		if n, err := sold.Ask(ctx, p.Client, "shop-1", none{}); err != nil || n != 13 {
			t.Errorf("sold %d, %v", n, err)
		}
	})
}

// An update whose run closes before the handler returns has an outcome, too.
func TestUpdateWhoseRunCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := openShop(t)
		handle, err := buy.Send(ctx, p.Client, "shop-1", 1)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Terminate(ctx, ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := handle.Get(ctx); !errors.Is(err, workflow.ErrRunClosed) {
				t.Errorf("%v, want %v", err, workflow.ErrRunClosed)
			}
		}
		if _, err := buy.Call(ctx, p.Client, "shop-1", 1); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an update of a closed run: %v, want %v", err, client.ErrNotFound)
		}
	})
}

// A validator that breaks a rule fails the task: the caller gets that failure, and the run
// continues.
func TestAMisusedValidatorFailsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ, good := workflow.NewWorkflow[none, none]("misused"), workflow.NewUpdate[none, string]("good")
		code := func(ctx workflow.Context, _ none) (none, error) {
			call.Handle(ctx, func(workflow.Context, none) (none, error) { return none{}, nil },
				workflow.Validate(func(none) error { return workflow.Sleep(ctx, time.Second) })) //weftvet:ignore readonly it is the misuse
			good.Handle(ctx, func(workflow.Context, none) (string, error) { return "good", nil })
			_, err := shut.Receive(ctx)
			return none{}, err
		}
		ctx, p := t.Context(), testbed.One(t, workflow.Bind(typ, code, workflow.Names(call, good, shut)))
		run, err := typ.Start(ctx, p.Client, "w", none{})
		if err != nil {
			t.Fatal(err)
		}
		var refused *client.Rejected
		if _, err := call.Call(ctx, p.Client, "w", none{}); !errors.Is(err, client.ErrNotReady) || errors.As(err, &refused) {
			t.Errorf("%v, want a failed task", err)
		}
		if text, err := good.Call(ctx, p.Client, "w", none{}); err != nil || text != "good" {
			t.Errorf("%q, %v", text, err)
		}
		if err := shut.Send(ctx, p.Client, "w", none{}); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err != nil {
			t.Error(err)
		}
	})
}
