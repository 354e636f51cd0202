package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/store"
)

// Scan implements store.Scanner. The cursor is the token of the last item's position.
func (s *Store) Scan(ctx context.Context, cursor string, limit int) (items []store.Item, next string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	after, err := parseToken(cursor)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.workflows)) {
		if name < after.workflow {
			continue
		}
		for _, r := range s.workflows[name].records {
			if cursor != "" && name == after.workflow && compare(r.item.Key, store.Key{Run: after.run, Slot: uint32(after.started)}) <= 0 {
				continue
			}
			if len(items) == limit {
				last := items[limit-1]
				return items, rowPosition{int64(last.Slot), place{last.Workflow, last.Run}}.token(), nil
			}
			items = append(items, r.read())
		}
	}
	return items, "", nil
}

// Delete implements store.Scanner. It reports a run whose last commit is deleted before others.
func (s *Store) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range items {
		s.inspectDelete(item)
	}
	var stale error
	for _, item := range items {
		r := s.workflows[item.Workflow].at(item.Key)
		switch {
		case r == nil:
		case r.item.Commit != item.Commit:
			stale = fmt.Errorf("%w: there is another commit at %v", store.ErrStale, item.Key)
		default:
			s.expire(s.workflows[item.Workflow], r)
		}
	}
	for _, a := range attempts {
		run := place{a.Workflow, a.Run}
		kept := s.attempts[run][a.Event]
		switch {
		case kept == nil:
		case kept.Number != a.Number || kept.RunID != a.RunID:
			stale = fmt.Errorf("%w: event %d has the record of attempt %d of run %q", store.ErrStale, a.Event, kept.Number, kept.RunID)
		default:
			s.expiry.drop(kept.perishable)
			s.forget(run, kept)
		}
	}
	return stale
}

// inspectDelete reports the deletion of a run's last commit if earlier commits of the run exist. If
// another commit is in its place, nothing is deleted.
func (s *Store) inspectDelete(item store.Item) {
	k, w := item.Key, s.workflows[item.Workflow]
	last := w.at(k)
	if last == nil || last.item.Commit != item.Commit {
		return
	}
	i, _ := w.find(k)
	if i+1 < len(w.records) && w.records[i+1].item.Run == k.Run {
		return
	}
	for i--; i >= 0 && w.records[i].item.Run == k.Run; i-- {
		if w.records[i].number < last.number {
			s.violation("the last commit of its run is deleted, at %v, before the others", k)
			return
		}
	}
}

// ReadMark implements store.Scanner.
func (s *Store) ReadMark(ctx context.Context) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.mark), nil
}

// WriteMark implements store.Scanner.
func (s *Store) WriteMark(ctx context.Context, old, mark []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !bytes.Equal(s.mark, old) {
		return fmt.Errorf("%w: the mark was moved", store.ErrStale)
	}
	s.mark = bytes.Clone(mark)
	return nil
}
