package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/workflow"
)

// signaled opens a directory, starts a run in it and sends it signals: each is a commit.
func signaled(t *testing.T, dir string, signals int) {
	t.Helper()
	types := &engine.Registry{}
	waits := workflow.Declare[workflow.None, workflow.None]("waits")
	err := workflow.Bind(waits, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		return workflow.None{}, workflow.Await(ctx, func() bool { return false })
	}).Register(types)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(types, Options{Dir: dir})
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
	post("/v1/workflows", `{"workflowId":"w","type":"waits"}`)
	for range signals {
		post("/v1/workflows/w/signals/s", `{}`)
	}
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
		"a count":           {func(tx *disk.Tx) error { tx.Put(disk.Received, make([]byte, 8), nil); return nil }, "how often"},
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

// The server sends its backup from behind what guards the API.
func TestBackupIsGuarded(t *testing.T) {
	t.Parallel()
	s, err := Open(&engine.Registry{}, Options{Dir: filepath.Join(t.TempDir(), "data"), Origins: []string{page}})
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

// A backup leaves out the token that callers show: the file of it is no part of what is restored.
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
