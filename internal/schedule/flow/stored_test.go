package flow_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/flow"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
)

// again decodes a stored form and encodes it again.
func again[T any](text []byte) ([]byte, error) {
	var v T
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// forms are the stored forms of a schedule, by the names of the files in testdata/stored. The
// version at commit cf5ef1c, which shared its types with the HTTP API, recorded them: one with all
// fields, and one with the fewest.
var forms = map[string]func([]byte) ([]byte, error){
	"created": again[stored.Input], "state": again[flow.State], "note": again[stored.Note], "changed": again[stored.Change],
	"triggered": again[stored.Trigger], "backfilled": again[stored.Backfill], "asked": again[stored.Describe],
	"description": again[stored.Description], "part": again[schedule.Part], "between": again[flow.Between],
}

// The form that an earlier version stored decodes, and encodes to the same bytes.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	for name, again := range forms {
		files, err := filepath.Glob("testdata/stored/" + name + "*.json")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", name, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = bytes.TrimSpace(text)
			if got, err := again(text); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: %v\n got %s\nwant %s", file, err, got, text)
			}
		}
	}
}
