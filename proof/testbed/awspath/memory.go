package awspath

import (
	"context"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/proof/testbed"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// Memory opens a store in memory, for tests of the functions without a server.
func Memory(t testing.TB, clock func() time.Time) Store {
	t.Helper()
	violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
	s := storememory.New(storememory.Options{Clock: clock, Violation: violation})
	t.Cleanup(s.Check)
	return Store{
		Ports:     portsOf(s, s),
		Workflows: func(ctx context.Context) ([]string, error) { return testbed.Workflows(ctx, s) },
		Dump:      func(ctx context.Context) (string, error) { return testbed.Dump(ctx, s, s.Dump) },
	}
}
