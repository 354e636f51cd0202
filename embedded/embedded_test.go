package embedded_test

import (
	"path/filepath"
	"testing"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/blob"
	"github.com/seed-41655fb1/weft/blob/blobtest"
	"github.com/seed-41655fb1/weft/embedded"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// opener returns what opens a directory of its own, and closes it before it opens it again.
func opener(t *testing.T, taskQueues ...string) func() *backend.Backend {
	dir := filepath.Join(t.TempDir(), "data")
	var last *backend.Backend
	closeLast := func() {
		if last == nil {
			return
		}
		if err := last.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(closeLast)
	return func() *backend.Backend {
		closeLast()
		var err error
		if last, err = embedded.Open(dir, taskQueues...); err != nil {
			t.Fatal(err)
		}
		return last
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			open := opener(t)
			return func() storetest.Store { return open().Store }
		},
		MaxBody: 1 << 20, PageBytes: 1 << 20, Reopens: true, Lists: true, Expires: true,
	})
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(t *testing.T) func() blob.Blobs {
		open := opener(t)
		return func() blob.Blobs { return open().Blobs }
	})
}

// What was sent is there when the directory is opened again, and the queues are those of the task
// queues.
func TestQueues(t *testing.T) {
	t.Parallel()
	open := opener(t, "reports")
	name := queue.ForTasks("reports")
	if err := open().Queue.Send(t.Context(), name, queue.Message{Body: []byte("message")}); err != nil {
		t.Fatal(err)
	}
	q := open().Queue
	got, err := q.Receive(t.Context(), name, queue.MaxBatch)
	if err != nil || len(got) != 1 || string(got[0].Body) != "message" {
		t.Fatalf("received %v, %v", got, err)
	}
	if err := q.Delete(t.Context(), name, got[0].Receipt); err != nil {
		t.Error(err)
	}
}

// A directory belongs to one process, and to one Open in it.
func TestOpenTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, err := embedded.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := embedded.Open(dir); err == nil {
		t.Errorf("a directory that is open was opened: %v", second.Close())
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
}
