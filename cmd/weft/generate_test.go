package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Go client has the package of its folder, which the command creates, unless the caller or the
// folder's name says otherwise.
func TestGeneratedPackage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ folder, flags, want string }{
		{"shop", "", "package shop"},
		{"shop", " --package=store", "package store"},
		{"my-shop", "", "package client"},
		{"func", "", "package client"},
	} {
		out := filepath.Join(t.TempDir(), c.folder, "shop.go")
		if printed, err := command(t, "generate go --from=../../examples/cart/contract.json --out="+out+c.flags); err != nil || printed != "" {
			t.Fatalf("%s, %v", printed, err)
		}
		if text, err := os.ReadFile(out); err != nil || !strings.Contains(string(text), "\n"+c.want+"\n") {
			t.Errorf("%+v: %v\n%s", c, err, text)
		}
	}
	if printed, err := command(t, "generate go --from=../../examples/cart/contract.json"); err != nil || !strings.Contains(printed, "\npackage client\n") {
		t.Errorf("%v: %s", err, printed)
	}
}
