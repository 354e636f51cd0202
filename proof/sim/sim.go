package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	blobmemory "github.com/seed-41655fb1/weft/blob/memory"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/model"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
)

// simulation is one run of a deployment from one seed.
type simulation struct {
	seed   uint64
	script script // choices that replace those of the seed; nil means none
	// streams are the random choices by name: those of the ports and processes, of the scheduler,
	// and of time; and those of each client and each fault.
	streams              map[string]*draws
	random, picks, ticks *draws
	ids                  *rand.Rand // for ids, which are not choices because they always differ
	faults               []played   // by the fault's number; see faults.go
	// loseBlobs says whether the answers of blobs.Get may be lost. blobsLost counts them. Several
	// calls run in parallel and draw nothing.
	loseBlobs bool
	blobsLost atomic.Int64
	kmsFails  bool // the same for KMS
	now       time.Time
	store     *storememory.Store
	queue     *queuememory.Queue
	blobs     *blobmemory.Blobs
	plan      plan

	processes []*process
	actors    []*actor
	running   *actor
	floating  []*floating // puts that are under way
	torn      torn
	audit     *audit
	events    *events // nil reports to nobody
	// watch sees each event before the model, and may change or withhold it. It may be nil.
	watch       func(model.Event) (model.Event, bool)
	list        *list
	build       int
	sweepAt     time.Time
	drainAt     time.Time
	garbage     garbage
	maintenance maintenance
	outages     outages
	restore     restore
	rollout     rollout
	gradual     *gradual             // nil unless two builds are live behind an alias with weights
	waiters     []*waiter            // those that wait, or have given up
	starving    map[string]time.Time // queues from which nobody receives, each with the time until then
	large       bool                 // some payloads are large, so a reset may be refused as too large
	spinning    bool                 // there is a spinner
	buckets     map[string]*bucket
	hot         map[string]time.Time // workflows whose calls are throttled, each with the time until then; an empty name means the table
	executions  int                  // how many executions have published batches of items
	calm        bool                 // no faults any more: everything has to end
	plain       bool                 // there are no batches

	// hub and logger receive the processes' events and logs. They may be nil.
	hub    *observe.Hub
	logger *slog.Logger

	moves     moves
	lurched   time.Duration // how far time has moved although nobody waited for it
	steps     int
	tracing   bool // keeps a trace, which makes a simulation more expensive
	recording bool // keeps the choices
	trace     []string
	wrong     []string
	counts    map[string]int // what happened, and how often
	limit     int            // the largest number of steps
	kind      string         // the kind of the first failure: the constant part of its message
}

// plan is what a seed decides for the whole simulation.
type plan struct {
	processes    int
	workflows    int
	faults       float64 // the chance of a fault at a step
	cacheEntries int
	slow         float64 // the chance that an actor sleeps at a step
	duplicates   float64
	schedules    int
	deployAfter  int // steps after which the fixed build is deployed
	maintenance  bool
	purgeAfter   int // steps after which a queue is purged; 0 means never
	maxCommit    int // in bytes; if it is small, a reset puts many commits
	pinned       bool
	most         int // the number of several things; small seeds find most failures for their time
	offloadFrom  int // the size in bytes from which on bodies are offloaded; 0 means never
}

// actor is a client, a request, or the handling of a message.
type actor struct {
	name    string
	process *process // nil for a client
	fn      func()
	lane    *lane // nil until it is first entered, and after it has ended
	wait    wait
	dead    bool
	ended   bool
	gone    chan struct{} // closed when it has ended
	did     deeds
	began   int       // the step at which it was spawned
	takes   string    // the queue whose message it is to handle
	queue   string    // the queue whose message it handles; empty if it handles none
	limit   time.Time // when its process is killed if it has not ended; zero means never
	forwarding
	number  uint32 // its number in the events of the model; 0 means none
	checks  bool   // it runs a step of the slow check
	part    []queue.Delivery
	code    *execution    // the code of an activity that it runs, or ran last
	due     time.Time     // its caller's deadline
	excused time.Duration // time beyond the deadline that does not count
}

// deeds are an actor's effects on the store and the queues.
type deeds struct{ landed, lost, lied, sent int }

func (d *deeds) add(more deeds) {
	d.landed, d.lost, d.lied, d.sent = d.landed+more.landed, d.lost+more.lost, d.lied+more.lied, d.sent+more.sent
}

// wait is what an actor waits for: a moment, a channel, or the end of a context.
type wait struct {
	until time.Time
	wake  <-chan struct{}
	ctx   context.Context
}

// killed is the panic value that unwinds an actor whose process has died.
type killed struct{}

// maxSteps is more than any seed needs. A seed that reaches it does not end.
const maxSteps = 100_000

// run simulates a seed. If the seed fails, it is simulated again with a trace.
func run(seed uint64) *simulation {
	s := simulate(seed, false, nil, nil)
	if len(s.wrong) > 0 {
		return simulate(seed, true, nil, nil)
	}
	return s
}

// simulate plays a seed once, with or without a trace. hub and logger receive the processes' events
// and logs.
func simulate(seed uint64, tracing bool, hub *observe.Hub, logger *slog.Logger) *simulation {
	s := &simulation{seed: seed, hub: hub, logger: logger, tracing: tracing}
	s.perform()
	return s
}

// perform plays a simulation that has only its seed, and perhaps a script.
func (s *simulation) perform() {
	s.begin()
	s.plan = s.draft(s.stream("plan"))
	s.planGradual()
	clock := func() time.Time { return s.now }
	s.blobs = blobmemory.New(clock)
	violation := func(format string, args ...any) { s.fail("contract broken: "+format, args...) }
	s.store = storememory.New(storememory.Options{Clock: clock, Violation: violation, Encoded: isEncoded})
	s.queue = queuememory.New(queue.Standard(taskQueues...), queuememory.Options{Clock: clock, Violation: violation})
	s.audit, s.list, s.events = newAudit(s), newList(s), newEvents(s)
	s.planOutages()
	s.planMoves()
	s.planSettings()
	s.planRestore()
	s.loseBlobs, s.kmsFails = s.has(lostAnswers["blobs.Get"]), s.has(kmsFails)
	s.sweepAt, s.maintenance.at = s.now.Add(outbox.SweepEvery), s.now.Add(checkEvery)
	for i := range s.plan.processes {
		s.boot(s.firstBuild(i))
	}
	s.leaveRecords()
	s.startClients()
	s.startOperators()
	s.startByHand()
	s.startPauses()
	s.startLetters()
	s.startGarbage()
	s.startOpeners()
	s.startLatecomers()
	s.startImpatient()
	s.startWaiters()
	s.startLarge()
	s.startSpinner()
	s.startSchedules()
	s.startBatches()
	if s.has(indexLags) {
		s.spawn("reader of the list", nil, s.readList)
	}
	s.loop()
	s.play(lostAnswers["blobs.Get"]).count += int(s.blobsLost.Load())
	s.play(kmsFails).count += int(s.rollout.kmsFailed.Load())
	s.end()
}

// begin creates the streams that every simulation has.
func (s *simulation) begin() {
	s.now, s.build = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), 1
	s.counts, s.limit = map[string]int{}, cmp.Or(s.limit, maxSteps)
	s.random, s.picks, s.ticks = s.stream("ports"), s.stream("picks"), s.stream("ticks")
	s.ids = rand.New(rand.NewPCG(s.seed, 0x1d5))
}

// draft draws the plan of a seed. Three in four are small. A small simulation costs a tenth of a
// large one, and one or two workflows with a handful of requests show most mistakes.
func (s *simulation) draft(r *draws) plan {
	p := plan{most: 1}
	if r.oneIn(4) {
		p.most = 3
	}
	p.processes, p.workflows = 1+r.IntN(3), 1+r.IntN(p.most)
	p.faults, p.cacheEntries = []float64{0, 0.005, 0.02, 0.05}[r.IntN(4)], []int{1000, 1, -1}[r.IntN(3)]
	p.slow, p.duplicates = []float64{0, 0.01, 0.03}[r.IntN(3)], []float64{0, 0.05, 0.2}[r.IntN(3)]
	p.deployAfter, p.maintenance = 50+r.IntN(500*p.most), r.oneIn(2)
	if p.maintenance && r.oneIn(4) {
		p.purgeAfter = 1 + r.IntN(1000*p.most)
	}
	p.maxCommit, p.pinned, p.offloadFrom = []int{0, 0, 4 << 10}[r.IntN(3)], r.oneIn(4), []int{0, 0, 300, 1000}[r.IntN(4)]
	// Schedules run for hours, and cost as much as everything else.
	if p.schedules = max(0, r.IntN(3+p.most)-2); p.schedules > 0 && r.oneIn(2) {
		p.workflows = 0
	}
	return p
}

// fail records a violation. The simulation continues to the end of the step.
func (s *simulation) fail(format string, args ...any) {
	if s.kind == "" {
		s.kind = format
	}
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// count counts something that happens: a message, or a fault without a name of its own.
func (s *simulation) count(what string) { s.counts[what]++ }

// log adds a line to the trace that a failure prints.
func (s *simulation) log(format string, args ...any) {
	if !s.tracing {
		return
	}
	who := "-"
	if s.running != nil {
		who = s.running.name
	}
	s.trace = append(s.trace, fmt.Sprintf("%6d %s %-28s %s", s.steps, s.now.Format("15:04:05.000"), who, fmt.Sprintf(format, args...)))
}

// name returns the name of an actor in the trace, or "" without a trace.
func (s *simulation) name(format string, args ...any) string {
	if !s.tracing {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// pause leaves the running actor until its wait has ended and the scheduler picks it.
func (s *simulation) pause(w wait) {
	a := s.running
	if a.dead {
		panic(killed{})
	}
	a.wait = w
	a.lane.leave()
	if a.dead {
		panic(killed{})
	}
}

// ready reports whether an actor can continue.
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
	for s.steps = 0; s.steps < s.limit && len(s.wrong) == 0; s.steps++ {
		if !s.step() && !s.jump() {
			if !s.calm {
				s.calmDown()
			} else if !s.round() {
				return
			}
		}
	}
	if s.steps >= s.limit {
		s.fail("it does not come to an end")
	}
}

// step lets one thing happen that is possible now. It returns false if nothing is.
func (s *simulation) step() bool {
	s.purge()
	s.expire()
	s.beginOutages()
	s.moveClocks()
	s.backUp()
	s.redeploy()
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
	s.now = s.now.Add(time.Duration(s.ticks.IntN(3000)) * time.Microsecond)
	s.deploy()
	pick := s.picks.IntN(choices)
	switch {
	case pick < len(able):
		s.resume(able[pick])
	case len(s.floating) > 0 && pick == choices-1:
		s.land()
	default:
		s.deliver(deliverable[s.picks.IntN(len(deliverable))])
	}
	return true
}

// resume enters an actor until it pauses or ends.
func (s *simulation) resume(a *actor) {
	if a.ended {
		return
	}
	if s.outOfTime(a) {
		return
	}
	s.last(a)
	s.running = a
	s.enter(a)
	s.running = nil
	if a.dead && a.process != nil {
		a.process.Service.Process.Close() // the actor that ran when the process died has been unwound
	}
	s.sweepEnded()
}

// last moves an actor behind the others. The first actor that can continue has waited longest.
func (s *simulation) last(a *actor) {
	i := slices.Index(s.actors, a)
	copy(s.actors[i:], s.actors[i+1:])
	s.actors[len(s.actors)-1] = a
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

// jump moves the clock to the next thing that is due. It returns false if nothing is.
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
	for _, until := range s.starving { // messages that are visible by then are received
		consider(until)
	}
	for _, o := range s.outages.planned {
		consider(o.until)
	}
	if at, ok := s.queue.Next(); ok {
		consider(at)
	}
	if due, kept := s.timersKept(); kept {
		// Sweeps without due timers are left out, except for a few before the first timer.
		at := maxTime(s.sweepAt, due.Add(-4*outbox.SweepEvery))
		if !s.now.Before(at) {
			s.sweep()
			return true
		}
		consider(at)
	}
	if next.IsZero() {
		return false
	}
	if s.plan.maintenance && s.maintenance.at.Before(next) {
		s.now = maxTime(s.now, s.maintenance.at)
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

// timersKept returns when the store's first timer is due, if there is one.
func (s *simulation) timersKept() (due time.Time, kept bool) {
	timers, err := s.store.DueTimers(context.Background(), s.now.Add(1000*time.Hour), 1)
	if err != nil || len(timers) == 0 {
		return time.Time{}, false
	}
	return timers[0].Due, true
}

// calmDown ends the faults. Everything that is open now has to end.
func (s *simulation) calmDown() {
	s.calm = true
	s.build = s.lastBuild()
	s.settle()
	for range s.plan.processes {
		s.replace(s.processes[0]) // every process is replaced by one of the fixed build
	}
	if s.plan.pinned {
		s.drain()
	}
	s.resumeAll()
	s.resetYoung()
	s.finishWorkflows()
}

// deploy replaces the processes, one by one, by processes of the fixed build. If runs are pinned
// and there are several processes, the last one stays.
func (s *simulation) deploy() {
	if s.gradual != nil {
		s.shift()
		return
	}
	if s.build == 1 && s.steps > s.plan.deployAfter {
		s.build, s.drainAt = 2, s.now.Add(time.Hour)
		s.log("build 2 is deployed")
		n := s.plan.processes
		if s.plan.pinned && n > 1 {
			n--
		}
		for range n {
			s.replace(s.processes[0])
		}
	}
	if s.plan.pinned && !s.calm && s.build == 2 && !s.now.Before(maxTime(s.drainAt, s.outages.offUntil)) {
		s.drainAt = s.now.Add(3 * time.Hour)
		s.drain()
	}
}

// drain moves all runs to the fixed build, because a run that waits for a build without processes
// would wait for ever. It runs often, because the audit reports a message that is a day late.
func (s *simulation) drain() {
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		s.spawn(s.name("operator %s", id), nil, func() { s.move(id, schema.MoveRequest{Build: "build-2"}) })
	}
}

// report returns what a failure prints.
func (s *simulation) report() string {
	tail := s.trace
	if len(tail) > 400 {
		tail = tail[len(tail)-400:]
	}
	return fmt.Sprintf("the end of its trace:\n%s\nplan %+v\nfaults: %s\nseed %d: %s", strings.Join(tail, "\n"), s.plan, s.happened(), s.seed, strings.Join(s.wrong, "\n  "))
}
