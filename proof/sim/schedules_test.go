package sim

import (
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// A deletion need not see a schedule that was created meanwhile. It ends a schedule that existed
// before, including the runs that continue it.
func TestCreatedSince(t *testing.T) {
	t.Parallel()
	run := func(id, first history.RunID) *engine.Run {
		r := engine.NewRun("weft.schedule:s0", id.Number())
		r.State.RunID, r.State.Started = id, &history.WorkflowExecutionStarted{FirstRunID: first}
		return r
	}
	for _, c := range []struct {
		name        string
		before, now *engine.Run
		want        bool
	}{
		{"there was none", nil, run("1-a", ""), true},
		{"there was another", run("1-a", ""), run("2-b", ""), true},
		{"there was another, of several runs", run("2-b", "1-a"), run("3-c", ""), true},
		{"it was there", run("1-a", ""), run("1-a", ""), false},
		{"it continues one that was there", run("1-a", ""), run("2-b", "1-a"), false},
		{"it continues another run of one that was there", run("2-b", "1-a"), run("3-c", "1-a"), false},
	} {
		if got := createdSince(c.before, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
