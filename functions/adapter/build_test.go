package adapter

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Two programs have different ids. A program without an id of the linker has none.
func TestLinkerID(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the programs here are not ELF, as Lambda's are")
	}
	dir := t.TempDir()
	build := func(name, text string, flags ...string) string {
		t.Helper()
		source, program := filepath.Join(dir, name+".go"), filepath.Join(dir, name)
		if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println("+text+") }\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := append(append([]string{"build", "-o", program}, flags...), source)
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return program
	}
	one, two := linkerID(build("one", "1", "-ldflags=-s")), linkerID(build("two", "2", "-ldflags=-s"))
	if len(one) == 0 || string(one) == string(two) {
		t.Errorf("the ids are %q and %q", one, two)
	}
	if none := linkerID(build("none", "3", "-ldflags=-buildid=")); none != nil {
		t.Errorf("a program without an id has %q", none)
	}
}
