package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/approval"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var yes = approval.Decision{Approved: true, Why: "of course"}

func start(t *testing.T) (context.Context, *testbed.Process, workflow.Run[int]) {
	t.Helper()
	ctx, p := t.Context(), testbed.One(t, approval.Registrations()...)
	run, err := approval.Workflow.Start(ctx, p.Client, "desk-1", workflow.None{})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, p, run
}

func send[T any](t *testing.T, p *testbed.Process, s workflow.Signal[T], v T) {
	t.Helper()
	if err := s.Send(t.Context(), p.Client, "desk-1", v); err != nil {
		t.Fatal(err)
	}
}

func TestTheOutcomeComesFromTheHandle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := start(t)
		begun := time.Now()
		handle, err := approval.HandIn.Send(ctx, p.Client, "desk-1", approval.Expense{Who: "ada", Cents: 900})
		if err != nil || time.Since(begun) > time.Second {
			t.Fatalf("accepted after %v, %v", time.Since(begun), err)
		}
		time.Sleep(36 * time.Hour)
		send(t, p, approval.Answer, yes)
		if decision, err := handle.Get(ctx); err != nil || decision != yes {
			t.Errorf("%+v, %v; want %+v", decision, err, yes)
		}
		send(t, p, approval.Retire, workflow.None{})
		if approved, err := run.Result(ctx); err != nil || approved != 1 {
			t.Errorf("%d were approved, %v", approved, err)
		}
		// The outcome can be read later by the update's id, even after the workflow has ended.
		later := workflow.UpdateHandle[approval.Decision]{Update: p.Handle("desk-1", run.RunID, handle.ID)}
		if decision, err := later.Get(ctx); err != nil || decision != yes {
			t.Errorf("later: %+v, %v; want %+v", decision, err, yes)
		}
	})
}

// The caller's network fails, and the caller sends the expense again with the same id.
func TestSentTwiceIsHandedInOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, _ := start(t)
		expense, once := approval.Expense{Who: "ada", Cents: 900}, workflow.CallOptions{ID: "expense-7"}
		for range 3 {
			if _, err := approval.HandIn.Send(ctx, p.Client, "desk-1", expense, once); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		send(t, p, approval.Answer, yes)
		for range 2 {
			if decision, err := approval.HandIn.Call(ctx, p.Client, "desk-1", expense, once); err != nil || decision != yes {
				t.Errorf("%+v, %v; want %+v", decision, err, yes)
			}
		}
		events, err := p.History(ctx, "desk-1")
		for _, typ := range []history.Type{history.TypeWorkflowExecutionUpdateAccepted, history.TypeActivityTaskScheduled} {
			if n := testbed.Count(events, typ); err != nil || n != 1 {
				t.Errorf("%d of %v, %v; want 1", n, typ, err)
			}
		}
	})
}

func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, run := start(t)
		handle, err := approval.HandIn.Send(ctx, p.Client, "desk-1", approval.Expense{Who: "ada", Cents: 1})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(49 * time.Hour)
		if _, err := handle.Get(ctx); !errors.Is(err, approval.ErrNoAnswer) {
			t.Errorf("%v, want %v", err, approval.ErrNoAnswer)
		}
		send(t, p, approval.Retire, workflow.None{})
		if approved, err := run.Result(ctx); err != nil || approved != 0 {
			t.Errorf("%d were approved, %v", approved, err)
		}
	})
}

// A refused update leaves no trace: it is not in the history, and costs no write.
func TestRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, p, _ := start(t)
		before, err := p.History(ctx, "desk-1")
		if err != nil {
			t.Fatal(err)
		}
		sending, m := meter.With(ctx)
		_, err = approval.HandIn.Call(sending, p.Client, "desk-1", approval.Expense{Who: "mallory"})
		var refused *client.Rejected
		if !errors.As(err, &refused) || !errors.Is(err, approval.ErrNothing) {
			t.Errorf("%v, want a rejection with %v", err, approval.ErrNothing)
		}
		if cost := m.Cost(); cost.Writes != 0 || cost.Messages != 0 {
			t.Errorf("the refusal cost %v", cost)
		}
		if after, err := p.History(ctx, "desk-1"); err != nil || len(after) != len(before) {
			t.Errorf("%d events before and %d after, %v", len(before), len(after), err)
		}
	})
}
