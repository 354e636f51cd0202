package sim

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// process is one process of the deployment: its caches and locks die with it.
type process struct {
	number int
	build  int
	*assembly.Process
	settings  settings
	dead      bool
	frozen    time.Time     // until when all of its actors are stopped
	skew      time.Duration // the skew of its clock
	behind    time.Duration // how far its clock is behind in addition
	set       bool          // the skew has been drawn
	deadCalls int           // how many of its next calls fail because it was frozen
	slept     time.Duration // how long it has been frozen in total, including planned time
	live      live
}

// freeze stops all actors of a process until a moment.
func (p *process) freeze(now, until time.Time) {
	from := maxTime(p.frozen, now)
	if until.After(from) {
		p.slept += until.Sub(from)
	}
	p.frozen = until
}

// quiet is the log of processes whose log lines nobody reads.
var quiet = slog.New(slog.DiscardHandler)

// boot starts a process of a build.
func (s *simulation) boot(build int) *process {
	p := &process{number: s.audit.boots, build: build, frozen: s.outages.offUntil, settings: s.rollout.now}
	s.audit.boots++
	ports := &ports{s: s, p: p}
	all := executor.Ports{Log: ports, Attempts: ports, Timers: ports, Lister: ports, Scanner: scanner{ports}, Keys: ports, Rates: ports, Queue: ports, Keeper: ports}
	lossy := lossy{s}
	p.Process = assembly.NewProcess(assembly.Config{
		Ports: lossy.ports(all), Receiver: lossyReceiver{lossy, ports}, Registry: registry(s, build), Host: world{s, p},
		Codec: s.codec(p, ports), Watch: s.events.watchPorts, Options: s.options(p),
		Notifies: true, Receivers: s.audit.receivers, Bus: s.audit.receivers,
	})
	s.witnessed(p)
	s.invoked(p)
	s.processes = append(s.processes, p)
	return p
}

// kill ends a process in the middle of what its actors do, and starts another process of its build.
func (s *simulation) kill(p *process, why string) { s.succeed(p, why, p.build) }

// replace ends a process and starts another of the deployed build.
func (s *simulation) replace(p *process) { s.succeed(p, "deployment", s.build) }

func (s *simulation) succeed(p *process, why string, next int) {
	s.log("process %d dies: %s", p.number, why)
	s.count("a process dies")
	p.dead = true
	running := s.running
	for _, a := range s.actors {
		if a.process == p && a != running {
			s.unwind(a)
		}
	}
	s.running = running
	if running == nil || running.process != p {
		p.Service.Process.Close()
	}
	s.processes = slices.DeleteFunc(s.processes, func(q *process) bool { return q == p })
	s.initialize(s.boot(next))
	if running != nil && running.process == p {
		running.dead = true
		panic(killed{})
	}
	s.sweepEnded()
}

func (s *simulation) anyProcess() *process { return s.processes[s.random.IntN(len(s.processes))] }

// awake returns the processes that can receive messages. A frozen one neither polls a queue nor is
// invoked: SQS keeps its messages, and Lambda invokes another environment ("AWS Lambda Developer
// Guide", execution environment lifecycle: an environment handles one invocation at a time).
func (s *simulation) awake() []*process {
	return slices.DeleteFunc(slices.Clone(s.processes), func(p *process) bool { return s.now.Before(p.frozen) })
}

// receiver returns a process that receives messages.
func (s *simulation) receiver() *process {
	if s.gradual != nil {
		return s.routed()
	}
	able := s.awake()
	return able[s.random.IntN(len(able))]
}

// processOf returns a process of a build, or nil if there is none.
func (s *simulation) processOf(build string) *process {
	i := slices.IndexFunc(s.processes, func(p *process) bool { return buildName(p.build) == build })
	if i < 0 {
		return nil
	}
	return s.processes[i]
}

func buildName(build int) string { return fmt.Sprintf("build-%d", build) }

// buildNumber returns which of the two builds has a name.
func buildNumber(name string) int { return 1 + oneIf(name == buildName(2)) }

// deliverable returns the queues with a visible message.
func (s *simulation) deliverable() (names []string) {
	if s.now.Before(s.outages.offUntil) || s.away(queueAway) || len(s.awake()) == 0 {
		return nil
	}
	for _, name := range allQueues {
		if s.queue.Ready(name) && s.served(name) && !s.starve(name) && !s.waits(name) {
			names = append(names, name)
		}
	}
	return names
}

// allQueues are the queues of the deployment, each followed by that of its dead letters.
var allQueues = func() (names []string) {
	for _, name := range queue.All(taskQueues...) {
		names = append(names, name, queue.DeadLetters(name))
	}
	return names
}()

// deliver gives the visible messages of a queue to a process, in a batch of random size.
func (s *simulation) deliver(name string) {
	if len(s.awake()) == 0 {
		return // a deployment happened meanwhile
	}
	limit := 1 + s.random.IntN(queue.MaxBatch)
	deliveries, err := s.queue.Receive(context.Background(), name, limit)
	if err != nil {
		s.fail("receive: %v", err)
		return
	}
	if s.has(oneAtATime) && !s.calm && s.atWork(name) {
		s.log("%d messages of %s are received, and their function is at work", len(deliveries), name)
		return
	}
	if deliveries = s.arrive(name, deliveries); len(deliveries) == 0 {
		return
	}
	s.keepCopies(name, deliveries)
	if s.gradual != nil && isDead(name) {
		s.becameDead(name, deliveries)
	}
	if s.gradual != nil && !isDead(name) {
		s.invokeLive(name, deliveries)
		return
	}
	if s.has(inBatches) {
		s.invoke(name, deliveries)
		return
	}
	for _, part := range worker.Split(name, deliveries) {
		p := s.receiver()
		if !p.settings.serves(name) {
			continue // the queue's mapping does not exist yet: the messages are redelivered
		}
		p.Open(context.Background(), part) // messages that cannot be opened are redelivered
		p.opens(part)
		s.audit.delivered(name, part)
		first := part[0]
		s.log("process %d gets %d of %s: %s", p.number, len(part), name, s.what(name, first))
		s.spawn(s.name("p%d %s", p.number, s.what(name, first)), p, func() {
			s.running.queue = name
			s.events.received(s.running, part)
			p.Worker.HandOver(context.Background(), name, part) // a panic in a handler is a failure
		}).takes = name
	}
}

// what describes a message for the trace.
func (s *simulation) what(queue string, d queue.Delivery) string {
	if !s.tracing {
		return ""
	}
	m, err := outbox.Decode(d.Body)
	if err != nil {
		return queue
	}
	return s.name("%s of %s event %d attempt %d (received %d)", m.Kind, m.WorkflowID, m.EventID, m.Attempt, d.Received)
}

// sweep lets a process sweep the timers.
func (s *simulation) sweep() {
	times, next := s.fire()
	s.sweepAt = next
	for range times {
		p := s.anyProcess()
		s.spawn(s.name("p%d sweep", p.number), p, func() { _, _ = p.Service.Deliveries.Sweep(context.Background()) })
	}
}

// sleep returns how long a frozen process sleeps, or how long a put is under way: longer than a
// visibility timeout, or longer than the grace of a fence.
func (s *simulation) sleep() time.Duration {
	return []time.Duration{time.Second, 40 * time.Second, 90 * time.Second, 5 * time.Minute}[s.random.IntN(4)]
}
