package memory

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/seed-41655fb1/weft/store"
)

// ListRuns implements store.Lister.
func (s *Store) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	after, err := parseToken(token)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []store.Summary
	compare := rowPosition.compare
	if f.Oldest {
		compare = func(p, q rowPosition) int { return q.compare(p) }
	}
	for _, row := range s.rows {
		if f.Selects(&row) && (token == "" || compare(position(row), after) > 0) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Summary) int { return compare(position(a), position(b)) })
	if len(rows) <= limit {
		return rows, "", nil
	}
	rows = rows[:limit]
	return slices.Clip(rows), position(rows[limit-1]).token(), nil
}

// rowPosition is a row's place in the list. It does not change when the run closes.
type rowPosition struct {
	started int64 // in microseconds
	place
}

func position(row store.Summary) rowPosition {
	return rowPosition{row.Started.UnixMicro(), place{row.Workflow, row.Run}}
}

// compare sorts runs that started last first.
func (p rowPosition) compare(q rowPosition) int {
	return cmp.Or(cmp.Compare(q.started, p.started), cmp.Compare(p.workflow, q.workflow), cmp.Compare(q.run, p.run))
}

// token returns the page token for the rows after p. By its checksum, parseToken recognizes tokens
// of this store.
func (p rowPosition) token() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.started))
	b = binary.BigEndian.AppendUint32(b, p.run)
	b = append(b, p.workflow...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

func parseToken(token string) (p rowPosition, err error) {
	if token == "" {
		return p, nil
	}
	const started, run, sum = 8, 4, 4
	b, err := base64.RawURLEncoding.DecodeString(token)
	end := len(b) - sum
	if err != nil || end < started+run || crc32.ChecksumIEEE(b[:end]) != binary.BigEndian.Uint32(b[end:]) {
		return p, fmt.Errorf("%w: %q", store.ErrBadToken, token)
	}
	p.started = int64(binary.BigEndian.Uint64(b))
	p.run = binary.BigEndian.Uint32(b[started:])
	p.workflow = string(b[started+run : end])
	return p, nil
}
