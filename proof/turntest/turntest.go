// Package turntest is a deployment in a test: the real protocol, handler, client and delivery over the in-memory store
// and queue, which police it. It is made for the bubble of testing/synctest, where time jumps to the next thing that is
// due as soon as nothing else can happen, so that a test of a day's sleep takes no time and needs no bound on any.
package turntest

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/internal/pump"
	"github.com/seed-41655fb1/weft/internal/seal"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/queue"
	queueembedded "github.com/seed-41655fb1/weft/queue/embedded"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storeembedded "github.com/seed-41655fb1/weft/store/embedded"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

// Deployment is what all processes share: the store and the queues.
type Deployment struct {
	t testing.TB
	// Store is the store, where it is in memory; nil elsewhere.
	Store *storememory.Store
	// Disk is the data directory of one that is on disk; nil elsewhere.
	Disk  *disk.DB
	Queue *queuememory.Queue
	// Ports can be changed before a process is started, to put faults between it and the stores.
	Ports executor.Ports
	kept  kept
	// sealer offloads large payloads; nil where they are small.
	sealer *seal.Sealer
}

// kept is where a deployment keeps its runs.
type kept interface {
	store.Log
	store.Attempts
	store.Timers
	store.Lister
	store.Keys
	store.Rates
	store.Eraser
}

// New returns a deployment without processes, in memory. At the end of the test the store and the queue are checked.
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

// Offload has the processes that are started from now on offload large payloads and commits, as with a bucket.
func (d *Deployment) Offload() { d.sealer = seal.New(seal.Options{Blobs: blobmemory.New(nil)}) }

// OnDisk returns a deployment without processes, on the embedded store and queue of a directory of its own, as the local
// server has them.
func OnDisk(t testing.TB) *Deployment {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	db, err := disk.Open(t.TempDir())
	must(err)
	t.Cleanup(func() { must(db.Close()) })
	s := storeembedded.New(db)
	violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
	q, err := queueembedded.New(db, queue.Standard(TaskQueues...), queueembedded.Options{Violation: violation})
	must(err)
	d := &Deployment{t: t, Queue: q.Queue, Disk: db}
	d.keepIn(s)
	return d
}

func (d *Deployment) keepIn(s kept) {
	d.kept = s
	d.Ports = executor.Ports{Log: s, Attempts: s, Timers: s, Lister: s, Keys: s, Rates: s, Eraser: s, Queue: d.Queue}
}

// Process is one process of a deployment: it answers requests and, while it runs, handles messages.
type Process struct {
	*client.Client
	Service *executor.Service
	Handler http.Handler
	// Meter counts all that the process does: requests, messages and sweeps.
	Meter    *meter.Meter
	t        testing.TB
	build    string
	registry *engine.Registry
	pump     *pump.Pump
	stop     func()
}

// Start starts a process that knows these workflows and activities, and delivers messages to it until it is stopped or
// the test ends.
func (d *Deployment) Start(o executor.Options, registrations ...workflow.Registration) *Process {
	d.t.Helper()
	p := d.Idle(o, registrations...)
	ctx, cancel := context.WithCancel(p.Meter.Counting(context.Background()))
	var working sync.WaitGroup
	working.Go(func() { p.pump.Run(ctx) })
	p.stop = sync.OnceFunc(func() {
		cancel()
		working.Wait()
		p.Service.Close()
	})
	return p
}

// Idle starts a process that answers requests and handles no messages.
func (d *Deployment) Idle(o executor.Options, registrations ...workflow.Registration) *Process {
	d.t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	log := o.Logger
	if o.Build == "" {
		o.Build = "build-1"
	}
	if o.Engine.TaskQueues == nil {
		o.Engine.TaskQueues = TaskQueues
	}
	world := host.Machine{}
	registry := Registry(d.t, registrations...)
	ports := d.Ports
	if d.sealer != nil {
		ports, o = d.sealer.Ports(ports), d.sealer.Options(o)
	}
	service := executor.New(ports, registry, world, o)
	total := &meter.Meter{}
	handler := counted{apitest.Handler(d.t, httpapi.New(service, log)), total}
	p := &Process{
		Client: client.ForHandler(handler), Service: service, Handler: handler, Meter: total,
		t: d.t, build: o.Build, registry: registry,
		pump: &pump.Pump{Service: service, Receiver: d.Receiver(), World: world, Log: log, Concurrency: 16, TaskQueues: atOnce()},
		stop: service.Close,
	}
	d.t.Cleanup(func() { p.Stop() })
	return p
}

// Receiver is what processes that are started now receive from.
func (d *Deployment) Receiver() queue.Receiver {
	if d.sealer != nil {
		return d.sealer.Receiver(d.Queue)
	}
	return d.Queue
}

// TaskQueues are the task queues of a deployment, besides the default one.
var TaskQueues = []string{"reports", "slow"}

// atOnce is how many activities of each task queue a process runs at once.
func atOnce() map[string]int {
	all := map[string]int{}
	for _, name := range TaskQueues {
		all[name] = 2
	}
	return all
}

// counted adds up the cost of all requests of a handler.
type counted struct {
	handler http.Handler
	total   *meter.Meter
}

// ServeHTTP serves a request.
func (c counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.handler.ServeHTTP(w, r.WithContext(c.total.Counting(r.Context())))
}

// Stop stops a process: what it was doing ends first.
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
