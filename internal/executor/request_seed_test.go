package executor_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
)

// seedRows are the rows of the seed document about speculative workflow tasks. Each is a script in
// testdata/seed that begins with the row and says what became of it in Weft.
var seedRows = []string{
	"task-kinds", "transient-attempts", "persist-or-discard", "stale-completion", "rollback-of-a-cached-run", "conversion",
	"failure", "timeout", "heartbeat", "not-found-after-a-move",
}

// TestSpeculativeWorkflowTask plays the scripts. Rewrite them like those of TestUpdateCases.
func TestSpeculativeWorkflowTask(t *testing.T) {
	t.Parallel()
	for _, row := range seedRows {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { play(t, filepath.Join("testdata", "seed", row)) })
		})
	}
}
