// Package assembly assembles a process of a deployment: the executor over its ports, the HTTP API
// and the worker. The local server, its children, the Lambda functions, weftest and all proofs
// assemble their processes here, and proof/archtest fails if anything else does: what is proved is
// what runs.
package assembly

import (
	"context"
	"log/slog"
	"net/http"
	"sync"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/batch/acts"
	"github.com/seed-41655fb1/weft/internal/batch/flow"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	notices "github.com/seed-41655fb1/weft/internal/notify/acts"
	notify "github.com/seed-41655fb1/weft/internal/notify/flow"
	"github.com/seed-41655fb1/weft/internal/observe/calls"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// Config is what a process is assembled from. Ports, Registry and Host are required.
type Config struct {
	// Ports are the stores, and the queue that messages are sent to: see PortsOf.
	Ports executor.Ports
	// Receiver is what the worker receives messages from. Without one the process has no worker:
	// something else receives the messages, and passes them to Handler.
	Receiver queue.Receiver
	// Registry is the code of workflows and activities.
	Registry *engine.Registry
	// Host is the clock, the randomness and the goroutines.
	Host host.Host
	// Codec compresses, encrypts and offloads what the ports keep and send; nil leaves it plain.
	Codec *codec.Codec
	// Calls counts the calls of the ports that fail, below the codec; nil is new ones with the
	// observer and the logger of Options.
	Calls *calls.Calls
	// Watch wraps the ports as the executor sees them, above the codec; nil wraps nothing.
	Watch func(executor.Ports) executor.Ports
	// Options are the settings of the executor, with its build, rates and observer. Its Logger is
	// that of the whole process; nil is slog.Default.
	Options executor.Options
	// Concurrency is how many messages of a queue the worker handles at once. TaskQueues is the
	// same for each task queue; 0 is Concurrency.
	Concurrency int
	TaskQueues  map[string]int
	// Notifies says that the process makes attempts at notifications of the ends of runs: it runs
	// activities. Receivers makes their requests; nil is a transport that connects only where
	// Options.Webhooks allows. Bus is the event bus; nil is none.
	Notifies  bool
	Receivers http.RoundTripper
	Bus       Bus
	// Comments adds comments to the program's contract; nil adds none.
	Comments httpapi.Comments
}

// Bus is the event bus of a deployment.
type Bus = notices.Bus

// Process is a process of a deployment. It runs nothing by itself: API serves requests, and Worker
// or Handler handles messages.
type Process struct {
	Service *executor.Service
	// API is the HTTP API.
	API http.Handler
	// Worker polls the queues, and handles what it receives; nil if the process has no receiver.
	Worker *worker.Worker

	codec *codec.Codec
	log   *slog.Logger
}

// NewProcess assembles a process.
func NewProcess(c Config) *Process {
	if c.Options.Logger == nil {
		c.Options.Logger = slog.Default()
	}
	if c.Calls == nil {
		c.Calls = calls.New(calls.Options{Observe: c.Options.Observe, Log: c.Options.Logger})
	}
	c.Ports = c.Calls.Ports(c.Ports)
	if c.Codec != nil {
		c.Ports, c.Options = c.Codec.Ports(c.Ports), c.Codec.Options(c.Options)
	}
	if c.Watch != nil {
		c.Ports = c.Watch(c.Ports)
	}
	p := &Process{Service: executor.New(c.Ports, c.Registry, c.Host, c.Options), codec: c.Codec, log: c.Options.Logger}
	if !c.Options.NoBatches {
		var d flow.Deployment = acts.Deployment{Service: p.Service}
		p.own(func(ctx context.Context) context.Context { return flow.With(ctx, d) })
	}
	if c.Notifies {
		n := notices.New(p.Service, c.Receivers, c.Bus)
		p.own(func(ctx context.Context) context.Context { return notify.With(ctx, n) })
	}
	p.API = httpapi.New(p.Service, p.log, c.Comments)
	if c.Receiver != nil {
		p.Worker = &worker.Worker{
			Service: p.Service, Receiver: opening(c.Codec, c.Receiver), World: c.Host, Log: p.log, Concurrency: c.Concurrency, TaskQueues: c.TaskQueues,
		}
	}
	return p
}

// own adds to the context of Weft's own activities.
func (p *Process) own(with func(context.Context) context.Context) {
	of := p.Service.Process
	before := of.Own
	of.Own = func(ctx context.Context) context.Context {
		if before != nil {
			ctx = before(ctx)
		}
		return with(ctx)
	}
}

// opening returns a receiver that uses a codec to open what it receives.
func opening(codec *codec.Codec, r queue.Receiver) queue.Receiver {
	if codec == nil {
		return r
	}
	return codec.Receiver(r)
}

// Handler returns the handler for messages that something else receives. They must have been
// opened: see Open.
func (p *Process) Handler() worker.Handler { return worker.Handler{Service: p.Service, Log: p.log} }

// Open opens, in place, the bodies of messages that something else has received. It logs a body
// that it cannot open and leaves it encoded: nobody can read it, and the queue redelivers it.
func (p *Process) Open(ctx context.Context, deliveries []queue.Delivery) {
	if p.codec != nil {
		p.codec.Deliveries(ctx, deliveries)
	}
}

// Work runs the worker until ctx ends or stop is called. stop waits for the messages being handled,
// and closes the service.
func (p *Process) Work(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	working.Go(func() { p.Worker.Run(ctx) })
	return sync.OnceFunc(func() {
		cancel()
		working.Wait()
		p.Service.Process.Close()
	})
}
