package engine_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// The facts of a run before a commit, with that commit, are those of its state after it. They
// change only when a run gets stuck, recovers, is paused, is resumed, or closes.
func TestFacts(t *testing.T) {
	t.Parallel()
	broken := true
	h := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) {
		for range 2 {
			if _, err := paper.Receive(ctx); err != nil {
				return "", err
			}
			if broken {
				panic("no paper")
			}
		}
		return "", workflow.NewError("Declined", "no more")
	}, 0)
	run := engine.NewRun(h.Run.WorkflowID, 1)
	seen := 0
	facts := func() (f engine.Facts, changes int) {
		t.Helper()
		for ; seen < len(h.Bodies); seen++ {
			c, err := history.Decode(uint32(seen), h.Bodies[seen])
			if err != nil {
				t.Fatal(err)
			}
			before, want := run.State.Facts(), run.Facts(c)
			if err := run.Append(c, len(h.Bodies[seen])); err != nil {
				t.Fatal(err)
			}
			if f = run.State.Facts(); !f.Equal(want) || f.Empty() != (f == engine.Facts{}) {
				t.Fatalf("slot %d: %+v, and foretold was %+v", seen, f, want)
			}
			if !f.Equal(before) {
				changes++
			}
		}
		return f, changes
	}
	if f, changes := facts(); !f.Empty() || changes != 0 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	h.Signal("paper", "first")
	f, changes := facts()
	if f.Stuck == nil || f.Stuck.FailureType != "panic" || f.Stuck.Since != run.State.LastTime || changes != 1 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	keep(t, h, h.Run.Fence(h.Writer()))
	if f, changes = facts(); f.Stuck == nil || changes != 0 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	keep(t, h, h.Run.Pause(h.Writer(), history.Of(&history.WorkflowExecutionPaused{Reason: "a secret", RequestID: "p"})))
	if f, changes = facts(); f.Stuck != nil || f.Paused != run.State.Paused.Since || f.Paused == 0 || changes != 1 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	keep(t, h, h.Run.Suspend(h.Writer(), []history.Event{history.Of(h.Signaled("paper", "second"))}))
	if f, changes = facts(); f.Paused == 0 || changes != 0 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	h.Bring(&history.WorkflowExecutionUnpaused{RequestID: "r"})
	if f, changes = facts(); f.Stuck == nil || f.Paused != 0 || changes != 1 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
	broken = false
	h.Step(engine.Task{})
	if f, changes = facts(); f.Stuck != nil || f.CloseReason != "Declined" || changes != 1 {
		t.Fatalf("%+v, %d changes", f, changes)
	}
}

// A run that is ended while it is paused is no longer paused.
func TestFactsOfPausedRunThatEnds(t *testing.T) {
	t.Parallel()
	h := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) { return paper.Receive(ctx) }, 0)
	keep(t, h, h.Run.Pause(h.Writer(), history.Of(&history.WorkflowExecutionPaused{})))
	end := h.Run.End(h.Writer(), history.Of(&history.WorkflowExecutionTerminated{}))
	want := h.Run.Facts(end)
	keep(t, h, end)
	if f := h.Run.State.Facts(); f.Paused != 0 || f.CloseReason != "terminated" || !f.Equal(want) {
		t.Errorf("%+v, and foretold was %+v", f, want)
	}
}

// A run that a fence makes void has no facts.
func TestFactsOfVoidRun(t *testing.T) {
	t.Parallel()
	run := engine.NewRun("w", 1)
	fence := run.Fence(&engine.Writer{Now: 1, RunID: history.NewRunID(1, [8]byte{})})
	if f := run.Facts(fence); fence.Status != history.Void || !f.Empty() {
		t.Errorf("%s: %+v", fence.Status, f)
	}
}
