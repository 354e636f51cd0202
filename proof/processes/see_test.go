package processes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	declined = workflow.NewWorkflow[workflow.None, int]("declined")
	decline  = activity.New("decline", func(context.Context, workflow.None) (int, error) {
		return 0, errors.New("it is declined")
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
)

func init() {
	more = append(more, decline, workflow.Bind(declined, func(ctx workflow.Context, in workflow.None) (int, error) { return decline.Run(ctx, in) }))
}

// childLog makes the children of a test's servers log warnings to a named pipe.
const childLog = "WEFT_TEST_CHILD_LOG"

// logOfChild returns the log of a child: the one that its test reads, or none.
func logOfChild() (*slog.Logger, error) {
	path := os.Getenv(childLog)
	if path == "" {
		return slog.New(slog.DiscardHandler), nil
	}
	pipe, err := os.OpenFile(path, os.O_WRONLY, 0)
	return slog.New(slog.NewJSONHandler(pipe, &slog.HandlerOptions{Level: slog.LevelWarn})), err
}

// A child names the address of its server in the commands of its log, although the server chose its
// port after it was started.
func TestCommandsInTheLogOfAChild(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0) // as a writer, too: so opening it does not wait
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	t.Setenv(childLog, path)
	s := serveIn(t, t.TempDir(), weft.Isolation{Children: 1, MemoryMiB: memory})
	if _, err := declined.Start(t.Context(), s.c, "d", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	for output := bufio.NewScanner(pipe); output.Scan(); {
		var record map[string]any
		if err := json.Unmarshal(output.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		if record["msg"] != "activity attempt failed" {
			continue
		}
		if want := "weft describe --url " + s.url + " d"; record["see"] != want {
			t.Errorf("the log says %v, want %s", record["see"], want)
		}
		return
	}
	t.Error("the child has logged no failed attempt")
}
