package diskstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/store"
)

// scanned is the highest number of rows of the list that one call reads. A filter that selects few
// runs gets a short page and a token to continue, and does not hold a reader for long.
const scanned = 100_000

// ListRuns implements store.Lister.
func (s *Store) ListRuns(ctx context.Context, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	after, err := decodeToken(token)
	if err != nil {
		return nil, "", err
	}
	err = s.read(ctx, func(tx *disk.Tx) error {
		runs, next = nil, ""
		var last []byte
		n := 0
		scan, from, to := tx.AscendSound, after, []byte(nil)
		if f.Oldest { // the keys of those started last come first
			scan, from, to = tx.DescendSound, nil, after
		}
		if len(to) == 0 {
			to = nil
		}
		return scan(disk.List, from, to, func(k, v []byte) bool {
			if len(after) > 0 && bytes.Equal(k, after) {
				return true
			}
			if !isRowKey(k) {
				s.db.Report(malformed(disk.List, k))
				return true
			}
			if len(runs) == limit || n == scanned {
				next = base64.RawURLEncoding.EncodeToString(last)
				return false
			}
			n++
			last = append(last[:0], k...)
			if r := decodeSummary(v); r == nil {
				s.db.Report(malformed(disk.List, k))
			} else if f.Selects(r) {
				runs = append(runs, *r)
			}
			return true
		})
	})
	return runs, next, err
}

// decodeToken reads a token: the key of the last row that was read.
func decodeToken(token string) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(token) > 0 && !isRowKey(key) {
		return nil, fmt.Errorf("%w: %q", store.ErrBadToken, token)
	}
	return key, nil
}

// isRowKey reports whether a key has the form of one that rowKey makes.
func isRowKey(key []byte) bool {
	const fixed = 8 + 2 + 4
	return len(key) >= fixed && len(key) == fixed+int(key[8])<<8+int(key[9])
}
