package httpapi_test

import (
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/proof/testbed"
)

// TestContract plays the scripts in testdata/scripts: requests, and the answers to them, word by
// word. Rewrite them with `go test ./internal/httpapi -run TestContract -rewrite`, and read the
// difference: it is a change of the API.
func TestContract(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { play(t, path) })
	})
}

func play(t *testing.T, path string) {
	script := testbed.NewScript(t, testbed.NewBubble)
	defer script.Close()
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		return script.Play(d.Cmd, testbed.ArgsOf(d.CmdArgs), d.Input)
	})
}
