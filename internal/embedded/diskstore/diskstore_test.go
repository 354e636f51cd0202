package diskstore_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	var dirs sync.Map // by open store
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			dir := t.TempDir()
			var db *disk.DB
			t.Cleanup(func() { closeDB(t, db) })
			return func() storetest.Store {
				closeDB(t, db)
				db = openDB(t, dir)
				s := diskstore.New(db)
				dirs.Store(s, place{dir, db})
				return s
			}
		},
		MaxBody: diskstore.MaxBody, PageBytes: 1 << 20, Reopens: true, Lists: true, Expires: true,
		Damage: func(t *testing.T, s storetest.Store, d storetest.Damaged) {
			at, _ := dirs.Load(s)
			closeDB(t, at.(place).db)
			diskstore.Damage(t, at.(place).dir, d)
		},
	})
}

// place is the directory of a store.
type place struct {
	dir string
	db  *disk.DB
}

func openDB(t *testing.T, dir string) *disk.DB {
	t.Helper()
	db, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func closeDB(t *testing.T, db *disk.DB) {
	t.Helper()
	if db == nil {
		return
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// Expired items are deleted, the oldest first and at most as many as requested. With the last item
// of a run everything else of the run is deleted.
func TestDeleteExpired(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openDB(t, t.TempDir())
	t.Cleanup(func() { closeDB(t, db) })
	s := diskstore.New(db)
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for slot := range uint32(3) {
		item := store.Item{Key: store.Key{Workflow: "w", Run: 1, Slot: slot}, Commit: [16]byte{byte(slot)}, Body: []byte("x"), Expires: now.Add(time.Duration(3-slot) * time.Minute)}
		if slot == 0 {
			item.Summary = &store.Summary{Workflow: "w", Run: 1, RunID: "1-x", Type: "t", Status: "completed", Started: now}
		}
		if err := s.Append(ctx, item); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RecordAttempt(ctx, store.Attempt{Workflow: "w", Run: 1, Event: 5, Number: 1, Body: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after time.Duration
		limit int
		want  int
		left  int
	}{{0, 10, 0, 3}, {time.Minute, 10, 1, 2}, {time.Hour, 1, 1, 1}, {time.Hour, 10, 1, 0}, {time.Hour, 10, 0, 0}} {
		n, err := s.DeleteExpired(ctx, now.Add(step.after), step.limit)
		if err != nil || n != step.want {
			t.Fatalf("after %v: %d deleted, %v; want %d", step.after, n, err, step.want)
		}
		page, err := s.Backward(ctx, "w", store.Key{}, store.Key{}, 0)
		if err != nil || len(page.Items) != step.left {
			t.Fatalf("after %v: %d items left, %v; want %d", step.after, len(page.Items), err, step.left)
		}
		runs, _, err := s.ListRuns(ctx, store.Filter{}, "", 10)
		attempts, aerr := s.ReadAttempts(ctx, "w", 1)
		if gone := step.left == 0; err != nil || aerr != nil || gone != (len(runs) == 0) || gone != (len(attempts) == 0) {
			t.Fatalf("after %v: %d rows and %d attempts left with %d items", step.after, len(runs), len(attempts), step.left)
		}
	}
}

func FuzzListToken(f *testing.F) {
	f.Add("")
	f.Add("AAAA")
	dir := f.TempDir()
	db, err := disk.Open(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = db.Close() })
	s := diskstore.New(db)
	item := store.Item{Key: store.Key{Workflow: "w", Run: 1}, Body: bytes.Repeat([]byte("x"), 10), Summary: &store.Summary{Workflow: "w", Run: 1, Started: time.Now()}}
	if err := s.Append(context.Background(), item); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, token string) {
		_, _, _ = s.ListRuns(context.Background(), store.Filter{}, token, 10) // it must not panic
	})
}
