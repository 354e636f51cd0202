package isolate

import (
	"net/http"
	"testing"

	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// A commit that changes the list, made in any child, wakes who waits for the list in another one.
func TestRowsAreAnnounced(t *testing.T) {
	t.Parallel()
	var inChild lock.Watchers
	child := overWire(t, func(mux *http.ServeMux) { serveRows(mux, &inChild) })
	p := &Pool{}
	s, c := &slot{pool: p}, &process{client: child.c}
	log := announced{storememory.New(storememory.Options{}), &p.rows}
	first := p.rows.WatchRows()
	p.all.Go(func() { s.forwardRows(t.Context(), c, first) })
	t.Cleanup(p.all.Wait)

	slot := uint32(0)
	put := func(summary *store.Summary) {
		t.Helper()
		item := store.Item{Key: store.Key{Workflow: "w", Run: 1, Slot: slot}, Commit: [16]byte{byte(slot) + 1}, Body: []byte("commit"), Summary: summary}
		if err := log.Append(t.Context(), item); err != nil {
			t.Fatal(err)
		}
		slot++
	}
	row := store.Summary{Workflow: "w", Run: 1, Type: "t", Status: "running"}
	for range 2 {
		watched := inChild.WatchRows()
		put(&row)
		<-watched.Changed
		watched.Stop()
	}
	quiet := p.rows.WatchRows()
	defer quiet.Stop()
	put(nil)
	select {
	case <-quiet.Changed:
		t.Error("a commit without a row is announced")
	default:
	}
}
