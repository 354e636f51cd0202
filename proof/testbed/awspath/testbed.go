package awspath

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
)

// Testbed is a testbed on the AWS path. Its methods implement testbed.Testbed.
type Testbed struct {
	t         testing.TB
	clock     *Clock
	store     Store
	queue     *queuememory.Queue
	timers    *timers
	options   executor.Options
	processes map[int]*process
	versions  map[string]*process // earlier processes that stay, by their builds; nil if none stays
	gateway   func(functions lambdahost.Invoker, function string) http.Handler
	forwarded int
	told      meter.Cost // the costs that Delivered has returned
	warnings  testbed.Warnings
	log       slog.Handler // receives all log records
}

// Ears observe what happens in testbeds.
type Ears struct {
	// Observe receives the services' events, and Log all log records. Both may be nil.
	Observe *observe.Hub
	Log     slog.Handler
}

// Testbeds returns a function that creates the testbeds of a script. They share a clock, and each
// has a store of its own. Requests arrive through an HTTP API, or with the argument gateway=rest
// through a REST API. With the argument versions, the functions pass events on to earlier versions.
// ears has at most one element.
func Testbeds(open func(t testing.TB, clock func() time.Time) Store, ears ...Ears) func(testing.TB, testbed.Args) testbed.Testbed {
	var clock *Clock
	return func(t testing.TB, args testbed.Args) testbed.Testbed {
		if clock == nil {
			clock = NewClock(t.Name())
		}
		settings := queue.Standard(testbed.TaskQueues...)
		for name, q := range settings {
			if _, attempts := queue.IsForTasks(name); attempts {
				q.Visibility = activityVisibility
				settings[name] = q
			}
		}
		violation := func(format string, args ...any) { t.Errorf("contract broken: "+format, args...) }
		s := &Testbed{
			t: t, clock: clock, store: open(t, clock.Now), processes: map[int]*process{},
			queue: queuememory.New(settings, queuememory.Options{Clock: clock.Now, Violation: violation}),
		}
		s.timers = newTimers(s.store.Ports.Timers)
		s.store.Ports.Timers = s.timers
		t.Cleanup(s.queue.Check)
		s.options = testbed.OptionsOf(args)
		if _, stay := args["versions"]; stay {
			s.versions = map[string]*process{}
		}
		s.gateway = lambdahost.Gateway
		if args["gateway"] == "rest" {
			s.gateway = lambdahost.RESTGateway
		}
		s.log = slog.DiscardHandler
		if len(ears) > 0 {
			s.options.Observe, s.log = ears[0].Observe, cmp.Or(ears[0].Log, s.log)
		}
		clock.source = s
		s.Deploy(1, "build-1")
		s.Deploy(2, "build-1")
		return s
	}
}

// Deploy replaces a process by a new one with a build, after the old one has finished its work. In
// a testbed with versions the old process stays, as the version of its build.
func (s *Testbed) Deploy(process int, build string) {
	if before := s.processes[process]; s.versions != nil && before != nil {
		s.stop(s.versions[before.build])
		s.versions[before.build] = before
	} else {
		s.stop(before)
	}
	if process == 1 {
		s.told = meter.Cost{}
	}
	s.processes[process] = s.boot(build)
	s.clock.Settle()
}

func (s *Testbed) stop(p *process) {
	if p == nil {
		return
	}
	p.stopped = true
	s.clock.drive(func() bool { return p.busy == 0 }, time.Time{})
	s.clock.Await(s.clock.Go(p.process.Service.Process.Close))
}

// pending is a request that is being answered. If its answer is nil, the process died.
type pending struct {
	answer *testbed.Answer
	done   <-chan struct{}
}

func (s *Testbed) send(process int, r testbed.Request) *pending {
	p, handler := &pending{}, apitest.Handler(s.t, s.processes[process])
	p.done = s.clock.Go(func() {
		request := httptest.NewRequestWithContext(s.t.Context(), r.Method, r.Target, strings.NewReader(r.Body))
		p.answer = testbed.Ask(s.t, handler, request)
	})
	return p
}

// Send lets a process answer a request while other things happen.
func (s *Testbed) Send(process int, r testbed.Request) (wait func() *testbed.Answer) {
	p := s.send(process, r)
	s.clock.Settle()
	return func() *testbed.Answer {
		s.clock.Await(p.done)
		s.clock.Settle()
		return p.answer
	}
}

// Do lets a process answer a request.
func (s *Testbed) Do(process int, r testbed.Request) *testbed.Answer {
	p := s.send(process, r)
	s.clock.Await(p.done)
	s.clock.Settle()
	return p.answer
}

// Handler returns a process's handler.
func (s *Testbed) Handler(process int) http.Handler { return s.processes[process] }

// Run calls fn on a goroutine that may wait for the clock, and returns when fn has ended.
func (s *Testbed) Run(fn func()) { s.clock.Await(s.clock.Go(fn)) }

// World returns the clock.
func (s *Testbed) World() host.Host { return s.clock }

// Together lets a process answer requests at the same time.
func (s *Testbed) Together(process int, requests []testbed.Request) (answers []*testbed.Answer) {
	op := testbed.OnPut
	if requests[0].Method == http.MethodGet {
		op = testbed.OnRead
	}
	held, release := make(chan struct{}), make(chan struct{})
	s.Hook(process, op, false, func(do func() error) error {
		close(held)
		s.clock.Await(release)
		return do()
	})
	all := []*pending{s.send(process, requests[0])}
	s.clock.Await(held)
	for _, r := range requests[1:] {
		all = append(all, s.send(process, r))
		s.clock.Settle()
	}
	close(release)
	for _, p := range all {
		s.clock.Await(p.done)
		answers = append(answers, p.answer)
	}
	s.clock.Settle()
	return answers
}

// Hook sets a hook of a process.
func (s *Testbed) Hook(process int, op testbed.Op, always bool, hook testbed.Hook) {
	if always {
		s.processes[process].hooks.Always(op, hook)
	} else {
		s.processes[process].hooks.Next(op, hook)
	}
}

// Sleep lets time pass.
func (s *Testbed) Sleep(d time.Duration) { s.clock.Sleep(d) }

// Delivered returns the cost of the events that were not requests since the last call, without
// reads.
func (s *Testbed) Delivered() meter.Cost {
	before := s.told
	s.told = s.processes[1].delivered.Cost()
	return meter.Cost{
		Writes: s.told.Writes - before.Writes, Lost: s.told.Lost - before.Lost, Messages: s.told.Messages - before.Messages,
	}
}

// Warnings returns what the processes have reported to operators.
func (s *Testbed) Warnings() string { return s.warnings.Take() }

// Snapshot returns everything that is in the store and the queues.
func (s *Testbed) Snapshot() string {
	s.t.Helper()
	stored, err := s.store.Dump(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range mappings {
		stored += fmt.Sprintln(m.queue, s.queue.Len(m.queue))
	}
	return stored
}

// Now returns the time.
func (s *Testbed) Now() time.Time { return s.clock.Now() }

// Close checks that all runs replay, and moves the clock to the next hour, as the bubble does.
func (s *Testbed) Close() {
	s.checkReplay()
	for _, p := range s.processes {
		s.stop(p)
	}
	for _, p := range s.versions {
		s.stop(p)
	}
	s.clock.Sleep(s.Now().Truncate(time.Hour).Add(time.Hour).Sub(s.Now()))
}

// checkReplay replays all runs with the code of process 1.
func (s *Testbed) checkReplay() {
	s.t.Helper()
	ids, err := s.store.Workflows(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	p := s.processes[1]
	for _, id := range ids {
		items, err := testbed.Items(s.t.Context(), s.store.Ports.Log, id)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, run := range testbed.RunsOf(s.t, id, items) {
			testbed.CheckRun(s.t, p.registry, p.build, run)
		}
	}
}
