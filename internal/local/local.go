// Package local is Weft in one process: the HTTP API, the workers and the timers, over the embedded store and queue or,
// without a directory, in memory.
package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/blob"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/pump"
	"github.com/seed-41655fb1/weft/internal/seal"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the settings of a server. The zero value is a server in memory with the defaults.
type Options struct {
	// Dir is the data directory; empty keeps everything in memory, for as long as the process lives.
	Dir string
	// Turn are the settings of the protocol. An empty Build is made from the program itself.
	Turn turn.Options
	// Concurrency is how many messages of a queue are handled at once; 0 is 64.
	Concurrency int
	// TaskQueues are task queues besides the default one, and those that activities are declared with. Each has the number of
	// its activities that are run at once, and their rate; 0 at once is Concurrency.
	TaskQueues map[string]limits.TaskQueue
	// Rate is that of the default task queue.
	Rate limits.Rate
	// Origins are the origins whose web pages may use the API, as http://localhost:5173, or * for all; the pages of none may
	// where there are none.
	Origins []string
	// Keys encrypts what is kept, and Compress compresses it; nil and false leave it plain.
	Keys     seal.Keys
	Compress bool
	// LargePayloads keeps large payloads, and large commits, apart.
	LargePayloads bool
	// Isolate runs the code of workflows and activities in child processes, if it has Children; see package isolate.
	Isolate isolate.Options
	// Log takes what operators should know; nil is slog.Default.
	Log *slog.Logger
}

// Server is Weft in one process.
type Server struct {
	Service *turn.Service
	handler http.Handler
	pump    *pump.Pump
	backend *backend
	log     *slog.Logger
	world   turn.RealWorld
	pool    *isolate.Pool // nil if nothing is isolated
}

// stopAfter is how long a server that is told to stop waits for requests that are being answered.
const stopAfter = 5 * time.Second

// backend is where a server keeps things.
type backend struct {
	ports    turn.Ports
	receiver queue.Receiver
	// taskQueues are those that there are, besides the default one.
	taskQueues []string
	blobs      blob.Blobs
	// tidy deletes what has expired.
	tidy  func(context.Context) error
	close func() error
}

// Open opens the data directory, and takes it for this process alone. Nothing runs until Serve or Work is called.
func Open(registry *engine.Registry, o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Concurrency == 0 {
		o.Concurrency = 64
	}
	if o.Turn.Build == "" {
		o.Turn.Build = buildID()
	}
	o.Turn.Logger = o.Log
	open := onDisk
	if o.Dir == "" {
		open = inMemory
	}
	taskQueues, err := o.taskQueues(registry)
	if err = errors.Join(err, o.checkRates()); err != nil {
		return nil, err
	}
	o.Turn.Rate = o.rateOf
	b, err := open(o.Dir, slices.Sorted(maps.Keys(taskQueues)))
	if err != nil {
		return nil, err
	}
	for _, name := range b.taskQueues {
		taskQueues[name] += 0 // one of before, whose messages are left over, runs too
	}
	o.Turn.Engine.TaskQueues = slices.Sorted(maps.Keys(taskQueues))
	kept := seal.Options{Keys: o.Keys, Compress: o.Compress, Log: o.Log}
	if o.LargePayloads {
		kept.Blobs = b.blobs
	}
	sealer := seal.New(kept)
	tidy := b.tidy
	b.tidy = func(ctx context.Context) error {
		_, err := sealer.Tidy(ctx, b.ports.Log)
		return errors.Join(err, tidy(ctx))
	}
	world := turn.NewRealWorld()
	service := turn.New(sealer.Ports(b.ports), registry, world, sealer.Options(o.Turn))
	s := &Server{
		Service: service, backend: b, log: o.Log, world: world,
		pump: &pump.Pump{Service: service, Receiver: sealer.Receiver(b.receiver), World: world, Log: o.Log, Concurrency: o.Concurrency, TaskQueues: taskQueues},
	}
	api := httpapi.New(service, o.Log)
	if o.Isolate.Children > 0 {
		o.Isolate.TaskQueues, o.Isolate.Log, o.Isolate.Build = o.Turn.Engine.TaskQueues, o.Log, o.Turn.Build
		o.Isolate.Ports, o.Isolate.Receiver = sealer.Ports(b.ports), s.pump.Receiver
		if o.Dir != "" {
			o.Isolate.File = filepath.Join(o.Dir, "suspects.json")
		}
		if s.pool, err = isolate.Start(o.Isolate); err != nil {
			return nil, errors.Join(err, b.close())
		}
		api, s.pump.Hand = s.pool, s.pool.Deliver
	}
	if s.handler, err = forPages(api, o.Origins); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenChild serves as a child of a server that isolates, until the parent ends it: see isolate.ServeChild.
func OpenChild(registry *engine.Registry, o Options) error {
	if o.Turn.Build == "" {
		o.Turn.Build = buildID()
	}
	o.Turn.Rate = o.rateOf
	kept := seal.Options{Keys: o.Keys, Compress: o.Compress, Log: o.Log}
	if o.LargePayloads {
		kept.Blobs = blobmemory.New(nil) // the parent seals: only the limits of payloads count here
	}
	return isolate.ServeChild(registry, seal.New(kept).Options(o.Turn), o.Log)
}

// taskQueues are the task queues that are asked for, with how many of their activities are run at once.
func (o *Options) taskQueues(registry *engine.Registry) (map[string]int, error) {
	all := map[string]int{}
	for _, name := range registry.TaskQueues() {
		all[name] = 0
	}
	for name, q := range o.TaskQueues {
		if name == "" || q.AtOnce < 0 {
			return nil, fmt.Errorf("the task queue %q is to run %d activities at once: give a name, and 1 or more, or 0 for as many as the default queue", name, q.AtOnce)
		}
		if err := engine.CheckTaskQueue(name); err != nil {
			return nil, err
		}
		all[name] = q.AtOnce
	}
	return all, nil
}

// rateOf is the rate of a task queue; the default one has no name.
func (o *Options) rateOf(taskQueue string) limits.Rate {
	if taskQueue == "" {
		return o.Rate
	}
	return o.TaskQueues[taskQueue].Rate
}

// checkRates reports what is wrong with the rates.
func (o *Options) checkRates() error {
	if err := o.Rate.Check(); err != nil {
		return fmt.Errorf("the default task queue: %w", err)
	}
	for name, q := range o.TaskQueues {
		if err := q.Rate.Check(); err != nil {
			return fmt.Errorf("the task queue %q: %w", name, err)
		}
	}
	return nil
}

// Handler is the HTTP API.
func (s *Server) Handler() http.Handler { return s.handler }

// Work delivers messages, sweeps timers and deletes what has expired until ctx ends, and returns when what was being
// handled has been.
func (s *Server) Work(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.pump.Run(ctx) })
	all.Go(func() { s.tidy(ctx) })
	all.Wait()
}

func (s *Server) tidy(ctx context.Context) {
	const every = time.Minute
	for ticks := time.Tick(every); ; {
		if err := s.backend.tidy(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("what has expired could not be deleted", "error", err)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// Serve serves the API at a listener and works, until ctx ends; then it stops cleanly. It closes the listener.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, abort := context.WithCancel(context.Background())
	defer abort()
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return requests },
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	httpapi.CloseSpare(server)
	worked := make(chan struct{})
	working, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer close(worked)
		s.Work(working)
	}()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		abort() // callers who wait for a result are told that there is none yet
		limited, cancel := context.WithTimeout(context.Background(), stopAfter)
		defer cancel()
		err = server.Shutdown(limited)
	}
	stop()
	select {
	case <-worked:
	case <-time.After(stopAfter):
		s.log.Warn("activities still run; their messages will come again at the next start")
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close closes the data directory. Call it after Serve or Work has returned.
func (s *Server) Close() error {
	var err error
	if s.pool != nil {
		err = s.pool.Close()
	}
	s.Service.Close()
	s.world.End()
	return errors.Join(err, s.backend.close())
}

// buildID names the program that runs by a hash of its file: another build is another name, also of the same version.
func buildID() string {
	const unknown = "unknown"
	path, err := os.Executable()
	if err != nil {
		return unknown
	}
	f, err := os.Open(path)
	if err != nil {
		return unknown
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return unknown
	}
	return hex.EncodeToString(h.Sum(nil))[:12]
}

// Listen listens at an address, with an error that says what to do where that cannot be.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w: stop what listens there, or choose another address", address, err)
	}
	return l, nil
}
