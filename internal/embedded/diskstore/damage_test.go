package diskstore

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/store"
)

func openQuiet(t *testing.T, dir string) *Store {
	t.Helper()
	db, err := disk.Open(dir, disk.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // a test that uses the directory again has closed it, and checked the error
	return New(db)
}

func closeStore(t *testing.T, s *Store) {
	t.Helper()
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
}

var began = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// itemOf returns an item of run 1 of a workflow. It expires after this many seconds; 0 means never.
func itemOf(workflow string, slot uint32, expires int) store.Item {
	item := store.Item{Key: store.Key{Workflow: workflow, Run: 1, Slot: slot}, Commit: [16]byte{1, byte(slot)}, Body: []byte("body")}
	if expires > 0 {
		item.Expires = began.Add(time.Duration(expires) * time.Second)
	}
	item.Summary = &store.Summary{Workflow: workflow, Run: 1, RunID: "r", Type: "t", Status: "closed", Started: began}
	return item
}

func attemptOf(workflow string) store.Attempt {
	return store.Attempt{Workflow: workflow, Run: 1, RunID: "r", Event: 5, Number: 1, Body: []byte("body")}
}

// keep puts items, and an attempt for each item.
func (s *Store) keep(t *testing.T, items ...store.Item) {
	t.Helper()
	for _, item := range items {
		if err := errors.Join(s.Append(t.Context(), item), s.RecordAttempt(t.Context(), attemptOf(item.Workflow))); err != nil && !errors.Is(err, store.ErrStale) {
			t.Fatal(err)
		}
	}
}

// workflows returns the workflows in the log, in the list and in the attempts.
func (s *Store) workflows(t *testing.T) (logged, listed, attempted []string) {
	t.Helper()
	items, _, err := s.Scan(t.Context(), "", 10_000)
	rows, _, listErr := s.ListRuns(t.Context(), store.Filter{}, "", 10_000)
	attemptErr := s.db.Read(func(tx *disk.Tx) error {
		return tx.AscendSound(disk.Attempts, nil, nil, func(k, _ []byte) bool {
			if isOfWorkflow(k, 4+8) {
				attempted = append(attempted, string(k[2:len(k)-12]))
			}
			return true
		})
	})
	if err := errors.Join(err, listErr, attemptErr); err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		logged = append(logged, item.Workflow)
	}
	for _, row := range rows {
		listed = append(listed, row.Workflow)
	}
	return slices.Compact(logged), listed, slices.Compact(attempted)
}

// Damage to an expired item, wherever it is, does not prevent other deletions.
func TestDeleteExpiredWithDamage(t *testing.T) {
	t.Parallel()
	const n = 12
	name := func(i int) string { return fmt.Sprintf("w%02d", i) }
	for _, test := range []struct {
		space disk.Space
		key   func(i int) []byte
	}{
		{disk.Log, func(i int) []byte { return logKey(itemOf(name(i), 0, 0).Key) }},
		{disk.Rows, func(i int) []byte { return runPrefix(logKey(itemOf(name(i), 0, 0).Key)) }},
		{disk.List, func(i int) []byte { return rowKey(itemOf(name(i), 0, 0).Summary) }},
		{disk.Expiry, func(i int) []byte { item := itemOf(name(i), 0, i+1); return expiryKey(item.Expires, logKey(item.Key)) }},
	} {
		t.Run(test.space.String(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openQuiet(t, dir)
			for i := range n {
				s.keep(t, itemOf(name(i), 0, i+1))
			}
			closeStore(t, s)
			disktest.Damage(t, dir, test.space, test.key(3), test.key(4))
			s = openQuiet(t, dir)
			deleted := 0
			for calls := 0; ; calls++ {
				k, err := s.DeleteExpired(t.Context(), began.Add(time.Hour), 2)
				if err != nil {
					t.Fatalf("after %d were deleted: %v", deleted, err)
				}
				if deleted += k; k < 2 || calls == n {
					break
				}
			}
			want, left := n, []string(nil)
			logged, listed, attempted := s.workflows(t)
			if deleted != want || !slices.Equal(logged, left) || !slices.Equal(listed, left) || !slices.Equal(attempted, left) {
				t.Errorf("%d were deleted; items of %q, rows of %q and attempts of %q are left; want %d and %q", deleted, logged, listed, attempted, want, left)
			}
		})
	}
}

// The row and the attempts of a run are deleted with a damaged item only if the run has no other
// item.
func TestDeleteExpiredBesideDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openQuiet(t, dir)
	s.keep(t, itemOf("w", 0, 0), itemOf("w", 1, 1), itemOf("w", 2, 0)) // the second item expires
	s.keep(t, itemOf("x", 0, 0), itemOf("x", 1, 1))
	if err := s.db.Write(func(tx *disk.Tx) error {
		tx.Put(disk.Log, append(logKey(itemOf("x", 0, 0).Key), 0), nil) // a malformed key
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	disktest.Damage(t, dir, disk.Log, logKey(itemOf("w", 0, 0).Key), logKey(itemOf("x", 0, 0).Key))
	s = openQuiet(t, dir)
	if n, err := s.DeleteExpired(t.Context(), began.Add(time.Hour), 10); err != nil || n != 2 {
		t.Fatalf("%d deleted, %v; want 2", n, err)
	}
	want := []string{"w"}
	if logged, listed, attempted := s.workflows(t); !slices.Equal(logged, want) || !slices.Equal(listed, want) || !slices.Equal(attempted, want) {
		t.Errorf("items of %q, rows of %q and attempts of %q are left; want those of %q, which has an item that is sound", logged, listed, attempted, want)
	}
}

// An item that is written between the search for expired items and their deletion is not deleted
// with them.
func TestWrittenWhileDeleting(t *testing.T) {
	t.Parallel()
	both, none := []string{"w", "other"}, []string{"other"}
	for _, test := range []struct {
		name      string
		meanwhile func(t *testing.T, s *Store)
		want      []string
		deleted   int
	}{
		{"nothing", func(*testing.T, *Store) {}, none, 1},
		{"it is renewed", func(t *testing.T, s *Store) {
			item := itemOf("w", 0, 7200)
			item.Commit, item.Over = [16]byte{9}, item.Commit
			s.keep(t, item)
		}, both, 0},
		{"it is written over, and no longer expires", func(t *testing.T, s *Store) {
			item := itemOf("w", 0, 0)
			item.Commit, item.Over = [16]byte{9}, item.Commit
			s.keep(t, item)
		}, both, 0},
		{"its run goes on", func(t *testing.T, s *Store) { s.keep(t, itemOf("w", 1, 0)) }, both, 1},
		{"another call deletes it", func(t *testing.T, s *Store) {
			if n, err := s.DeleteExpired(t.Context(), began.Add(time.Hour), 10); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}, none, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := openQuiet(t, t.TempDir())
			s.keep(t, itemOf("other", 0, 7200), itemOf("w", 0, 1))
			due, left, err := s.due(t.Context(), began.Add(time.Hour), 10)
			if err != nil || len(due) != 1 {
				t.Fatal(due, err)
			}
			test.meanwhile(t, s)
			if n, err := s.deleteDue(t.Context(), due, left); err != nil || n != test.deleted {
				t.Errorf("%d deleted, %v; want %d", n, err, test.deleted)
			}
			if logged, listed, attempted := s.workflows(t); !slices.Equal(logged, test.want) || !slices.Equal(attempted, test.want) || len(listed) != len(test.want) {
				t.Errorf("items of %q, rows of %q and attempts of %q are left; want %q", logged, listed, attempted, test.want)
			}
		})
	}
}

// Delete leaves damaged items, returns an error for them, and deletes the others.
func TestDeleteWithDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openQuiet(t, dir)
	var items []store.Item
	var attempts []store.Attempt
	for _, name := range []string{"a", "b", "c"} {
		items, attempts = append(items, itemOf(name, 0, 0)), append(attempts, attemptOf(name))
	}
	s.keep(t, items...)
	closeStore(t, s)
	disktest.Damage(t, dir, disk.Log, logKey(items[0].Key))
	disktest.Damage(t, dir, disk.Attempts, append(attemptsOf("a", 1), 0, 0, 0, 0, 0, 0, 0, 5))
	s = openQuiet(t, dir)
	err := s.Delete(t.Context(), nil, attempts)
	if _, _, attempted := s.workflows(t); !errors.Is(err, disk.ErrCorrupt) || len(attempted) > 0 {
		t.Errorf("%v; sound attempts of %q are left", err, attempted)
	}
	err = s.Delete(t.Context(), items, nil)
	if logged, listed, _ := s.workflows(t); !errors.Is(err, disk.ErrCorrupt) || len(logged) > 0 || !slices.Equal(listed, []string{"a"}) {
		t.Errorf("%v; sound items of %q and rows of %q are left; want the row of a", err, logged, listed)
	}
}

// noise returns n random bytes.
func noise(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// No decoder accepts a part of a value for the whole, as far as it can detect that, and none panics
// on any input.
func TestDecodersRefuse(t *testing.T) {
	t.Parallel()
	item, attempt := itemOf("w", 1, 1), attemptOf("w")
	key, value := logKey(item.Key), encodeItem(item)
	attemptKey, attemptValue := append(attemptsOf("w", 1), 0, 0, 0, 0, 0, 0, 0, 5), encodeAttempt(attempt)
	expiry := expiryKey(item.Expires, key)
	decoders := []struct {
		name       string
		key, value []byte
		form       int // the length of the structured part of the value
		decode     func(key, value []byte) error
	}{
		{"decodeEntry", key, value, len(value) - len(item.Body), func(k, v []byte) error { _, err := decodeEntry("w", k, v); return err }},
		{"decodeAny", key, value, len(value) - len(item.Body), func(k, v []byte) error { _, err := decodeAny(k, v); return err }},
		{"decodeAttempt", attemptKey, attemptValue, len(attemptValue) - len(attempt.Body), func(k, v []byte) error { _, err := decodeAttempt(k, v); return err }},
		{"decodeExpiry", expiry, nil, 0, func(k, _ []byte) error { _, _, err := decodeExpiry(k); return err }},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, d := range decoders {
		for n := range d.key {
			if err := d.decode(d.key[:n], d.value); !errors.Is(err, disk.ErrCorrupt) {
				t.Errorf("%s: %d bytes of the key: %v", d.name, n, err)
			}
		}
		if err := d.decode(append(bytes.Clone(d.key), 0), d.value); !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("%s: a key that is longer: %v", d.name, err)
		}
		for n := range d.value {
			if err := d.decode(d.key, d.value[:n]); (err == nil) != (n >= d.form) || err != nil && !errors.Is(err, disk.ErrCorrupt) {
				t.Errorf("%s: %d bytes of the value: %v", d.name, n, err)
			}
		}
		for range 10_000 {
			_ = d.decode(noise(random, random.IntN(40)), d.value)
			_ = d.decode(d.key, append(bytes.Clone(d.value[:len(d.value)/3]), noise(random, random.IntN(40))...))
		}
	}
}

// Keys and values that the store has not written, as a flipped bit in the file of an earlier
// version leaves them, are errors to their readers, and affect no others.
func TestKeysAndValuesOfNoForm(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openQuiet(t, t.TempDir())
	sound := []string{"a", "b", "c"}
	for i, name := range append(sound, "bad") {
		s.keep(t, itemOf(name, 0, i+1))
		if err := s.PutTimers(ctx, []store.Timer{{ID: name, Due: began, Body: []byte("body")}}); err != nil {
			t.Fatal(err)
		}
	}
	s.spoil(t)
	_, forward := s.Forward(ctx, store.Key{Workflow: "bad", Run: 1}, 10)
	_, backward := s.Backward(ctx, "bad", store.Key{}, store.Key{}, 10)
	_, read := s.ReadAttempts(ctx, "bad", 1)
	again := itemOf("bad", 0, 1)
	for what, err := range map[string]error{
		"Forward": forward, "Backward": backward, "ReadAttempts": read, "Append": s.Append(ctx, again),
		"RecordAttempt": s.RecordAttempt(ctx, attemptOf("bad")), "Delete": s.Delete(ctx, []store.Item{again}, []store.Attempt{attemptOf("bad")}),
	} {
		if !errors.Is(err, disk.ErrCorrupt) {
			t.Errorf("%s: %v, want that it is damaged", what, err)
		}
	}
	if _, err := s.Reserve(ctx, store.Reservation{TaskQueue: "q"}); err != nil { // it replaces the damaged mark
		t.Errorf("Reserve: %v", err)
	}
	here := func(want bool) {
		t.Helper()
		logged, listed, _ := s.workflows(t)
		for _, name := range sound {
			if slices.Contains(logged, name) != want || slices.Contains(listed, name) != want {
				t.Errorf("%s is in the log and in the list: want %v; they have %q and %q", name, want, logged, listed)
			}
		}
	}
	here(true)
	for token, next := "", "-"; next != ""; token = next { // every token is valid
		var err error
		if _, next, err = s.ListRuns(ctx, store.Filter{}, token, 1); err != nil {
			t.Fatalf("ListRuns: %v", err)
		}
	}
	for cursor, next := "", "-"; next != ""; cursor = next {
		var err error
		if _, next, err = s.Scan(ctx, cursor, 1); err != nil {
			t.Fatalf("Scan: %v", err)
		}
	}
	timers, err := s.DueTimers(ctx, began.Add(time.Hour), 10_000)
	for _, name := range sound {
		if !slices.ContainsFunc(timers, func(timer store.Timer) bool { return timer.ID == name }) {
			t.Errorf("DueTimers: %v, without %s", err, name)
		}
	}
	if _, err := s.DeleteExpired(ctx, began.Add(time.Hour), 10_000); err != nil {
		t.Fatalf("DeleteExpired: %v", err)
	}
	here(false)
}

// spoil truncates the keys and values of the workflow "bad", and adds truncated and random keys and
// values beside all others.
func (s *Store) spoil(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	if err := s.db.Write(func(tx *disk.Tx) error {
		for _, space := range []disk.Space{disk.Log, disk.List, disk.Rows, disk.Attempts, disk.Timers, disk.Expiry} {
			keys, values := [][]byte{}, [][]byte{}
			err := tx.Ascend(space, nil, nil, func(k, v []byte) bool {
				keys, values = append(keys, bytes.Clone(k)), append(values, bytes.Clone(v))
				return true
			})
			if err != nil {
				return err
			}
			for i, k := range keys {
				for n := range k {
					tx.Put(space, k[:n], values[i])
					tx.Put(space, noise(random, n), noise(random, n))
				}
				tx.Put(space, append(k, 0), values[i])
				if bytes.Contains(k, []byte("bad")) {
					tx.Put(space, k, values[i][:min(10, len(values[i]))])
				}
			}
		}
		tx.Put(disk.Marks, []byte("rate/q"), []byte("short"))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
