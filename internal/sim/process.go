package sim

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/pump"
	"github.com/seed-41655fb1/weft/internal/seal"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
)

// process is one process of the deployment: its caches and gates die with it.
type process struct {
	number  int
	build   int
	service *turn.Service
	sealer  *seal.Sealer
	pump    *pump.Pump
	dead    bool
	frozen  time.Time // until when none of its actors goes on
}

// quiet is the log of processes that nobody listens to.
var quiet = slog.New(slog.DiscardHandler)

// boot starts a process of a build.
func (s *simulation) boot(build int) *process {
	p := &process{number: s.audit.boots, build: build}
	s.audit.boots++
	ports := &ports{s: s, p: p}
	p.sealer = s.sealer(ports)
	all := turn.Ports{Log: ports, Attempts: ports, Timers: ports, Lister: s.store, Scanner: scanner{ports}, Keys: ports, Rates: ports, Queue: ports}
	p.service = turn.New(p.sealer.Ports(all), registry(s, build), world{s}, s.options(build))
	p.pump = &pump.Pump{Service: p.service, Receiver: ports, World: world{s}, Log: cmp.Or(s.logger, quiet)}
	s.processes = append(s.processes, p)
	return p
}

// kill ends a process in the middle of whatever its actors are doing, and starts another of its build in its place.
func (s *simulation) kill(p *process, why string) { s.succeed(p, why, p.build) }

// replace does the same, with the build that is deployed.
func (s *simulation) replace(p *process) { s.succeed(p, "deployment", s.build) }

func (s *simulation) succeed(p *process, why string, next int) {
	s.log("process %d dies: %s", p.number, why)
	p.dead = true
	running := s.running
	for _, a := range s.actors {
		if a.process == p && a != running {
			s.unwind(a)
		}
	}
	s.running = running
	if running == nil || running.process != p {
		p.service.Close()
	}
	s.processes = slices.DeleteFunc(s.processes, func(q *process) bool { return q == p })
	s.boot(next)
	if running != nil && running.process == p {
		running.dead = true
		panic(killed{})
	}
	s.sweepEnded()
}

// unwind ends an actor whose process has died: its deferred functions run, and nothing they do has any effect.
func (s *simulation) unwind(a *actor) {
	a.dead = true
	s.running = a
	a.stop()
	a.end()
}

func (s *simulation) anyProcess() *process { return s.processes[s.random.IntN(len(s.processes))] }

// processOf is a process of a build, by its name; nil where there is none.
func (s *simulation) processOf(build string) *process {
	i := slices.IndexFunc(s.processes, func(p *process) bool { return buildName(p.build) == build })
	if i < 0 {
		return nil
	}
	return s.processes[i]
}

func buildName(build int) string { return fmt.Sprintf("build-%d", build) }

// deliverable are the queues that have a message that is visible.
func (s *simulation) deliverable() (names []string) {
	for _, name := range queue.All(taskQueues...) {
		for _, q := range []string{name, queue.DeadLetters(name)} {
			if s.queue.Ready(q) {
				names = append(names, q)
			}
		}
	}
	return names
}

// deliver hands what is visible in a queue to a process, as a batch of random size.
func (s *simulation) deliver(name string) {
	limit := 1 + s.random.IntN(queue.MaxBatch)
	deliveries, err := s.queue.Receive(context.Background(), name, limit)
	if err != nil {
		s.fail("receive: %v", err)
		return
	}
	s.processes[0].sealer.Deliveries(context.Background(), deliveries) // what it cannot open comes again
	for _, part := range pump.Split(name, deliveries) {
		p := s.anyProcess()
		first := part[0]
		what := name
		if m, err := turn.DecodeMessage(first.Body); err == nil {
			what = fmt.Sprintf("%s of %s event %d attempt %d (received %d)", m.Kind, m.WorkflowID, m.EventID, m.Attempt, first.Received)
		}
		s.log("process %d gets %d of %s: %s", p.number, len(part), name, what)
		s.spawn(fmt.Sprintf("p%d %s", p.number, what), p, func() {
			s.running.queue = name
			p.pump.Deliver(context.Background(), name, part)
		})
	}
}

// sweep has a process sweep the timers.
func (s *simulation) sweep() {
	s.sweepAt = s.now.Add(turn.SweepEvery)
	p := s.anyProcess()
	s.spawn(fmt.Sprintf("p%d sweep", p.number), p, func() { _, _ = p.service.Sweep(context.Background()) })
}

// sleep is how long a process sleeps that is frozen, or a put is on its way: longer than a visibility time-out, or than the
// grace of a fence.
func (s *simulation) sleep() time.Duration {
	return []time.Duration{time.Second, 40 * time.Second, 90 * time.Second, 5 * time.Minute}[s.random.IntN(4)]
}
