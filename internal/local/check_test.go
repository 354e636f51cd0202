package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/workflow"
)

// signaled opens a directory, starts the run w in it and sends it signals: each is a commit.
func signaled(t *testing.T, dir string, signals int) {
	t.Helper()
	allSignaled(t, dir, signals, "w")
}

// allSignaled is signaled for these runs.
func allSignaled(t *testing.T, dir string, signals int, ids ...string) {
	t.Helper()
	signaledWith(t, Options{Dir: dir, Log: slog.New(slog.DiscardHandler)}, signals, ids...)
}

// signaledWith is allSignaled with these options.
func signaledWith(t *testing.T, o Options, signals int, ids ...string) {
	t.Helper()
	types := &engine.Registry{}
	waits := workflow.NewWorkflow[workflow.None, workflow.None]("waits")
	err := bridge.Register(types, workflow.Bind(waits, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, workflow.Await(ctx, func() bool { return false })
	}, workflow.Names(workflow.NewSignal[workflow.None]("s"))))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(types, o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	post := func(path, body string) {
		t.Helper()
		answer := httptest.NewRecorder()
		s.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		if answer.Code >= http.StatusMultipleChoices {
			t.Fatalf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
	for _, id := range ids {
		post("/v1/workflows", `{"workflowId":"`+id+`","type":"waits"}`)
		for range signals {
			post("/v1/workflows/"+id+"/signals/s", `{}`)
		}
	}
}

// A damaged file of the tables is named once, in one line, and so is each run that lost commits by
// it. A truncated file causes a few lines, and its backup says what is missing without keys.
func TestCheckOfADamagedTable(t *testing.T) {
	t.Parallel()
	const runs = 60
	for name, c := range map[string]struct {
		damage func([]byte) []byte
		want   []string
	}{
		"a wrong bit": {func(data []byte) []byte { data[len(data)/4] ^= 4; return data }, []string{"the checksum of the block", `commits from workflow "run-`, "all commits of the run are missing"}},
		"a cut":       {func(data []byte) []byte { return data[:len(data)*3/4] }, []string{"is cut short at byte", "nothing can be read of these: commits, "}},
		"no footer":   {func(data []byte) []byte { return append(data[:len(data)-8], make([]byte, 8)...) }, []string{"nothing can be read of these: commits, "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			var ids []string
			for i := range runs {
				ids = append(ids, fmt.Sprint("run-", 100+i))
			}
			allSignaled(t, dir, 2, ids...)
			table, data := largestTable(t, dir)
			if err := os.WriteFile(table, c.damage(data), 0o600); err != nil {
				t.Fatal(err)
			}
			found := map[string]int{}
			checked, err := Check(t.Context(), dir, nil, func(f Finding) { found[fmt.Sprint(f)]++ })
			if err != nil {
				t.Fatal(err)
			}
			all, named := "", 0
			for line, n := range found {
				all += line + "\n"
				if n > 1 || strings.Contains(line, "\n") || strings.Contains(line, "carrier") {
					t.Errorf("%d times: %q", n, line)
				}
				named += strings.Count(line, filepath.Base(table))
			}
			if checked.Findings != len(found) || named != 1 || len(found) > 20 {
				t.Errorf("%d findings, which name the file %d times:\n%s", checked.Findings, named, all)
			}
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("%q is not found:\n%s", want, all)
				}
			}
			if missing := runs - checked.Runs; strings.Count(all, "all commits of the run are missing") != missing && !strings.Contains(all, "nothing can be read") {
				t.Errorf("%d runs have no commits left:\n%s", missing, all)
			}
		})
	}
}

// largestTable returns the path and the contents of the largest file of the tables. A busy machine
// may have flushed more than once.
func largestTable(t *testing.T, dir string) (path string, largest []byte) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "tables", "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		data, err := os.ReadFile(table)
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > len(largest) {
			path, largest = table, data
		}
	}
	if path == "" {
		t.Fatal("there are no tables")
	}
	return path, largest
}

// change makes a change in a data directory.
func change(t *testing.T, dir string, op disk.Op) {
	t.Helper()
	db, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Write(op); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// A check finds what is wrong with items whose checksums are right, and says which run it is about.
func TestCheckFindings(t *testing.T) {
	t.Parallel()
	runKey := append([]byte{0, 1, 'w'}, 0, 0, 0, 1)
	slot := func(n uint32) []byte { return binary.BigEndian.AppendUint32(append([]byte{}, runKey...), n) }
	event := binary.BigEndian.AppendUint64(append([]byte{}, runKey...), 5)
	for name, c := range map[string]struct {
		op   disk.Op
		want string // "" is no finding
	}{
		"nothing":             {func(*disk.Tx) error { return nil }, ""},
		"a commit is missing": {func(tx *disk.Tx) error { tx.Delete(disk.Log, slot(1)); return nil }, "commits 2 to 2 of the run are missing"},
		"the first commit is": {func(tx *disk.Tx) error { tx.Delete(disk.Log, slot(0)); return nil }, "commits 1 to 1 of the run are missing"},
		"a commit of nonsense": {func(tx *disk.Tx) error {
			value, err := tx.Get(disk.Log, slot(1))
			tx.Put(disk.Log, slot(1), append(value[:25:25], "nonsense"...)) // behind commit id, expiry, and no summary
			return err
		}, "commit 2: "},
		"a short item":      {func(tx *disk.Tx) error { tx.Put(disk.Log, slot(1), []byte("x")); return nil }, "commit 2: "},
		"an attempt":        {func(tx *disk.Tx) error { tx.Put(disk.Attempts, event, make([]byte, 20)); return nil }, "an attempt at event 5"},
		"a short attempt":   {func(tx *disk.Tx) error { tx.Put(disk.Attempts, event, nil); return nil }, `workflow "w"`},
		"a row":             {func(tx *disk.Tx) error { tx.Put(disk.Rows, runKey, []byte("x")); return nil }, `workflow "w"`},
		"a key of the list": {func(tx *disk.Tx) error { tx.Put(disk.List, []byte("x"), nil); return nil }, "list 78"},
		"a timer":           {func(tx *disk.Tx) error { tx.Put(disk.Timers, []byte("12345678id"), []byte("x")); return nil }, `the timer "id"`},
		"a message":         {func(tx *disk.Tx) error { tx.Put(disk.Messages, make([]byte, 8), []byte("x")); return nil }, "the message 0000000000000000"},
		"a count":           {func(tx *disk.Tx) error { tx.Put(disk.Received, make([]byte, 8), nil); return nil }, "the count of receives"},
		"a blob":            {func(tx *disk.Tx) error { tx.Put(disk.Blobs, []byte("b"), nil); return nil }, "blobs 62"},
		"an expiry":         {func(tx *disk.Tx) error { tx.Put(disk.Expiry, []byte("x"), nil); return nil }, "expiry 78"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "data")
			signaled(t, dir, 2)
			change(t, dir, c.op)
			var found []string
			checked, err := Check(t.Context(), dir, nil, func(f Finding) { found = append(found, fmt.Sprint(f)) })
			all := strings.Join(found, "\n")
			if err != nil || checked.Runs != 1 || checked.Findings != len(found) || (len(found) > 0) != (c.want != "") || !strings.Contains(all, c.want) {
				t.Errorf("%+v, %v: %s\nwant %q", checked, err, all, c.want)
			}
			if strings.Contains(c.want, "commit") && !strings.Contains(all, `workflow "w", run 1-`) && !strings.Contains(all, `workflow "w", run 1:`) {
				t.Errorf("the run is not named: %s", all)
			}
		})
	}
}

// The guards of the API guard the backup, too.
func TestBackupIsGuarded(t *testing.T) {
	t.Parallel()
	s, err := Open(&engine.Registry{}, Options{Dir: filepath.Join(t.TempDir(), "data"), Origins: []string{devPage}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for origin, want := range map[string]int{"": http.StatusOK, "http://evil.example": http.StatusForbidden} {
		request, answer := httptest.NewRequest(http.MethodGet, BackupPath, nil), httptest.NewRecorder()
		if origin != "" {
			request.Header.Set("Origin", origin)
		}
		s.Handler().ServeHTTP(answer, request)
		if answer.Code != want || answer.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("from %q: %d %v", origin, answer.Code, answer.Header())
		}
	}
}

// A backup leaves out the token that callers show: its file is not restored.
func TestBackupWithoutToken(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := Open(&engine.Registry{}, Options{Dir: dir, Auth: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	_, token := s.Token()
	request, answer := httptest.NewRequest(http.MethodGet, BackupPath, nil), httptest.NewRecorder()
	request.Header.Set("Authorization", "Bearer "+token)
	if s.Handler().ServeHTTP(answer, request); answer.Code != http.StatusOK || token == "" || strings.Contains(answer.Body.String(), token) {
		t.Errorf("%d, and the backup has the token: %v", answer.Code, strings.Contains(answer.Body.String(), token))
	}
	restored := filepath.Join(t.TempDir(), "restored")
	if _, err := disk.Restore(bytes.NewReader(answer.Body.Bytes()), restored, false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(restored, "token")); !os.IsNotExist(err) {
		t.Errorf("the token was restored: %v", err)
	}
}

// The error of terminating an encrypted run without its keys says what to give.
func TestTerminateWithoutKeys(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	keys := keysOf(t, "a")
	signaledWith(t, Options{Dir: dir, Keys: keys}, 1, "w")
	err := Terminate(t.Context(), "w", "", "", Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "--key-file") || !strings.Contains(err.Error(), `"w" is encrypted`) {
		t.Error(err)
	}
	if err := Terminate(t.Context(), "w", "", "", Options{Dir: dir, Keys: keys}); err != nil {
		t.Error(err)
	}
}

// The error for an invalid address does not say that the address is in use.
func TestListenAdvice(t *testing.T) {
	t.Parallel()
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	for address, inUse := range map[string]bool{"nonsense": false, l.Addr().String(): true} {
		if _, err := Listen(address); err == nil || strings.Contains(err.Error(), "stop what listens") != inUse {
			t.Errorf("%s: %v", address, err)
		}
	}
}
