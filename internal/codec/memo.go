package codec

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/store"
)

// memo is the memo in a row of the list, and its place. The place is the same for all rows of a
// run, because a reader of one does not know its commit.
type memo struct {
	place string
	body  []byte
}

func memoOf(row *store.Summary) memo {
	return memo{fmt.Sprintf("memo/%s/%s", escape(row.Workflow), escape(row.RunID)), []byte(row.Memo)}
}

var ofMemos = kind[memo]{func(m *memo) string { return m.place }, func(m *memo) *[]byte { return &m.body }}

// encodeMemos encodes the memos of items. It does not change the summaries, because the caller may
// put them again.
func (s *Codec) encodeMemos(ctx context.Context, items []store.Item) error {
	for i := range items {
		if items[i].Summary == nil || items[i].Summary.Memo == "" {
			continue
		}
		row := *items[i].Summary
		encoded, err := encodeAll(ctx, s, []memo{memoOf(&row)}, ofMemos)
		if err != nil {
			return err
		}
		row.Memo = string(encoded[0].body)
		items[i].Summary = &row
	}
	return nil
}

// openMemos opens the memos of items that were read.
func (s *Codec) openMemos(ctx context.Context, items []store.Item) error {
	var rows []*store.Summary
	for _, item := range items {
		if item.Summary != nil {
			rows = append(rows, item.Summary)
		}
	}
	return s.openRows(ctx, rows)
}

// openRows opens the memos of rows. One that cannot be opened stays encoded, and the log says why.
func (s *Codec) openRows(ctx context.Context, rows []*store.Summary) error {
	rows = slices.DeleteFunc(rows, func(row *store.Summary) bool { return row.Memo == "" || row.Memo[0] != marker })
	memos := make([]memo, len(rows))
	for i, row := range rows {
		memos[i] = memoOf(row)
	}
	if err := openAll(ctx, s, memos, ofMemos); err != nil {
		return err
	}
	for i, row := range rows {
		row.Memo = string(memos[i].body)
	}
	return nil
}

type lister struct {
	store.Lister
	s *Codec
}

// ListRuns implements store.Lister.
func (l *lister) ListRuns(ctx context.Context, f store.Filter, token string, limit int) ([]store.Summary, string, error) {
	found, next, err := l.Lister.ListRuns(ctx, f, token, limit)
	if err != nil {
		return nil, "", err
	}
	rows := make([]*store.Summary, len(found))
	for i := range found {
		rows[i] = &found[i]
	}
	if err := l.s.openRows(ctx, rows); err != nil {
		return nil, "", err
	}
	return found, next, nil
}
