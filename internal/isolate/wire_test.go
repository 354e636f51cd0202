package isolate

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/queue/queuetest"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/store/storetest"
)

// overWire serves ports at a Unix socket, and returns a child's view of them.
func overWire(t *testing.T, serve func(mux *http.ServeMux)) ports {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft-wire-") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	serve(mux)
	server := &http.Server{Handler: mux}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
		_ = os.RemoveAll(dir)
	})
	return ports{dial(socket)}
}

// The ports that a child sees pass the suite of the store's port.
func TestStoreOverTheWire(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		New: func(t *testing.T) func() storetest.Store {
			s := storememory.New(storememory.Options{})
			return func() storetest.Store {
				return overWire(t, func(mux *http.ServeMux) {
					serveStore(mux, assembly.PortsOf(s, s, nil))
				})
			}
		},
		MaxBody: 300 << 10, PageBytes: 1 << 20, Reopens: true, Lists: true,
	})
}

// queueOverWire sends and extends over the wire, as a child does; the parent receives and deletes.
type queueOverWire struct {
	ports
	queue.Receiver
}

// Extend goes over the wire.
func (q queueOverWire) Extend(ctx context.Context, name, receipt string, d time.Duration) error {
	return q.ports.Extend(ctx, name, receipt, d)
}

// Delete is the queue's, not the store's.
func (q queueOverWire) Delete(ctx context.Context, name string, receipts ...string) error {
	return q.Receiver.Delete(ctx, name, receipts...)
}

// What a child sends and extends passes the suite of the queue's port.
func TestQueueOverTheWire(t *testing.T) {
	t.Parallel()
	queuetest.Run(t, queuetest.Harness{
		New: func(t *testing.T, settings map[string]queue.Settings) (func() queuetest.Queue, queuetest.Clock) {
			clock := queuetest.NewClock()
			q := queuememory.New(settings, queuememory.Options{Clock: clock.Now})
			clock.OnMove(q.Tick)
			return func() queuetest.Queue {
				return queueOverWire{overWire(t, func(mux *http.ServeMux) { serveQueue(mux, executor.Ports{}.Over(q), q) }), q}
			}, clock
		},
		MaxBody: 768 << 10, Reopens: true, Inspects: true, Redrives: true, Browses: true,
	})
}
