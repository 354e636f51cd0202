package diskstore

import (
	"errors"
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
)

// A decoder of any keys and values of the data directory returns a result, or that they are
// damaged.
func FuzzStored(f *testing.F) {
	item, attempt := itemOf("w", 1, 1), attemptOf("w")
	key, value := logKey(item.Key), encodeItem(item)
	for _, n := range []int{len(value), len(value) / 2, 1, 0} {
		f.Add(key, value[:n])
	}
	f.Add(append(attemptsOf("w", 1), 0, 0, 0, 0, 0, 0, 0, 5), encodeAttempt(attempt))
	f.Add(expiryKey(item.Expires, key), []byte(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		_, anyErr := decodeAny(key, value)
		_, entryErr := decodeEntry("w", key, value)
		_, attemptErr := decodeAttempt(key, value)
		_, _, expiryErr := decodeExpiry(key)
		_ = decodeSummary(value)
		for _, err := range []error{anyErr, entryErr, attemptErr, expiryErr} {
			if err != nil && !errors.Is(err, disk.ErrCorrupt) {
				t.Errorf("an error of no kind: %v", err)
			}
		}
	})
}
