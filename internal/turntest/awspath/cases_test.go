package awspath

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/internal/turntest"
)

// TestCases plays the scripts of package turn through the functions, over a store in memory, and expects the same of each
// line as in the bubble that wrote them. With `make test-aws` TestUpdateCasesOnAWS plays them on DynamoDB.
func TestCases(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join("..", "..", "turn", "testdata", "*", "*"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("the scripts are %q, %v", paths, err)
	}
	for _, path := range paths {
		folder, name := filepath.Split(path)
		t.Run(filepath.Join(filepath.Base(folder), name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			script := turntest.NewScript(t, Scenes(Memory))
			defer script.Close()
			datadriven.RunTestFromString(t, string(text), func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				if got := script.Play(d.Cmd, turntest.ArgsOf(d.CmdArgs), d.Input); got != d.Expected {
					t.Errorf("%s of %s: %s came to\n%s\nexpected\n%s", d.Pos, path, d.Cmd, got, d.Expected)
				}
				return d.Expected
			})
		})
	}
}
