package weft_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft"
)

// asProgram is the environment variable that turns this test binary into a program whose options
// name a key file.
const asProgram = "TEST_MAIN_KEY_FILE"

// If the program's key file cannot be read, the process ends with status 1 and stores nothing in
// plain text.
func TestMainWithoutItsKeys(t *testing.T) {
	if file := os.Getenv(asProgram); file != "" {
		os.Args = os.Args[:1]
		weft.Main(weft.Register(), weft.Options{Addr: "127.0.0.1:0", Data: filepath.Join(filepath.Dir(file), "data"), KeyFile: file})
		return
	}
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "keys")
	program := exec.Command(os.Args[0], "-test.run=^TestMainWithoutItsKeys$")
	program.Env = append(os.Environ(), asProgram+"="+file, "WEFT_KEY_FILE=")
	out, err := program.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(out), file) {
		t.Errorf("the program ended with %v and printed\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "data")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the data directory exists: %v", err)
	}
}

// asWrongProgram is the environment variable that turns this test binary into a program whose
// command line is wrong.
const asWrongProgram = "TEST_MAIN_WRONG"

// A command line that is wrong ends the process with status 2, as that of the command weft, and one
// that asks for help with 0.
func TestMainExitCodes(t *testing.T) {
	if flag := os.Getenv(asWrongProgram); flag != "" {
		os.Args = append(os.Args[:1], flag)
		weft.Main(weft.Register())
		return
	}
	t.Parallel()
	for flag, want := range map[string]int{"--adr": 2, "--help": 0} {
		program := exec.Command(os.Args[0], "-test.run=^TestMainExitCodes$")
		program.Env = append(os.Environ(), asWrongProgram+"="+flag)
		out, _ := program.CombinedOutput() // the state says how it ended
		if code := program.ProcessState.ExitCode(); code != want || !strings.Contains(string(out), "--addr") {
			t.Errorf("%s: status %d\n%s", flag, code, out)
		}
	}
}
