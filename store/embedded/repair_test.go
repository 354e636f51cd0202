package embedded

import (
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// A damaged attempt is replaced by the next write, and a damaged expiry still deletes its item.
func TestDamageIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openQuiet(t, dir)
	item, a := itemOf("w", 0, 1), attemptOf("w")
	s.keep(t, item) // with its attempt
	closeStore(t, s)
	key := logKey(item.Key)
	damage(t, dir, disk.Expiry, expiryKey(item.Expires, key))
	damage(t, dir, disk.Attempts, keyOfAttempt(a))
	s = openQuiet(t, dir)
	if all, err := s.ReadAttempts(t.Context(), a.Workflow, a.Run); err != nil || len(all) != 0 {
		t.Errorf("%d attempts, %v; want none, as it is damaged", len(all), err)
	}
	if err := s.RecordAttempt(t.Context(), a); err != nil {
		t.Error(err)
	}
	if n, err := s.DeleteExpired(t.Context(), time.Unix(1<<32, 0), 10); n != 1 || err != nil {
		t.Errorf("%d items deleted, %v; want 1", n, err)
	}
	if logged, _, attempted := s.workflows(t); len(logged)+len(attempted) != 0 {
		t.Errorf("%v and attempts of %v are left", logged, attempted)
	}
}
