package awspath

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// Memory opens a store in memory, for tests of the functions without a server.
func Memory(t testing.TB, clock func() time.Time) Store {
	t.Helper()
	violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
	s := storememory.New(storememory.Options{Clock: clock, Violation: violation})
	t.Cleanup(s.Check)
	kept := &inMemory{s}
	return Store{Ports: portsOf(s, s), Workflows: kept.workflows, Dump: kept.dump}
}

type inMemory struct{ *storememory.Store }

func (m *inMemory) workflows(ctx context.Context) (ids []string, err error) {
	for token := ""; ; {
		runs, next, err := m.ListRuns(ctx, store.Filter{}, token, 1000)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			ids = append(ids, r.Workflow)
		}
		if token = next; token == "" {
			slices.Sort(ids)
			return slices.Compact(ids), nil
		}
	}
}

func (m *inMemory) dump(ctx context.Context) (string, error) {
	ids, err := m.workflows(ctx)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, id := range ids {
		last := uint32(0)
		for _, item := range m.Dump(id) {
			fmt.Fprintf(&b, "%v %x %v %d %s\n", item.Key, item.Commit, item.Expires, len(item.Body), item.Body)
			last = item.Run
		}
		attempts, err := m.ReadAttempts(ctx, id, last)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%+v\n", attempts)
	}
	endOfTime := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	timers, err := m.DueTimers(ctx, endOfTime, 1<<20)
	fmt.Fprintf(&b, "%+v\n", timers)
	return b.String(), err
}
