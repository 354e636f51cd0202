package weftest

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/codec"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	"github.com/seed-41655fb1/weft/store"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

// Env is a deployment for one test: a store, queues, and one process that answers requests and
// handles messages. Several goroutines may call its methods.
type Env struct {
	t        testing.TB
	registry *engine.Registry
	store    *storememory.Store
	queue    *queuememory.Queue
	queues   []string // their names
	// commits is the store's log, including offloaded payloads.
	commits store.Log
	world   *world
	process *assembly.Process
	client  *client.Client
	meter   meter.Meter

	// working waits for the goroutines of deliveries and calls.
	working sync.WaitGroup
	// poke wakes the loop after a change. quit ends the loop, which then closes done.
	poke       chan struct{}
	quit, done chan struct{}
	// given is the context of all requests. It is canceled when the test has failed for good, with
	// the reason.
	given context.Context
	fail  context.CancelCauseFunc

	mu         sync.Mutex
	mocks      map[string]attempt
	failures   map[string]string // why the latest attempt at an activity failed
	begun      bool              // a request was sent, so the registry is in use
	calls      []*call
	settlers   []chan struct{}
	requests   int       // requests that are being answered
	deliveries int       // deliveries under way
	steps      int       // messages delivered since the last request
	idle       time.Time // since when nothing can happen by itself, or zero if something can
	trouble    []trouble
	skipReplay bool
	// allowFailed is set by AllowFailedUpdates.
	allowFailed bool
}

// keep is how long runs are kept and how long requests wait. It is longer than any test.
const keep = 100 * 365 * 24 * time.Hour

// New returns an environment with these workflows and activities, which are the arguments of
// weft.Register. Call it in a bubble of testing/synctest, once in each bubble. The environment ends
// with the test.
func New(t testing.TB, registrations ...workflow.Registration) *Env {
	t.Helper()
	checkBubble(t)
	e := &Env{
		t: t, registry: registry(t, registrations), mocks: map[string]attempt{}, failures: map[string]string{},
		poke: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	for _, name := range e.registry.ActivityNames() {
		e.divert(e.registry.Activity(name))
	}
	e.given, e.fail = context.WithCancelCause(context.Background())
	broken := func(format string, args ...any) { t.Errorf("weftest: a defect of Weft: "+format, args...) }
	e.store = storememory.New(storememory.Options{Violation: broken})
	e.queues = queuesOf(e.registry.TaskQueues())
	e.queue = queuememory.New(queue.Standard(e.registry.TaskQueues()...), queuememory.Options{Violation: broken})
	e.world = &world{random: rand.New(rand.NewChaCha8([32]byte([]byte("the same ids in each run of test"))))}
	e.client = client.New("http://weftest", client.Options{HTTP: &http.Client{Transport: (*transport)(e)}, NewID: e.world.newID})
	e.open(codec.Options{Blobs: blobmemory.New(nil)})
	go e.loop()
	t.Cleanup(e.close)
	return e
}

// registry returns a registry of these workflows and activities. It ends the test if a registration
// is invalid.
func registry(t testing.TB, registrations []workflow.Registration) *engine.Registry {
	t.Helper()
	r, err := program.Registry(registrations...)
	if err != nil {
		t.Fatalf("weftest: cannot use a registration: %v", err)
	}
	return r
}

// checkBubble ends the test if it does not run in a bubble of testing/synctest, or if that bubble
// already has an environment.
func checkBubble(t testing.TB) {
	t.Helper()
	defer func() {
		t.Helper()
		switch value := recover(); {
		case value == nil:
		case strings.Contains(fmt.Sprint(value), "not in a bubble"):
			t.Fatal("weftest.New has to be called in a bubble, where time can jump:\n" +
				"\tsynctest.Test(t, func(t *testing.T) {\n\t\tenv := weftest.New(t, ...)\n\t\t...\n\t})")
		default:
			t.Fatal("weftest.New: there is another Env in this bubble: register everything in one")
		}
	}()
	synctest.Wait()
}

// checkedLooks is for how many tasks after each validator and query handler a test checks for a
// change of state: for nearly all.
const checkedLooks = 10_000

// open starts the process. The process offloads large payloads if the options have a store for
// them.
func (e *Env) open(o codec.Options) {
	quiet := slog.New(slog.DiscardHandler)
	o.Log = quiet
	codec := codec.New(o)
	checks := checkedLooks
	if e.skipReplay {
		checks = 0
	}
	e.commits = codec.Log(e.store)
	e.process = assembly.NewProcess(assembly.Config{
		Ports: assembly.PortsOf(e.store, e.store, e.queue), Receiver: e.queue, Registry: e.registry, Host: e.world, Codec: codec, Concurrency: 1, Options: executor.Options{
			Build: "test", Retention: keep, SoftLimit: keep, CacheAge: keep, CheckLooks: checks, CheckAlways: true, Logger: quiet, Observe: observe.New((*listener)(e)),
			Engine: engine.Options{TaskQueues: e.registry.TaskQueues()}, Webhooks: everybody(), EventBus: true,
		},
		Notifies: true, Receivers: willing{}, Bus: willing{},
	})
}

// everybody allows a test each receiver of notifications.
func everybody() guard.Policy {
	all, _ := guard.Parse("*") // is valid
	all.Local = true
	return all
}

// willing takes all notifications: those of URLs, and those of an event bus. No request leaves the
// test.
type willing struct{}

// RoundTrip answers a notification.
func (willing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody, Request: r}, nil
}

// Source returns the source of events.
func (willing) Source() string { return "weft.test" }

// Put takes an event.
func (willing) Put(context.Context, string, time.Time, []byte) error { return nil }

// Client returns a client of the environment, for Start, Call, Send, Ask and Result.
func (e *Env) Client() *client.Client { return e.client }

// Now returns the time as workflows, activities and time.Now see it. A test begins at midnight,
// 2000-01-01 UTC.
func (e *Env) Now() time.Time { return time.Now().UTC() }

// Cost counts the units that a store and a queue bill.
type Cost = meter.Cost

// Cost returns the cost so far of all messages and of all requests that write. It leaves out
// queries, histories and waits for results: their reads depend on how long they wait.
func (e *Env) Cost() Cost { return e.meter.Cost() }

// SkipReplay turns off the replays that the test runs by itself: of all histories at its end, and
// for the check of validators and query handlers. Use it to test code that is not deterministic, or
// code that counts its runs in a variable of the test.
func (e *Env) SkipReplay() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.skipReplay = true
	e.process.Service.SkipChecks()
}

// AllowFailedUpdates lets a test expect that an update or a query fails its task:
//
//   - because its handler panics
//   - because a validator or a query handler changes state or breaks another rule
//
// The call returns the error, which is client.ErrNotReady. Without AllowFailedUpdates such a task
// fails the test even if the test has looked at the error. A task that would be retried until other
// code is deployed fails the test in any case.
func (e *Env) AllowFailedUpdates() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.allowFailed = true
}

// SmallPayloads limits payloads to 256 KiB and commits to 380 KiB, as in a deployment without a
// bucket. It fails the test if a request was sent before.
func (e *Env) SmallPayloads() {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.begun {
		e.t.Fatal("weftest: as come: cas come: call SmallPayloads before the first one")
	}
	e.process.Service.Process.Close()
	e.open(codec.Options{})
}

// world has the clock of the bubble, and random numbers from a seed.
type world struct {
	host.Machine
	mu     sync.Mutex
	random *rand.Rand
	// running counts the functions of Guard and Within that have not returned.
	running atomic.Int64
}

// Guard implements host.Host.
func (w *world) Guard(limit time.Duration, fn func()) bool {
	return w.Machine.Guard(limit, w.counted(fn))
}

// Within implements host.Host.
func (w *world) Within(limit time.Duration, fn func()) bool {
	return w.Machine.Within(limit, w.counted(fn))
}

// counted returns a function that calls fn and counts it in running until fn has returned.
func (w *world) counted(fn func()) func() {
	w.running.Add(1)
	return func() {
		defer w.running.Add(-1)
		fn()
	}
}

// ID returns an id from the seed.
func (w *world) ID() (id [16]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range id {
		id[i] = byte(w.random.Uint32())
	}
	return id
}

// Wait waits only for wake if there is one. This process closes wake itself when the awaited thing
// happens. Polling is not needed, and would cost a read each time.
func (w *world) Wait(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if wake != nil {
		d = keep
	}
	return w.Machine.Wait(ctx, d, wake)
}

// newID returns an id for the client, as text.
func (w *world) newID() string {
	id := w.ID()
	return hex.EncodeToString(id[:])
}

// close ends the environment, and runs the checks at the end of the test.
func (e *Env) close() {
	e.t.Helper()
	close(e.quit)
	<-e.done
	e.working.Wait()
	e.troubled() // report what the loop has not reported yet
	e.process.Service.Process.Close()
	e.missing()
	if e.given.Err() == nil {
		e.store.Check()
		e.queue.Check()
		e.replayAll()
	}
	e.fail(nil)
	if e.t.Failed() {
		e.dump()
	}
	e.abandoned()
}

// abandoned lets time pass for code that timed out and still sleeps, because the bubble ends only
// when that code has returned. It reports code that has not returned by then.
func (e *Env) abandoned() {
	e.t.Helper()
	if e.world.running.Load() > 0 {
		time.Sleep(patience)
		synctest.Wait()
	}
	if n := e.world.running.Load(); n > 0 {
		e.t.Errorf("weftest: %d validators, handlers or activities have not returned %v after the end of the test. Its bubble cannot end, and "+
			"testing/synctest will panic, which ends the other tests, too: have them return", n, patience)
	}
}
