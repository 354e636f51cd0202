package diskstore

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/disk/disktest"
	"github.com/seed-41655fb1/weft/store"
)

// A damaged attempt is an error only of its own run, and is deleted with the run. A damaged expiry
// still deletes its item.
func TestDamageGoesWithItsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openQuiet(t, dir)
	item, a := itemOf("w", 0, 1), attemptOf("w")
	s.keep(t, item) // with its attempt
	closeStore(t, s)
	key := logKey(item.Key)
	disktest.Damage(t, dir, disk.Expiry, expiryKey(item.Expires, key))
	disktest.Damage(t, dir, disk.Attempts, keyOfAttempt(a))
	s = openQuiet(t, dir)
	if _, err := s.ReadAttempts(t.Context(), a.Workflow, a.Run); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("ReadAttempts: %v, want that it is damaged", err)
	}
	if err := s.RecordAttempt(t.Context(), a); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("RecordAttempt: %v, want that it is damaged", err)
	}
	if n, err := s.DeleteExpired(t.Context(), time.Unix(1<<32, 0), 10); n != 1 || err != nil {
		t.Errorf("%d items deleted, %v; want 1", n, err)
	}
	if logged, _, attempted := s.workflows(t); len(logged)+len(attempted) != 0 {
		t.Errorf("%v and attempts of %v are left", logged, attempted)
	}
}
