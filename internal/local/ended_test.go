package local

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// answer sends a request over HTTP, and checks its status and that a text is in the body.
func answer(t *testing.T, method, url, body string, status int, want string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status || !strings.Contains(string(got), want) {
		t.Errorf("%s %s: %v %s %s; want %d and %q", method, url, err, response.Status, got, status, want)
	}
}

// start returns a request that starts a workflow.
func start(id string) string { return fmt.Sprintf(`{"type":"nothing","workflowId":%q}`, id) }

// After a file of the data directory was deleted, the server is not ready, refuses writes with the
// reason, and answers reads. Its log has one line about it, with the name of the file. The server
// keeps running: a new process could not find what is in memory.
func TestDeletedFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	log := &strings.Builder{}
	s, err := Open(registry(t), Options{Dir: dir, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError}))})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	answer(t, http.MethodPost, server.URL+"/v1/workflows", start("w-1"), http.StatusCreated, "w-1")
	answer(t, http.MethodGet, server.URL+"/readyz", "", http.StatusOK, "ok")
	segments, err := filepath.Glob(filepath.Join(dir, "log", "*.wal"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	if err := os.Remove(segments[0]); err != nil {
		t.Fatal(err)
	}
	answer(t, http.MethodGet, server.URL+"/healthz", "", http.StatusOK, "ok")
	for i := range 3 { // the first one discovers it
		answer(t, http.MethodPost, server.URL+"/v1/workflows", start(fmt.Sprint("w-2-", i)), http.StatusServiceUnavailable, "was deleted or replaced")
	}
	answer(t, http.MethodGet, server.URL+"/readyz", "", http.StatusServiceUnavailable, "was deleted or replaced")
	answer(t, http.MethodGet, server.URL+"/v1/workflows/w-1", "", http.StatusOK, "w-1")
	select {
	case <-s.backend.ended:
		t.Error("the server is to end")
	default:
	}
	_ = s.Close() // it cannot say that all is well
	var about []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "takes no more writes") {
			about = append(about, line)
		}
	}
	if len(about) != 1 || !strings.Contains(about[0], filepath.Base(segments[0])) {
		t.Errorf("the log says %q; want one line with the file", about)
	}
}

// After a failed flush it is unknown what is on the disk. The server refuses writes with the
// reason, is not ready, and ends with an error, so that a supervisor starts it again. The next
// server has everything that was acknowledged.
func TestFailedFlush(t *testing.T) {
	t.Parallel()
	mem := vfs.NewCrashableMem()
	var fails atomic.Bool
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if fails.Load() && op.Kind == errorfs.OpFileSyncData && strings.HasSuffix(op.Path, ".wal") {
			return syscall.EIO
		}
		return nil
	}))
	s := openOn(t, fs)
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), listener) }()
	url := URL(listener.Addr(), false)
	answer(t, http.MethodPost, url+"/v1/workflows", start("w-1"), http.StatusCreated, "w-1")
	fails.Store(true)
	answer(t, http.MethodPost, url+"/v1/workflows", start("w-2"), http.StatusServiceUnavailable, "")
	if err := <-served; !errors.Is(err, disk.ErrEnded) || !strings.Contains(err.Error(), "start the server again") || !strings.Contains(err.Error(), "input/output error") {
		t.Errorf("Serve: %v, want ErrEnded, why, and what to do", err)
	}
	last := httptest.NewServer(s.Handler()) // what callers see that are still answered
	answer(t, http.MethodGet, last.URL+"/readyz", "", http.StatusServiceUnavailable, "input/output error")
	answer(t, http.MethodPost, last.URL+"/v1/workflows", start("w-3"), http.StatusServiceUnavailable, "start it again")
	last.Close()
	_ = s.Close() // which says the same
	fails.Store(false)
	s = openOn(t, mem.CrashClone(vfs.CrashCloneCfg{}))
	again := httptest.NewServer(s.Handler())
	answer(t, http.MethodGet, again.URL+"/v1/workflows/w-1", "", http.StatusOK, "w-1")
	answer(t, http.MethodPost, again.URL+"/v1/workflows", start("w-3"), http.StatusCreated, "w-3")
	again.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// openOn opens a server over a directory of another file system.
func openOn(t *testing.T, fs vfs.FS) *Server {
	t.Helper()
	o := Options{Log: slog.New(slog.DiscardHandler)}
	o.setDefaults()
	db, err := disk.Open("data", disk.Options{Log: o.Log}.On(fs))
	if err != nil {
		t.Fatal(err)
	}
	b, err := over(db, &o, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := o.serve(registry(t), b, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
