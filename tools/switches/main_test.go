package main

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// The linter finds what switches leave out, also beside a default case, and no type that only
// contains attributes.
func TestSwitches(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), analyzer(), "a")
}
