package local_test

import (
	"os"
	"testing"

	"github.com/seed-41655fb1/weft/internal/local"
)

// On a terminal, the log has the texts of failures.
func TestLoggerOnATerminal(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if _, failures, err := local.Logger(terminal, variables(nil)); err != nil || failures != local.LogText {
		t.Errorf("%s, %v", failures, err)
	}
}
