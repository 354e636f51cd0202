package kept_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/internal/replay"
)

// The histories of earlier versions say what their runs have cost, too.
func TestKeptHistoriesHaveACost(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var h client.History
		if err := json.Unmarshal(text, &h); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		run, err := replay.FromEvents(h.WorkflowID, h.RunID, h.Events)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		n := run.State.Counts
		if cost := price.Of(&n, true); n.Commits != int64(len(run.Log)) || n.Rows < 1 || cost.Writes < n.Commits || cost.WriteUnits < cost.Writes || cost.Dollars() <= 0 {
			t.Errorf("%s: %+v cost %+v", file, n, cost)
		}
	}
}
