package isolate

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/store"
)

// A caller who waits for the list waits in one child, and the commits that change the list are made
// in all of them. They all pass through the parent, which wakes the children.

// pathRows is the path of the parent's call that wakes those who wait for the list in a child.
const pathRows = "/-/rows"

const (
	// rowsEvery is the shortest interval between two such calls to a child.
	rowsEvery = 250 * time.Millisecond
	// rowsWithin bounds such a call. If it fails, the callers look again by themselves.
	rowsWithin = time.Second
)

// announced is the log of the parent. It wakes those who watch for a change of the list.
type announced struct {
	store.Log
	rows *lock.Watchers
}

// Append implements store.Log.
func (l announced) Append(ctx context.Context, items ...store.Item) error {
	err := l.Log.Append(ctx, items...)
	if err == nil && slices.ContainsFunc(items, func(i store.Item) bool { return i.Summary != nil }) {
		wakeRows(l.rows)
	}
	return err
}

// wakeRows wakes those who watch for a change of the list.
func wakeRows(w *lock.Watchers) {
	if waiting := w.DetachRows(); waiting != nil {
		close(waiting)
	}
}

// forwardRows wakes those who wait for the list in a process, after each change, until ctx ends.
// The watch has begun.
func (s *slot) forwardRows(ctx context.Context, c *process, watched lock.Watch) {
	defer func() { watched.Stop() }()
	for {
		select {
		case <-watched.Changed:
		case <-ctx.Done():
			return
		}
		watched = s.pool.rows.WatchRows() // before the call: a change from now on causes another one
		limited, cancel := context.WithTimeout(ctx, rowsWithin)
		_, _ = call[none, none](limited, c.client, pathRows, none{}) // see rowsWithin
		cancel()
		select {
		case <-time.After(rowsEvery):
		case <-ctx.Done():
			return
		}
	}
}

// serveRows serves the parent's call in a child.
func serveRows(mux *http.ServeMux, w *lock.Watchers) {
	handle(mux, pathRows, func(context.Context, none) (none, error) {
		wakeRows(w)
		return none{}, nil
	})
}
