// Package local is Weft in one process: the HTTP API, the workers and the timers, over the embedded
// store and queue or, without a directory, in memory.
package local

import (
	"cmp"
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
	"syscall"
	"time"

	"golang.org/x/net/netutil"

	backendport "github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/blob"
	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/contract/docs"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/isolate"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/live"
	"github.com/seed-41655fb1/weft/internal/observe/calls"
	"github.com/seed-41655fb1/weft/internal/page"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/internal/webguard"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// Options are the settings of a server. The zero value is a server in memory with the defaults.
type Options struct {
	// Dir is the data directory; empty keeps everything in memory, for as long as the process
	// lives.
	Dir string
	// Backend opens the place where everything is stored, instead of Dir or memory; nil is none.
	// Dir then has only the token and the crash records.
	Backend backendport.Open
	// Executor are the settings of the protocol. An empty Build is derived from the program itself.
	Executor executor.Options
	// Concurrency is how many messages of a queue are handled concurrently; 0 is 64.
	Concurrency int
	// TaskQueues are task queues besides the default one, and those that activities are declared
	// with. Each has the number of its activities that run concurrently, and their rate; 0 is
	// Concurrency.
	TaskQueues map[string]limits.TaskQueue
	// Rate is the rate of the default task queue.
	Rate limits.Rate
	// Origins are the origins whose web pages may use the API, such as http://localhost:5173, or *
	// for all. If there are none, no other page may.
	Origins []string
	// Hosts are the names by which the server may be addressed, besides localhost, loopback
	// addresses, and the connection's local address; * is any. Empty ones are skipped.
	Hosts []string
	// Auth requires the token of the data directory from callers.
	Auth bool
	// NoPage serves no web page at /, only the API.
	NoPage bool
	// DeleteEvery is the interval at which the server deletes what has expired; 0 is a minute.
	// DeleteAtOnce is how many items one write deletes; 0 is 200.
	DeleteEvery  time.Duration
	DeleteAtOnce int
	// Keys encrypts stored bodies, and Compress compresses them; nil and false leave them plain.
	Keys     codec.Keys
	Compress bool
	// LargePayloads offloads large payloads and large commits.
	LargePayloads bool
	// MemoryLimit is how many bytes of memory the process aims to stay within. GOMEMLIMIT is set to
	// what memory outside of Go leaves of it, and the sizes of caches and buffers follow from it. 0
	// keeps the limit that the process has.
	MemoryLimit int64
	// Isolate runs the code of workflows and activities in child processes, if it has Children; see
	// package isolate.
	Isolate isolate.Options
	// URL is where callers on this machine reach the server; empty is not known. Log lines have
	// commands with it.
	URL string
	// Log gets what operators should know; nil is slog.Default.
	Log *slog.Logger
	// LogFailures is what the log has of the failures of users' code: LogTypes or LogText; empty is
	// LogTypes.
	LogFailures string
	// Clock returns the time with a Dir; nil is the time of day. The harness sets it, to move the
	// time of a real server. Waits do not follow it.
	Clock func() time.Time

	noCode  bool // no code of runs runs here
	budgets budgets
}

// suspectsFile is the file of the workflows that ended child processes, in a data directory.
const suspectsFile = "suspects.json"

// world is the machine with the clock of the options.
type world struct {
	host.Machine
	clock func() time.Time
}

// Now returns the time by the clock of the options.
func (w world) Now() time.Time { return w.clock() }

// now returns the time by the clock of the options.
func (o *Options) now() time.Time {
	if o.Clock != nil {
		return o.Clock()
	}
	return time.Now()
}

// Server is Weft in one process.
type Server struct {
	Service *executor.Service
	handler http.Handler
	hosts   webguard.Hosts
	token   *token        // nil demands none
	every   time.Duration // and atOnce: see Options.DeleteEvery
	atOnce  int
	worker  *worker.Worker
	backend *backend
	log     *slog.Logger
	world   world
	pool    *isolate.Pool // nil if nothing is isolated
	memory  *footprint    // nil if no limit was given
	// connections is how many connections Serve holds at once.
	connections int
}

// stopAfter is how long a stopping server waits for requests in progress.
const stopAfter = 5 * time.Second

// backend is where a server stores everything.
type backend struct {
	ports    executor.Ports
	receiver queue.Receiver
	// taskQueues are the existing task queues besides the default one.
	taskQueues []string
	blobs      blob.Blobs
	// backup writes a backup; nil if everything is in memory.
	backup backup
	// tidy deletes what has expired, this many items in a write, and returns how many it deleted.
	tidy func(ctx context.Context, atOnce int) (int, error)
	// tick makes the queue look at its clock if that is not the machine's; nil otherwise.
	tick  func()
	probe func() error // writes nothing, and returns why nothing can be written
	// ended is closed when only another process can find out what is on the disk, and why says what
	// happened. A nil channel is never closed.
	ended <-chan struct{}
	why   func() error
	close func() error
}

// Open opens the data directory for this process alone. Nothing runs until Serve or Work is called.
func Open(registry *engine.Registry, o Options) (*Server, error) {
	return open(context.Background(), registry, o)
}

// open is Open with the context of a backend that is not Weft's.
func open(ctx context.Context, registry *engine.Registry, o Options) (*Server, error) {
	o.setDefaults()
	names, err := webguard.NewHosts(o.Hosts)
	taskQueues, queuesErr := o.taskQueues(registry)
	if err = errors.Join(err, queuesErr, o.checkRates(), o.checkDeletion(), checkFailures(o.LogFailures)); err != nil {
		return nil, err
	}
	o.Executor.Rate = o.rateOf
	b, err := o.backend(ctx, slices.Sorted(maps.Keys(taskQueues)))
	if err != nil {
		return nil, err
	}
	for _, name := range b.taskQueues {
		taskQueues[name] += 0 // an earlier queue with remaining messages runs too
	}
	o.Executor.Engine.TaskQueues = slices.Sorted(maps.Keys(taskQueues))
	s, err := o.serve(registry, b, taskQueues)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	s.hosts = names
	return s, nil
}

// OpenUntil is Open that ends with ctx. If ctx ends, it returns the error of ctx and no server. It
// waits a while for a directory that is being opened, and closes it. If the directory does not open
// in that time, it is closed when it has opened, or the end of the process leaves it as a crash
// does.
func OpenUntil(ctx context.Context, registry *engine.Registry, o Options) (*Server, error) {
	return openUntil(ctx, func() (*Server, error) { return open(ctx, registry, o) }, (*Server).Close)
}

func openUntil(ctx context.Context, open func() (*Server, error), closes func(*Server) error) (*Server, error) {
	type result struct {
		server *Server
		err    error
	}
	opened := make(chan result, 1)
	go func() {
		s, err := open()
		opened <- result{s, err}
	}()
	select {
	case r := <-opened:
		return r.server, r.err
	case <-ctx.Done():
	}
	ended := make(chan error, 1)
	go func() {
		r := <-opened
		if r.err == nil {
			r.err = closes(r.server)
		}
		ended <- r.err
	}()
	select {
	case err := <-ended:
		return nil, errors.Join(ctx.Err(), err)
	case <-time.After(stopAfter):
		return nil, ctx.Err()
	}
}

func (o *Options) setDefaults() {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Concurrency == 0 {
		o.Concurrency = 64
	}
	defaults := settings.Defaults()
	o.DeleteEvery = cmp.Or(o.DeleteEvery, time.Duration(defaults.DeleteEvery))
	o.DeleteAtOnce = cmp.Or(o.DeleteAtOnce, *defaults.DeleteAtOnce)
	if o.Executor.Build == "" {
		o.Executor.Build = BuildID()
	}
	o.budgets = newBudgets(o.MemoryLimit)
	o.Executor.Logger, o.Executor.LogTexts, o.Executor.CommandFlags = o.Log, o.LogFailures == LogText, o.commandFlags()
	if o.Executor.Memory == nil {
		o.Executor.Memory = processMemory{}
	}
}

// leastRetention is the least time that a closed run is kept: see executor.Options.
const leastRetention = 2 * time.Hour

// checkDeletion returns what is wrong with the retention and its pace, or nil.
func (o *Options) checkDeletion() error {
	const leastEvery, mostAtOnce = time.Second, 10_000
	switch {
	case o.Executor.Retention != 0 && o.Executor.Retention < leastRetention:
		return fmt.Errorf("a retention of %v is too short: give %v or more", o.Executor.Retention, leastRetention)
	case o.DeleteEvery < leastEvery:
		return fmt.Errorf("the interval of deletions is %v: give %v or more", o.DeleteEvery, leastEvery)
	case o.DeleteAtOnce < 1 || o.DeleteAtOnce > mostAtOnce:
		return fmt.Errorf("a write cannot delete %d expired items: give 1 to %d, or 0 for the default", o.DeleteAtOnce, mostAtOnce)
	}
	return nil
}

// serve returns the server over a backend.
func (o *Options) serve(registry *engine.Registry, b *backend, taskQueues map[string]int) (*Server, error) {
	o.Executor.CacheBytes = cmp.Or(o.Executor.CacheBytes, int(o.budgets.cache))
	failing := calls.New(calls.Options{Observe: o.Executor.Observe, Log: o.Log})
	kept := codec.Options{Keys: failing.Keys(o.Keys), Compress: o.Compress, Log: o.Log}
	if o.LargePayloads {
		kept.Blobs = failing.Blobs(b.blobs)
	}
	codec := codec.New(kept)
	tidy := b.tidy
	b.tidy = func(ctx context.Context, atOnce int) (int, error) {
		_, err := codec.Tidy(ctx, failing.Log(b.ports.Log))
		n, tidyErr := tidy(ctx, atOnce)
		return n, errors.Join(err, tidyErr)
	}
	var t *token
	if o.Auth {
		var err error
		if t, err = openToken(o.Dir); err != nil {
			return nil, err
		}
	}
	if o.Isolate.Children == 0 && !o.noCode { // otherwise this process runs no code
		if recorder := recordCrashes(o.Dir, o.Executor.Build, o.Log); recorder != nil {
			o.Executor.Recorder, b.close = recorder, closeAfter(recorder, b.close)
		}
	}
	world := world{host.NewMachine(), o.now}
	o.Executor.WhyRefused = whyRefused
	process := assembly.NewProcess(assembly.Config{
		Ports: b.ports, Receiver: b.receiver, Registry: registry, Host: world, Codec: codec, Calls: failing, Options: o.Executor, Concurrency: o.Concurrency, TaskQueues: taskQueues,
		Comments: docs.Add, Notifies: true,
	})
	s := &Server{
		Service: process.Service, token: t, every: o.DeleteEvery, atOnce: o.DeleteAtOnce, backend: b, log: o.Log, world: world, connections: o.budgets.connections,
		worker: process.Worker,
	}
	if o.MemoryLimit > 0 {
		s.memory = newFootprint(o.MemoryLimit)
	}
	handler := process.API
	if o.Isolate.Children > 0 {
		o.Isolate.Ports = codec.Ports(b.ports)
		if err := o.startChildren(s, b); err != nil {
			return nil, err
		}
		handler = s.pool
	}
	handler = withBackup(newBudget(o.budgets.requests, s.connections).bounded(handler), b.backup, o.Log)
	handler = live.Handler(handler, live.Options{Streams: s.connections / streamShare})
	if !o.NoPage {
		handler = page.Handler(handler)
	}
	if t != nil {
		handler = t.demand(handler)
	}
	var err error
	if s.handler, err = forPages(&health{next: handler, probe: b.probe}, o.Origins); err != nil {
		if s.pool != nil {
			err = errors.Join(err, s.pool.Close())
		}
		return nil, err
	}
	return s, nil
}

// startChildren starts the child processes that run the code of the server.
func (o *Options) startChildren(s *Server, b *backend) (err error) {
	o.Isolate.TaskQueues, o.Isolate.Log, o.Isolate.Build = o.Executor.Engine.TaskQueues, o.Log, o.Executor.Build
	o.Isolate.Receiver, o.Isolate.CommandFlags = s.worker.Receiver, o.Executor.CommandFlags
	if o.Dir != "" {
		o.Isolate.File = filepath.Join(o.Dir, suspectsFile)
	}
	if s.pool, err = isolate.Start(o.Isolate); err != nil {
		return err
	}
	s.worker.Hand = s.pool.Deliver
	probe := b.probe
	b.probe = func() error { return errors.Join(s.pool.Ready(), probe()) }
	return nil
}

// OpenChild serves as a child of a server that isolates, until the parent ends it: see
// isolate.ServeChild.
func OpenChild(registry *engine.Registry, o Options) error {
	o.setDefaults()
	limitChild(o.MemoryLimit)
	o.Executor.CacheBytes = int(o.budgets.cache)
	o.Executor.Rate, o.Executor.WhyRefused = o.rateOf, whyRefused
	kept := codec.Options{Keys: o.Keys, Compress: o.Compress, Log: o.Log}
	if o.LargePayloads {
		kept.Blobs = blobmemory.New(nil) // the parent encodes: only the limits of payloads count here
	}
	return isolate.ServeChild(registry, codec.New(kept).Options(o.Executor), o.Log)
}

// taskQueues returns the configured task queues, with how many of their activities run
// concurrently.
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

// rateOf returns the rate of a task queue. The default one has no name.
func (o *Options) rateOf(taskQueue string) limits.Rate {
	if taskQueue == "" {
		return o.Rate
	}
	return o.TaskQueues[taskQueue].Rate
}

// checkRates returns what is wrong with the rates, or nil.
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

// Handler returns the HTTP API for callers in this process. Serve also checks the Host header.
func (s *Server) Handler() http.Handler { return s.handler }

// Work delivers messages, sweeps timers and deletes what has expired until ctx ends. It returns
// when the messages in progress have been handled.
func (s *Server) Work(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { s.worker.Run(ctx) })
	all.Go(func() { s.tidy(ctx) })
	if s.memory != nil {
		all.Go(func() { s.memory.keep(ctx) })
	}
	if s.backend.tick != nil {
		all.Go(func() { s.tick(ctx) })
	}
	all.Wait()
}

// tick makes the queue look at a clock that is not the machine's, until ctx ends.
func (s *Server) tick(ctx context.Context) {
	for ticks := time.Tick(20 * time.Millisecond); ; {
		select {
		case <-ticks:
			s.backend.tick()
		case <-ctx.Done():
			return
		}
	}
}

func (s *Server) tidy(ctx context.Context) {
	for ticks := time.Tick(s.every); ; {
		n, err := s.backend.tidy(ctx, s.atOnce)
		if n > 0 {
			s.log.Info("what has expired was deleted", "items", n)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Error("what has expired could not be deleted", "error", err)
		}
		select {
		case <-ticks:
		case <-ctx.Done():
			return
		}
	}
}

// Serve serves the API at a listener and works until ctx ends. Then it stops cleanly. It closes the
// listener. It stops with an error that wraps disk.ErrEnded if only another process can find out
// what is on the disk: start the server again then.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	requests, abort := context.WithCancel(context.Background())
	defer abort()
	server := &http.Server{
		Handler: s.hosts.Only(s.handler, ", or start it with --allowed-hosts, or WEFT_ALLOWED_HOSTS"), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: readTime,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
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
	go func() { served <- server.Serve(progressListener{netutil.LimitListener(l, s.connections)}) }()
	shutdown := func() error {
		abort() // callers who wait for a result get the answer that there is none yet
		limited, cancel := context.WithTimeout(context.Background(), stopAfter)
		defer cancel()
		return server.Shutdown(limited)
	}
	var err error
	select {
	case err = <-served:
	case <-s.backend.ended:
		err = errors.Join(fmt.Errorf("start the server again: %w", s.backend.why()), shutdown())
	case <-ctx.Done():
		err = shutdown()
	}
	stop()
	select {
	case <-worked:
	case <-time.After(stopAfter):
		s.log.Warn("activities still run; their messages will be redelivered at the next start")
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
	s.Service.Process.Close()
	s.world.Close()
	return errors.Join(err, s.backend.close())
}

// BuildID names the program by a hash of its file: another build has another name, even for the
// same version. It reads the file once.
var BuildID = sync.OnceValue(func() string {
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
})

// Listen listens at an address. Its error says what to do.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		advice := "give a host and a port of this machine, as 127.0.0.1:8080"
		if errors.Is(err, syscall.EADDRINUSE) {
			advice = "stop what listens there, or choose another address (--addr)"
		}
		return nil, fmt.Errorf("cannot listen at %s: %w: %s", address, err, advice)
	}
	return l, nil
}
