package sim

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// simulation is one run of a deployment from one seed.
type simulation struct {
	seed   uint64
	random *rand.Rand
	locals *rand.Rand // says which ledgers have local activities
	now    time.Time
	store  *storememory.Store
	queue  *queuememory.Queue
	blobs  *blobmemory.Blobs
	plan   plan

	processes []*process
	actors    []*actor
	running   *actor
	floating  []*floating // puts that are still on their way
	audit     *audit
	build     int
	sweepAt   time.Time
	upkeep    upkeep
	calm      bool // no more faults: everything has to come to an end

	// hub and logger are told what the processes have to tell; nil is nobody.
	hub    *observe.Hub
	logger *slog.Logger

	steps int
	trace []string
	wrong []string
}

// plan is what a seed decides about a whole simulation.
type plan struct {
	processes    int
	workflows    int
	faults       float64 // the chance of a fault at a step
	cacheEntries int
	slow         float64 // the chance that an actor sleeps at a step
	duplicates   float64
	deployAfter  int // steps after which the mended build is deployed
	upkeep       bool
	purgeAfter   int // steps after which a queue is purged; 0 is never
	maxCommit    int // bytes; where there are few, a reset puts many commits
	pinned       bool
	apartFrom    int // bytes from which on bodies are kept apart; 0 is never
}

// actor is a client, a request, or the handling of a message.
type actor struct {
	name    string
	process *process // nil for a client
	next    func() (struct{}, bool)
	stop    func()
	yield   func(struct{}) bool
	wait    wait
	dead    bool
	ended   bool
	gone    chan struct{} // closed when it has ended
	did     deeds
	queue   string // whose message it handles; empty for what handles none
}

// deeds are what an actor did to the store and the queues.
type deeds struct{ landed, lost, lied, sent int }

// wait is what an actor waits for: a moment, a channel, or the end of a context.
type wait struct {
	until time.Time
	wake  <-chan struct{}
	ctx   context.Context
}

// killed is what an actor panics with that is unwound after its process has died.
type killed struct{}

const maxSteps = 400_000

// run simulates a seed and returns what was wrong, nothing if all held.
func run(seed uint64) *simulation { return runTold(seed, nil, nil) }

// runTold is run, with what the processes tell of their work.
func runTold(seed uint64, hub *observe.Hub, logger *slog.Logger) *simulation {
	s := &simulation{
		hub: hub, logger: logger, seed: seed, random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15)),
		now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), build: 1,
	}
	s.plan = plan{
		processes: 1 + s.random.IntN(3), workflows: 1 + s.random.IntN(3),
		faults: []float64{0, 0.005, 0.02, 0.05}[s.random.IntN(4)], cacheEntries: []int{-1, 1, 1000}[s.random.IntN(3)],
		slow: []float64{0, 0.01, 0.03}[s.random.IntN(3)], duplicates: []float64{0, 0.05, 0.2}[s.random.IntN(3)],
		deployAfter: 200 + s.random.IntN(2000), upkeep: s.random.IntN(2) == 0,
	}
	if s.plan.upkeep && s.random.IntN(4) == 0 {
		s.plan.purgeAfter = 1 + s.random.IntN(3000)
	}
	s.plan.maxCommit = []int{0, 0, 4 << 10}[s.random.IntN(3)]
	s.locals = rand.New(rand.NewPCG(seed, 0x10ca1))
	s.plan.pinned = rand.New(rand.NewPCG(seed, 0xb111d)).IntN(4) == 0
	s.plan.apartFrom = []int{0, 0, 300, 1000}[rand.New(rand.NewPCG(seed, 0xb10b5)).IntN(4)]
	clock := func() time.Time { return s.now }
	s.blobs = blobmemory.New(clock)
	violation := func(format string, args ...any) { s.fail("contract broken: "+format, args...) }
	s.store = storememory.New(storememory.Options{Clock: clock, Violation: violation})
	s.queue = queuememory.New(queue.Standard(taskQueues...), queuememory.Options{Clock: clock, Violation: violation})
	s.audit = newAudit(s)
	s.sweepAt, s.upkeep.at = s.now.Add(turn.SweepEvery), s.now.Add(checkEvery)
	for range s.plan.processes {
		s.boot(s.build)
	}
	s.startClients()
	s.startSchedules()
	s.loop()
	s.end()
	return s
}

// fail notes a violation. The simulation goes on to the end of the step.
func (s *simulation) fail(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// log adds a line to the trace that a failure prints.
func (s *simulation) log(format string, args ...any) {
	who := "-"
	if s.running != nil {
		who = s.running.name
	}
	s.trace = append(s.trace, fmt.Sprintf("%6d %s %-28s %s", s.steps, s.now.Format("15:04:05.000"), who, fmt.Sprintf(format, args...)))
}

// spawn adds an actor that runs fn.
func (s *simulation) spawn(name string, p *process, fn func()) *actor {
	a := &actor{name: name, process: p, gone: make(chan struct{})}
	a.next, a.stop = coro.Pull(func(yield func(struct{}) bool) {
		a.yield = yield
		defer func() {
			a.end()
			if value := recover(); value != nil {
				if _, unwound := value.(killed); !unwound {
					s.fail("%s panicked: %v", name, value)
				}
			}
		}()
		fn()
	})
	s.actors = append(s.actors, a)
	return a
}

// end marks an actor as ended.
func (a *actor) end() {
	if !a.ended {
		a.ended = true
		close(a.gone)
	}
}

// pause leaves the running actor until what it waits for has come and the scheduler picks it.
func (s *simulation) pause(w wait) {
	a := s.running
	if a.dead {
		panic(killed{})
	}
	a.wait = w
	if !a.yield(struct{}{}) {
		panic(killed{})
	}
}

// ready reports whether an actor can go on.
func (s *simulation) ready(a *actor) bool {
	if a.process != nil && s.now.Before(a.process.frozen) {
		return false
	}
	if a.wait.ctx != nil && a.wait.ctx.Err() != nil {
		return true
	}
	if a.wait.wake != nil {
		select {
		case <-a.wait.wake:
			return true
		default:
		}
	}
	return !s.now.Before(a.wait.until)
}

// loop runs the simulation until nothing more can happen.
func (s *simulation) loop() {
	for s.steps = 0; s.steps < maxSteps && len(s.wrong) == 0; s.steps++ {
		if !s.step() && !s.jump() {
			if !s.calm {
				s.calmDown()
			} else if !s.round() {
				return
			}
		}
	}
	if s.steps >= maxSteps {
		s.fail("it does not come to an end")
	}
}

// step lets one thing happen that can happen now.
func (s *simulation) step() bool {
	s.purge()
	var able []*actor
	for _, a := range s.actors {
		if s.ready(a) {
			able = append(able, a)
		}
	}
	choices := len(able)
	deliverable := s.deliverable()
	if len(deliverable) > 0 && len(s.actors) < 40 {
		choices++
	}
	if len(s.floating) > 0 {
		choices++
	}
	if choices == 0 {
		return false
	}
	s.now = s.now.Add(time.Duration(s.random.IntN(3000)) * time.Microsecond)
	s.deploy()
	pick := s.random.IntN(choices)
	switch {
	case pick < len(able):
		s.resume(able[pick])
	case len(s.floating) > 0 && pick == choices-1:
		s.land()
	default:
		s.deliver(deliverable[s.random.IntN(len(deliverable))])
	}
	return true
}

// resume enters an actor until it pauses or ends.
func (s *simulation) resume(a *actor) {
	if a.ended {
		return
	}
	s.running = a
	a.next()
	s.running = nil
	if a.dead && a.process != nil {
		a.process.service.Close() // the actor in whose hands it died has been unwound
	}
	s.sweepEnded()
}

func (s *simulation) sweepEnded() {
	kept := s.actors[:0]
	for _, a := range s.actors {
		if !a.ended && !a.dead {
			kept = append(kept, a)
		}
	}
	s.actors = kept
}

// jump moves the clock to the next thing that is due; false where there is none.
func (s *simulation) jump() bool {
	var next time.Time
	consider := func(t time.Time) {
		if t.After(s.now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, p := range s.processes {
		consider(p.frozen)
	}
	for _, a := range s.actors {
		consider(a.wait.until)
		if a.wait.ctx != nil {
			if d, ok := a.wait.ctx.Deadline(); ok {
				consider(d)
			}
		}
	}
	if at, ok := s.queue.Next(); ok {
		consider(at)
	}
	if s.timersKept() {
		if !s.now.Before(s.sweepAt) {
			s.sweep()
			return true
		}
		consider(s.sweepAt)
	}
	if next.IsZero() {
		return false
	}
	if s.plan.upkeep && s.upkeep.at.Before(next) {
		s.now = maxTime(s.now, s.upkeep.at)
		s.queue.Tick()
		s.check()
		return true
	}
	s.now = next
	s.queue.Tick()
	return true
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (s *simulation) timersKept() bool {
	due, err := s.store.DueTimers(context.Background(), s.now.Add(1000*time.Hour), 1)
	return err == nil && len(due) > 0
}

// calmDown ends the faults: what is open now has to come to its end.
func (s *simulation) calmDown() {
	s.calm = true
	s.build = 2
	for range s.plan.processes {
		s.replace(s.processes[0]) // every process is replaced by one of the mended build
	}
	s.finishWorkflows()
}

// deploy replaces the processes, one by one, by such of the mended build. Where runs are pinned the last one stays, if there are
// several.
func (s *simulation) deploy() {
	if s.build == 1 && s.steps > s.plan.deployAfter {
		s.build = 2
		s.log("build 2 is deployed")
		n := s.plan.processes
		if s.plan.pinned && n > 1 {
			n--
		}
		for range n {
			s.replace(s.processes[0])
		}
	}
	if drains := 1_000; s.plan.pinned && !s.calm && s.build == 2 && (s.steps-s.plan.deployAfter)%drains == drains-1 {
		s.drain()
	}
}

// drain moves all runs to the mended build: what waits for a build that is gone would wait for ever. It comes often: a message
// that waits takes some 6,000 steps to be late by a day, and is complained about then.
func (s *simulation) drain() {
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		s.spawn("operator "+id, nil, func() { s.move(id, api.MoveRequest{Build: "build-2"}) })
	}
}

// report is what a failure prints.
func (s *simulation) report() string {
	tail := s.trace
	if len(tail) > 400 {
		tail = tail[len(tail)-400:]
	}
	return fmt.Sprintf("the end of its trace:\n%s\nplan %+v\nseed %d: %s", strings.Join(tail, "\n"), s.plan, s.seed, strings.Join(s.wrong, "\n  "))
}
