package diskstore

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/store"
)

// marks writes the marks, and returns the keys of their spaces.
func (s *Store) marks(t *testing.T) [][]byte {
	t.Helper()
	_, err := s.Reserve(t.Context(), store.Reservation{TaskQueue: "q"})
	if err := errors.Join(err, s.WriteMark(t.Context(), nil, []byte("mark")), s.MakeKey(t.Context(), []byte("first"))); err != nil {
		t.Fatal(err)
	}
	return [][]byte{markKey, signingKey, []byte("rate/q")}
}

// A damaged mark is treated as missing, and replaced. A damaged key is an error to its reader until
// a new one is made.
func TestDamagedMarks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openQuiet(t, dir)
	keys := s.marks(t)
	closeStore(t, s)
	disktest.Damage(t, dir, disk.Marks, keys...)
	s = openQuiet(t, dir)
	if mark, err := s.ReadMark(t.Context()); mark != nil || err != nil {
		t.Errorf("the mark is %q, %v", mark, err)
	}
	if err := s.WriteMark(t.Context(), []byte("mark"), []byte("next")); !errors.Is(err, store.ErrStale) {
		t.Errorf("WriteMark after what was damaged: %v, want ErrStale", err)
	}
	if key, err := s.ReadKey(t.Context()); key != nil || !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the key is %q, %v; want ErrCorrupt", key, err)
	}
	_, err := s.Reserve(t.Context(), store.Reservation{TaskQueue: "q"})
	if err := errors.Join(err, s.WriteMark(t.Context(), nil, []byte("next")), s.MakeKey(t.Context(), []byte("second"))); err != nil {
		t.Errorf("they are not replaced: %v", err)
	}
	mark, markErr := s.ReadMark(t.Context())
	key, keyErr := s.ReadKey(t.Context())
	if err := errors.Join(markErr, keyErr); err != nil || string(mark) != "next" || string(key) != "second" {
		t.Errorf("now they are %q and %q, %v", mark, key, err)
	}
}

// A value of an unknown version is never interpreted and never replaced. Its reader gets an error,
// and scans report it.
func TestStoredByALaterVersion(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), t.TempDir()
	s := openQuiet(t, dir)
	item, attempt, timer := itemOf("w", 0, 1), attemptOf("w"), store.Timer{ID: "id", Due: began, Body: []byte("body")}
	s.keep(t, item)
	s.keep(t, itemOf("other", 0, 0))
	if err := s.PutTimers(ctx, []store.Timer{timer}); err != nil {
		t.Fatal(err)
	}
	marks := s.marks(t)
	closeStore(t, s)
	disktest.SetLater(t, dir, disk.Marks, marks...)
	disktest.SetLater(t, dir, disk.Log, logKey(item.Key))
	disktest.SetLater(t, dir, disk.List, rowKey(item.Summary))
	disktest.SetLater(t, dir, disk.Attempts, keyOfAttempt(attempt))
	disktest.SetLater(t, dir, disk.Timers, timerKey(timer))
	s = openQuiet(t, dir)
	_, forward := s.Forward(ctx, item.Key, 0)
	_, backward := s.Backward(ctx, "w", store.Key{}, store.Key{}, 0)
	_, attempts := s.ReadAttempts(ctx, "w", 1)
	_, rate := s.Reserve(ctx, store.Reservation{TaskQueue: "q"})
	_, mark := s.ReadMark(ctx)
	_, key := s.ReadKey(ctx)
	for what, err := range map[string]error{
		"Forward": forward, "Backward": backward, "Append": s.Append(ctx, item), "ReadAttempts": attempts, "RecordAttempt": s.RecordAttempt(ctx, attempt),
		"Reserve": rate, "ReadMark": mark, "WriteMark": s.WriteMark(ctx, nil, []byte("m")), "ReadKey": key, "MakeKey": s.MakeKey(ctx, []byte("k")),
	} {
		if !errors.Is(err, store.ErrCorrupt) || !errors.Is(err, disk.ErrLater) {
			t.Errorf("%s: %v, want that a later version stored it", what, err)
		}
	}
	if due, err := s.DueTimers(ctx, began.Add(time.Hour), 10); err != nil || len(due) > 0 {
		t.Errorf("due are %v, %v", due, err)
	}
	if logged, listed, attempted := s.workflows(t); len(logged) != 1 || len(listed) != 1 || len(attempted) != 1 {
		t.Errorf("items of %q, rows of %q and attempts of %q are read, want those of other", logged, listed, attempted)
	}
}
