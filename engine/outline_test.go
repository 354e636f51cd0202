package engine_test

import (
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// longRun returns a run of n commits. Each has two events, except that every tenth has none. The
// causation id i caused the commits in the slots i and i+n/2.
func longRun(t *testing.T, n int) *engine.Run {
	t.Helper()
	run := engine.NewRun("w", 1)
	for slot := range n {
		c := &history.Commit{
			ID: history.CommitID{byte(slot), byte(slot >> 8)}, RunID: "1-0", Slot: uint32(slot), FirstEventID: run.State.NextEventID,
			Time: history.Timestamp(1000 * slot), CausationIDs: []history.CausationID{history.CausationID(slot%(n/2) + 1)},
		}
		signal := history.Of(&history.WorkflowExecutionSignaled{SignalName: "s"})
		switch {
		case slot == 0:
			c.InputEvents = []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: "w"}), signal}
		case slot%10 != 0:
			c.InputEvents = []history.Event{signal, signal}
		}
		if err := run.Append(c, 100); err != nil {
			t.Fatal(err)
		}
	}
	return run
}

// A trimmed run answers questions about its dropped commits as the whole run does.
func TestTrimmedRunKnowsItsCommits(t *testing.T) {
	t.Parallel()
	const n = 700
	whole, trimmed := longRun(t, n), longRun(t, n)
	trimmed.Trim(16 * 500) // keeps the first commit and the last five
	for slot := range uint32(n) {
		wantKept := slot == 0 || slot >= n-5
		if kept := trimmed.Log[slot] != nil; kept != wantKept || (trimmed.Lacks(slot) == 0) != wantKept {
			t.Fatalf("slot %d is kept: %v, and %d commits are missing from there on", slot, kept, trimmed.Lacks(slot))
		}
		c := whole.Log[slot]
		if !trimmed.Has(slot, c.ID) || trimmed.Has(slot, history.CommitID{1, 2, 3}) || trimmed.TimeOf(slot) != c.Time ||
			trimmed.BatchesBefore(slot) != whole.BatchesBefore(slot) {
			t.Fatalf("slot %d: %v, %d batches before; want those of %+v", slot, trimmed.TimeOf(slot), trimmed.BatchesBefore(slot), c)
		}
		for event := c.FirstEventID; event < c.NextEventID(); event++ {
			if got, ok := trimmed.SlotOf(event); got != slot || !ok {
				t.Fatalf("event %d is in slot %d, %v; want %d", event, got, ok, slot)
			}
		}
	}
	for _, event := range []int64{-1, 0, trimmed.State.NextEventID} {
		if slot, ok := trimmed.SlotOf(event); ok {
			t.Errorf("event %d does not exist, and is found in slot %d", event, slot)
		}
	}
	if whole.BatchesBefore(n-1) != 630 || trimmed.Lacks(1) != n-6 || trimmed.Footprint() >= whole.Footprint() {
		t.Errorf("%d batches, %d missing commits, %d bytes of %d", whole.BatchesBefore(n-1), trimmed.Lacks(1), trimmed.Footprint(), whole.Footprint())
	}
}

// Caused finds commits in a short run and in a long one, trimmed or not.
func TestCaused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{100, 700} {
		for _, most := range []int64{1 << 30, 16 * 500} {
			run := longRun(t, n)
			run.Trim(most)
			triggers := []*engine.Message{{CausationID: 8}, {CausationID: 3, Seen: 20}, {CausationID: 1000}, {CausationID: 8}}
			want := []uint32{7, uint32(n/2 + 2), uint32(n/2 + 7)}
			if got := run.Caused(triggers); !slices.Equal(got, want) {
				t.Errorf("%d commits, %d of them missing: %v, want %v", n, run.Lacks(1), got, want)
			}
		}
	}
}
