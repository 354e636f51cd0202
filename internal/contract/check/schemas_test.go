package check_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/internal/contract/check"
	"github.com/seed-41655fb1/weft/internal/contract/schemas"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/schemas.json")

// TestSchemas keeps testdata/schemas.json: the schemas of the types of cases.json. The validator of
// the web page plays the cases with them (ui/test/unit/schema.test.mjs).
func TestSchemas(t *testing.T) {
	t.Parallel()
	const file = "testdata/schemas.json"
	got := map[string]map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(check.Types)) {
		var set schemas.Set
		schema, err := set.Add(check.Types[name], false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got[name] = map[string]any{"schema": schema, "$defs": set.Defs()}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(got); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, text.Bytes()) {
		t.Errorf("%s is not what the types have: run go test ./internal/contract/check -run TestSchemas -rewrite", file)
	}
}
