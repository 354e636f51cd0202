//go:build !race

package main

import (
	"os"
	"testing"
)

// binaryOf returns the path of the command weft, which is the test's binary.
func binaryOf(t *testing.T) string {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// removeBinary removes nothing: go test removes the test's binary.
func removeBinary() {}
