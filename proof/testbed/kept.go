package testbed

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/workflow"
)

// ReplayKept replays a history that an earlier version recorded, and fails the test if the present
// code does something else. It returns the run, and its events as the file has them.
func ReplayKept(t *testing.T, file, workflowType string, registrations ...workflow.Registration) (*engine.Run, []schema.HistoryEvent) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var h schema.HistoryResponse
	if err := json.Unmarshal(text, &h); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	run, err := replay.FromEvents(h.WorkflowID, h.RunID, h.Events)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if err := replay.Cold(Registry(t, registrations...).Workflow(workflowType), h.WorkflowID, run.Log); err != nil {
		t.Errorf("%s: %v", file, err)
	}
	return run, h.Events
}
