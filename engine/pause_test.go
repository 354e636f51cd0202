package engine_test

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

var paper = workflow.NewSignal[string]("paper")

// keep appends a commit that was made without running any code, as a store returns it.
func keep(t *testing.T, h *enginetest.Harness, c *history.Commit) {
	t.Helper()
	body, err := history.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := history.Decode(c.Slot, body)
	if err == nil {
		h.Bodies = append(h.Bodies, body)
		err = h.Run.Append(stored, len(body))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What arrives while a run is paused reaches its code once, in its order, in the task that resumes
// the run. A task that had failed is part of that. The harness replays the run.
func TestPausedEventsArriveInOrder(t *testing.T) {
	t.Parallel()
	broken := true
	h := enginetest.New(t, func(ctx workflow.Context, _ int) ([]string, error) {
		var all []string
		for range 3 {
			sheet, err := paper.Receive(ctx)
			if err != nil {
				return nil, err
			}
			if broken {
				panic("no paper")
			}
			all = append(all, sheet)
		}
		return all, nil
	}, 0)
	if f := h.Signal("paper", "first").Failure; f == nil || h.Stuck() == nil {
		t.Fatal(f, h.Stuck())
	}
	keep(t, h, h.Run.Pause(h.Writer(), history.Of(&history.WorkflowExecutionPaused{Reason: "why", RequestID: "p"})))
	s := h.Run.State
	if s.Paused == nil || s.Paused.Reason != "why" || !s.Steered(history.TypeWorkflowExecutionPaused, "p") || s.Steered(history.TypeWorkflowExecutionUnpaused, "p") || s.Stuck() != nil || s.Pending != history.PendingPaused {
		t.Fatalf("%+v", s)
	}
	for _, sheet := range []string{"second", "third"} {
		keep(t, h, h.Run.Suspend(h.Writer(), []history.Event{history.Of(h.Signaled("paper", sheet))}))
	}
	keep(t, h, h.Run.Fence(h.Writer()))
	if s.Pending != history.PendingPaused || s.Unread["paper"].Count != 3 {
		t.Errorf("pending %d, unread %+v", s.Pending, s.Unread["paper"])
	}
	broken = false
	h.Bring(&history.WorkflowExecutionUnpaused{RequestID: "r"})
	var all []string
	if err := h.Outcome(&all); err != nil || len(all) != 3 || all[0] != "first" || all[1] != "second" || all[2] != "third" {
		t.Error(all, err)
	}
	if s.Paused != nil || !s.Steered(history.TypeWorkflowExecutionUnpaused, "r") {
		t.Errorf("%+v", s.Paused)
	}
}

// A run whose code fails when it is resumed is stuck, and no longer paused.
func TestResumedAndStuck(t *testing.T) {
	t.Parallel()
	broken := true
	h := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) {
		sheet, err := paper.Receive(ctx)
		if broken {
			panic("no paper")
		}
		return sheet, errors.Join(err)
	}, 0)
	keep(t, h, h.Run.Pause(h.Writer(), history.Of(&history.WorkflowExecutionPaused{})))
	keep(t, h, h.Run.Suspend(h.Writer(), []history.Event{history.Of(h.Signaled("paper", "only"))}))
	if f := h.Bring(&history.WorkflowExecutionUnpaused{}).Failure; f == nil || h.Stuck() == nil || h.Run.State.Paused != nil {
		t.Fatal(f, h.Stuck(), h.Run.State.Paused)
	}
	broken = false
	h.Step(engine.Task{})
	var sheet string
	if err := h.Outcome(&sheet); err != nil || sheet != "only" {
		t.Error(sheet, err)
	}
}
