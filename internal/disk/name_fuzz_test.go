package disk

import "testing"

// A name that is read as that of a segment has its number and its nonce.
func FuzzName(f *testing.F) {
	f.Add(segmentName(7, 1<<63))
	f.Add("7-8.wal")
	f.Add("-" + walSuffix)
	f.Add("format")
	f.Fuzz(func(t *testing.T, name string) {
		count, nonce, ok := parseName(name)
		if !ok {
			return
		}
		if c, n, ok := parseName(segmentName(count, nonce)); !ok || c != count || n != nonce {
			t.Errorf("%q is read as %d and %d, whose name is another one", name, count, nonce)
		}
	})
}
