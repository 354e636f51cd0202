package docs_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain runs the tests in the root of the repository, because documents name paths from there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	m.Run()
}
