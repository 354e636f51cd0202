// Package testbed is a deployment in a test: the real protocol, handler, client and delivery over
// the in-memory store and queue, which check their contracts. It runs in the bubble of
// testing/synctest. There time jumps to the next thing that is due as soon as nothing else can
// happen. So a test of a day's sleep takes no time, and needs no bound on time.
package testbed

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

// Deployment has what all processes share: the store and the queues.
type Deployment struct {
	t testing.TB
	// Store is the store if it is in memory, and nil otherwise.
	Store *storememory.Store
	Queue *queuememory.Queue
	// Ports can be changed before a process is started, to put faults between the process and the
	// stores.
	Ports executor.Ports
	kept  Stores
	// Receivers makes the requests to receivers of notifications. Without it, processes send none.
	Receivers http.RoundTripper
	// Bus is the event bus, if there is one. Processes put events on it if there are Receivers.
	Bus assembly.Bus
	// codec offloads large payloads. It is nil if payloads are small.
	codec *codec.Codec
}

// Stores is where a deployment keeps its runs.
type Stores interface {
	assembly.Store
	store.Lister
}

// New returns a deployment without processes, in memory. It checks the store and the queue at the
// end of the test.
func New(t testing.TB) *Deployment {
	t.Helper()
	violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
	d := &Deployment{t: t, Store: storememory.New(storememory.Options{Violation: violation})}
	d.Queue = queuememory.New(queue.Standard(TaskQueues...), queuememory.Options{Violation: violation})
	d.keepIn(d.Store)
	t.Cleanup(func() {
		d.Store.Check()
		d.Queue.Check()
	})
	return d
}

// Offload makes processes that start later offload large payloads and commits, as with a bucket.
func (d *Deployment) Offload() { d.codec = codec.New(codec.Options{Blobs: blobmemory.New(nil)}) }

// Over returns a deployment without processes, over a store and a queue that the caller closes.
// Package ondisk has deployments on disk.
func Over(t testing.TB, s Stores, q *queuememory.Queue) *Deployment {
	d := &Deployment{t: t, Queue: q}
	d.keepIn(s)
	return d
}

func (d *Deployment) keepIn(s Stores) {
	d.kept = s
	d.Ports = assembly.PortsOf(s, s, d.Queue)
	d.Ports.Scanner = nil // the check over all runs changes costs
}

// Process is one process of a deployment: it answers requests and, while it runs, handles messages.
type Process struct {
	*client.Client
	*assembly.Process
	// Service is the process's service behind a parser of requests.
	Service edge.Service
	Handler http.Handler
	// Meter counts everything that the process does: requests, messages and sweeps.
	Meter    *meter.Meter
	t        testing.TB
	build    string
	registry *engine.Registry
	stop     func()
}

// Start starts a process with these workflows and activities, and delivers messages to it until the
// process is stopped or the test ends.
func (d *Deployment) Start(o executor.Options, registrations ...workflow.Registration) *Process {
	d.t.Helper()
	p := d.Idle(o, registrations...)
	p.stop = p.Process.Work(p.Meter.Counting(context.Background()))
	return p
}

// Idle starts a process that answers requests and does not handle messages.
func (d *Deployment) Idle(o executor.Options, registrations ...workflow.Registration) *Process {
	d.t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Build == "" {
		o.Build = "build-1"
	}
	if o.Engine.TaskQueues == nil {
		o.Engine.TaskQueues = TaskQueues
	}
	registry := Registry(d.t, registrations...)
	process := assembly.NewProcess(assembly.Config{
		Ports: d.Ports, Receiver: d.Queue, Registry: registry, Host: host.Machine{}, Codec: d.codec, Options: o, Concurrency: 16, TaskQueues: atOnce(),
		Notifies: d.Receivers != nil, Receivers: d.Receivers, Bus: d.Bus,
	})
	total := &meter.Meter{}
	handler := counted{apitest.Handler(d.t, process.API), total}
	p := &Process{
		Client: client.ForHandler(handler), Process: process, Service: edge.Of(process.Service), Handler: handler, Meter: total,
		t: d.t, build: o.Build, registry: registry, stop: process.Service.Process.Close,
	}
	d.t.Cleanup(func() { p.Stop() })
	return p
}

// Receiver returns the receiver for processes that start now.
func (d *Deployment) Receiver() queue.Receiver {
	if d.codec != nil {
		return d.codec.Receiver(d.Queue)
	}
	return d.Queue
}

// TaskQueues are the task queues of a deployment, without the default one.
var TaskQueues = []string{"reports", "slow"}

// atOnce returns how many activities of each task queue a process runs at once.
func atOnce() map[string]int {
	all := map[string]int{}
	for _, name := range TaskQueues {
		all[name] = 2
	}
	return all
}

// counted is a handler that adds up the cost of all requests.
type counted struct {
	handler http.Handler
	total   *meter.Meter
}

// ServeHTTP serves a request.
func (c counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.handler.ServeHTTP(w, r.WithContext(c.total.Counting(r.Context())))
}

// Stop stops a process after it has finished its current work.
func (p *Process) Stop() { p.stop() }

// Registry returns a registry of these workflows and activities.
func Registry(t testing.TB, registrations ...workflow.Registration) *engine.Registry {
	t.Helper()
	r, err := program.Registry(registrations...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
