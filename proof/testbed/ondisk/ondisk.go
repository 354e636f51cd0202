// Package ondisk has the deployments of package testbed on the embedded store and queue of the
// local server. It is a separate package so that only the tests that need the embedded stores
// compile and link them.
package ondisk

import (
	"testing"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/embedded/diskqueue"
	"github.com/seed-41655fb1/weft/internal/embedded/diskstore"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// New returns a deployment without processes, on the embedded store and queue of a new directory,
// and the directory's database.
func New(t testing.TB) (*testbed.Deployment, *disk.DB) {
	t.Helper()
	db, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
	q, err := diskqueue.New(db, queue.Standard(testbed.TaskQueues...), diskqueue.Options{Violation: violation})
	if err != nil {
		t.Fatal(err)
	}
	return testbed.Over(t, diskstore.New(db), q.Queue), db
}

// NewBubble does the same as testbed.NewBubble, over the embedded store and queue.
func NewBubble(t testing.TB, args testbed.Args) testbed.Testbed {
	t.Helper()
	d, _ := New(t)
	return testbed.NewBubbleOver(t, d, args)
}
