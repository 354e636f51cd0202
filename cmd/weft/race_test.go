//go:build race

package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// binaryOf builds the command weft without the race detector, with which a server starts so slowly
// that clients give up while it is killed again and again.
func binaryOf(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "weft")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary
}
