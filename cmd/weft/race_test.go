//go:build race

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binaryOf returns the path of the command weft, built without the race detector: with it, a server
// starts so slowly that clients give up while it is killed again and again.
func binaryOf(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// binaryDir is where built puts the binary; empty before.
var binaryDir string

// built builds the command once for all tests, without cgo as make does.
var built = sync.OnceValues(func() (binary string, err error) {
	if binaryDir, err = os.MkdirTemp("", "weft"); err != nil {
		return "", err
	}
	binary = filepath.Join(binaryDir, "weft")
	cmd := exec.Command("go", "build", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return binary, nil
})

// removeBinary removes what built has made.
func removeBinary() {
	if binaryDir != "" {
		_ = os.RemoveAll(binaryDir) // a test's outcome does not depend on it
	}
}
