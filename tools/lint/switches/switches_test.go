package switches

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// The linter reports the cases that a switch leaves out, even if it has a default case. It does not
// report types that only contain attributes.
func TestSwitches(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "a", "weft/proof/b")
}
