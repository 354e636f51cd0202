// Package shop is a user's module for tests: it imports Weft as the example hello does, and breaks
// each rule.
package shop

import (
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata
var files embed.FS

// New writes the module example.com/shop, and example.com/lib that it requires, to a folder for the
// test, and returns the folder. root is where Weft's own module is: the go.mod is that of its
// example hello.
func New(t *testing.T, root string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	at, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "examples", "hello", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "examples", "hello", "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.NewReplacer("module example.com/hello", "module example.com/shop", "=> ../..", "=> "+at).Replace(string(mod))
	lib := filepath.Join(dir, "lib")
	unpack(t, "shop", dir)
	unpack(t, "lib", lib)
	write(t, filepath.Join(dir, "go.mod"), ours+"\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n")
	write(t, filepath.Join(dir, "go.sum"), string(sum))
	write(t, filepath.Join(lib, "go.mod"), "module example.com/lib\n\ngo 1.26\n")
	sign(t, dir)
	return dir
}

// sign ends each Go file, and each file that a fix makes of it, with a comment that no other copy
// has. With -trimpath, go vet would take
// the files for those of another copy that it has looked at, and print what it found there.
func sign(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err != nil || ext != ".go" && ext != ".golden" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, append(text, "\n// "+dir+"\n"...), 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, folder, to string) {
	t.Helper()
	sub, err := fs.Sub(files, "testdata/"+folder)
	if err == nil {
		err = os.CopyFS(to, sub)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
