package flow_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// kept are histories of schedules, by file in testdata, and how many runs each has started. The
// version at commit f7d88970 recorded them. It handled all moments of an outage in one task: each
// history has an outage of twelve minutes, a pause and the time after it.
var kept = map[string]int{"allow-all-v1.json": 10, "buffer-one-v1.json": 4, "skip-v1.json": 3, "terminate-v1.json": 6}

// A schedule whose history an earlier version recorded continues with the present code: it replays,
// with the same commands.
func TestKeptHistories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) != len(kept) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		run, events := testbed.ReplayKept(t, file, stored.WorkflowType, registrations()...)
		started := 0
		for _, e := range events {
			if e.Type.String() == "StartChildWorkflowExecutionInitiated" {
				started++
			}
		}
		if want := kept[filepath.Base(file)]; started != want || run.State.Status.Closed() {
			t.Errorf("%s: it has started %d runs, want %d, and is %s", file, started, want, run.State.Status)
		}
	}
}
