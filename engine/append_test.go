package engine_test

import (
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A part of a log is refused, whichever commit it begins with, and so are closing commits that no
// engine writes.
func TestPartsOfLogsAreRefused(t *testing.T) {
	t.Parallel()
	h := enginetest.New(t, func(ctx workflow.Context, _ int) (string, error) { return paper.Receive(ctx) }, 0)
	w := h.Writer()
	w.CausationIDs = []history.CausationID{7}
	keep(t, h, h.Run.End(w, history.Of(&history.WorkflowExecutionTimedOut{})))
	for slot := 1; slot < len(h.Bodies); slot++ {
		c, err := history.Decode(uint32(slot), h.Bodies[slot])
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.NewRun("w", 1).Append(c, len(h.Bodies[slot])); err == nil {
			t.Errorf("a log that begins with slot %d was taken", slot)
		}
		first := *c
		first.Slot, first.FirstEventID = 0, 1
		_ = engine.NewRun("w", 1).Append(&first, 0) // whatever it says, it does not panic
		first.InputEvents, first.Commands = nil, nil
		_ = engine.NewRun("w", 1).Append(&first, 0)
	}
}
