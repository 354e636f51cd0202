package processes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/isolate"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	processors = workflow.NewWorkflow[workflow.None, int]("processors")
	atOnce     = activity.New("atOnce", func(context.Context, workflow.None) (int, error) { return runtime.GOMAXPROCS(0), nil })
)

// The code of a child uses as many processors at once as it may.
func TestProcessorsOfAChild(t *testing.T) {
	want := runtime.GOMAXPROCS(0) + 1 // what no process has by itself
	s := serveIn(t, t.TempDir(), weft.Isolation{Children: 1, MemoryMiB: memory, CPUs: want})
	if _, err := processors.Start(t.Context(), s.c, "p", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	if got, err := processors.Get(s.c, "p").Result(t.Context()); err != nil || got != want {
		t.Errorf("GOMAXPROCS %d, %v; want %d", got, err, want)
	}
}

// A workflow that is parked stays so when the server restarts.
func TestParkedOverARestart(t *testing.T) {
	dir := t.TempDir()
	limits := weft.Isolation{Children: 1, MemoryMiB: memory}
	const body = `{"workflowId":"bad","type":"bad","input":"exit"}`
	t.Run("before", func(t *testing.T) {
		s := serveIn(t, dir, limits)
		for s.post(t, "/v1/workflows", body) == 503 {
		}
		s.log.until("a workflow is parked")
	})
	t.Run("after", func(t *testing.T) {
		s := serveIn(t, dir, limits)
		s.log.until("a workflow is still parked")
		if got := s.post(t, "/v1/workflows", body); got != 409 {
			t.Errorf("a start of a parked workflow: %d, want 409", got)
		}
	})
}

// A child that does not answer is killed, and another one serves.
func TestSilentChildIsKilled(t *testing.T) {
	t.Parallel()
	const records = 1000
	log := make(lines, records)
	store := storememory.New(storememory.Options{})
	queues := queuememory.New(nil, queuememory.Options{})
	p, err := isolate.Start(isolate.Options{
		Children: 1, Memory: memory << 20, Silence: time.Second, Receiver: queues,
		Ports: assembly.PortsOf(store, store, queues),
		Log:   slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	pid := pidOf(log.until("a child process serves"))
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	log.until("a child process does not answer: it is killed")
	log.until("a child process died")
	if err := syscall.Kill(pid, 0); err != syscall.ESRCH {
		t.Errorf("the process %d: %v, want that it is gone", pid, err)
	}
}

// parentMark makes the test's binary a server that isolates, with this data directory.
const parentMark = "WEFT_TEST_ISOLATING_PARENT"

// serveAsParent serves until it is killed, and logs to the standard output, which its children
// inherit.
func serveAsParent(dir string) error {
	return weft.Serve(context.Background(), registry(), weft.Options{
		Addr: "127.0.0.1:0", Data: dir, Isolate: weft.Isolation{Children: 2, MemoryMiB: memory}, Greeting: func(io.Writer, string) {},
		Log: slog.New(slog.NewJSONHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

// The children end when their parent is killed: nobody holds its standard output any more.
func TestChildrenEndWithTheirParent(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command(executable)
	parent.Env = append(os.Environ(), parentMark+"="+filepath.Join(t.TempDir(), "data"))
	parent.Stderr = os.Stderr
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = read.Close() }()
	parent.Stdout = write
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close() // the parent and its children have it
	const children = 3
	var pids []int
	output := bufio.NewScanner(read)
	for len(pids) < children && output.Scan() {
		var record map[string]any
		if json.Unmarshal(output.Bytes(), &record) == nil && record["msg"] == "a child process serves" {
			pids = append(pids, pidOf(record))
		}
	}
	if err := parent.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = parent.Wait() // it says that it was killed
	if _, err := io.Copy(io.Discard, read); err != nil {
		t.Error(err)
	}
	if len(pids) != children {
		t.Errorf("the children %v served, want %d", pids, children)
	}
}

func pidOf(record map[string]any) int {
	pid, _ := record["pid"].(float64)
	return int(pid)
}
