package kept_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/kept"
	"github.com/seed-41655fb1/weft/weftest"
)

// Each kept history replays, with the same commands.
func TestKeptHistoriesReplay(t *testing.T) {
	t.Parallel()
	weftest.Replay(t, kept.Registrations(), weftest.Files("testdata/*.json"))
}

// Histories that older rules than history.NamesOfBinding have recorded replay with bindings that
// name nothing.
func TestKeptHistoriesReplayWithoutNames(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var older []weftest.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if newer := fmt.Sprintf(`"rules": %d`, history.NamesOfBinding); !strings.Contains(string(text), newer) {
			older = append(older, weftest.JSON(text))
		}
	}
	if len(older) < 18 {
		t.Errorf("%d histories of older rules: none may be removed", len(older))
	}
	weftest.Replay(t, kept.Unnamed(), older...)
}

// Each type of event that the recording version had is in a kept history. testdata/types.txt lists
// them. A type that is newer gets a history, and a line in the list, when a version that has it is
// released.
func TestEachEventTypeIsKept(t *testing.T) {
	t.Parallel()
	seen := map[history.Type]bool{}
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
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
		for _, e := range h.Events {
			seen[e.Type] = true
		}
	}
	text, err := os.ReadFile("testdata/types.txt")
	if err != nil {
		t.Fatal(err)
	}
	recorded := strings.Fields(string(text))
	for _, name := range recorded {
		var typ history.Type
		if err := typ.UnmarshalText([]byte(name)); err != nil || !seen[typ] {
			t.Errorf("no kept history has a %s (%v)", name, err)
		}
	}
	for n := range 256 {
		name := history.Type(n).String()
		if !strings.HasPrefix(name, "Type(") && !slices.Contains(recorded, name) {
			t.Logf("%s is newer than the kept histories", name)
		}
	}
}
