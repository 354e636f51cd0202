package sim

import (
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// These faults are what Lambda does to functions, and SQS to their messages.
var (
	inBatches = newFault("lambda: a batch of messages is one invocation",
		"AWS Lambda Developer Guide, using Lambda with Amazon SQS: an event source mapping invokes the function with a batch; with ReportBatchItemFailures "+
			"it deletes the messages that the answer does not list, and without an answer none of them.", 0.3, 1)
	batchAnswerLost = newFault("lambda: the answer of a batch is lost",
		"AWS Lambda Developer Guide, error handling for an SQS event source: an invocation that fails, is throttled or times out leaves all messages of "+
			"its batch, those handled too, to become visible again.", 0.2, 0.1)
	timeLimit = newFault("lambda: a function runs out of its time",
		"AWS Lambda Developer Guide, execution environment lifecycle: when a function times out, Lambda kills its process (SIGKILL) and resets the "+
			"environment; nothing of it runs to its end.", 0.2, 1)
	deadConnections = newFault("lambda: connections are dead after a thaw",
		"AWS Lambda Developer Guide, execution environment lifecycle: an environment is frozen between invocations. Best practices: idle "+
			"connections are purged over time, and using one afterwards is an error.", 0.3, 0.7)
	initFails = newFault("lambda: the init phase fails",
		"AWS Lambda Developer Guide, execution environment lifecycle: a function whose init fails or takes more than 10 seconds is initialized "+
			"again with the next invocation; until that succeeds it handles nothing.", 0.1, 0.1)
	starved = newFault("lambda: no concurrency for a queue",
		"AWS Lambda Developer Guide, Lambda function scaling: when all concurrency is in use, further invocations are throttled. Maximum concurrency of "+
			"an event source: messages stay in the queue meanwhile.", 0.15, 0.0005)
	oneAtATime = newFault("lambda: a function has a concurrency of one",
		"AWS Lambda Developer Guide, reserved concurrency: a function with a reserved concurrency of 1 handles one invocation at a time. What an event source "+
			"mapping has received meanwhile is throttled, and is redelivered after the visibility timeout; the receive counts.", 0.1, 0.2)
	deletedAgain = newFault("sqs: a deleted message is delivered again",
		"Amazon SQS Developer Guide, standard queues, at-least-once delivery: a server that is unavailable when a message is received or deleted keeps its "+
			"copy, which may be delivered later.", 0.25, 0.03)
)

// invoke lets a process handle a batch of messages in one invocation.
func (s *simulation) invoke(name string, deliveries []queue.Delivery) {
	s.happens(inBatches)
	p, r := s.receiver(), s.of(inBatches)
	if !p.settings.serves(name) {
		return // the queue's mapping does not exist yet: the messages are redelivered
	}
	limit := []time.Duration{70 * time.Second, 100 * time.Second, 15 * time.Minute}[r.IntN(3)]
	p.Open(context.Background(), deliveries) // messages that cannot be opened are redelivered
	p.opens(deliveries)
	s.audit.delivered(name, deliveries)
	s.log("process %d gets %d of %s in one batch: %s", p.number, len(deliveries), name, s.what(name, deliveries[0]))
	end := s.now.Add(limit)
	const reserve = 5 * time.Second
	ctx, cancel := world{s, p}.WithTimeout(context.Background(), limit-reserve)
	h := p.Handler()
	h.Extend, h.Deadline, h.Longest = p.Worker.Receiver.Extend, s.clock(p).Add(limit), s.longest(p, limit-reserve)
	handle, parts := h.For(name), worker.Split(name, deliveries)
	var done []string
	left := len(parts)
	for _, part := range parts {
		a := s.spawn(s.name("p%d %s", p.number, s.what(name, part[0])), p, func() {
			s.running.queue = name
			done = append(done, handle(ctx, part)...)
			if left--; left > 0 {
				return
			}
			cancel()
			if s.hits(batchAnswerLost) {
				s.log("the answer of the batch is lost")
				return
			}
			s.must(s.queue.Delete(context.Background(), name, done...))
		})
		a.takes = name
		if s.has(timeLimit) {
			a.limit = end
		}
	}
}

// outOfTime kills the process of an actor whose time has passed.
func (s *simulation) outOfTime(a *actor) bool {
	if a.limit.IsZero() || s.now.Before(a.limit) || s.calm {
		return false
	}
	s.happens(timeLimit)
	s.kill(a.process, "its time is over")
	return true
}

// initialize lets a new process begin its work, now or when its init succeeds.
func (s *simulation) initialize(p *process) {
	if !s.hits(initFails) {
		return
	}
	length := []time.Duration{time.Second, 20 * time.Second, 3 * time.Minute}[s.of(initFails).IntN(3)]
	s.log("process %d does not begin for %v", p.number, length)
	s.outages.excuse += length
	p.freeze(s.now, maxTime(p.frozen, s.now.Add(length)))
}

// thawed makes the first calls of a process that was frozen fail.
func (s *simulation) thawed(p *process) {
	if s.hits(deadConnections) {
		p.deadCalls = 1 + s.of(deadConnections).IntN(3)
	}
}

// disconnected reports whether a call of the running actor fails because its process was frozen.
func (s *simulation) disconnected() bool {
	if s.running == nil || s.running.process == nil || s.running.process.deadCalls == 0 {
		return false
	}
	s.running.process.deadCalls--
	return !s.calm
}

// waits reports whether the messages of a queue wait because its only function is busy.
func (s *simulation) waits(name string) bool {
	return s.has(oneAtATime) && !s.calm && s.atWork(name) && !s.hits(oneAtATime)
}

// atWork reports whether a message of a queue is being handled.
func (s *simulation) atWork(name string) bool {
	return slices.ContainsFunc(s.actors, func(a *actor) bool { return a.takes == name && !a.ended && !a.dead })
}

// starve stops all processes from receiving the messages of a queue for some time.
func (s *simulation) starve(name string) bool {
	if s.now.Before(s.starving[name]) {
		return !s.calm
	}
	if !s.hits(starved) {
		return false
	}
	length := []time.Duration{time.Minute, 20 * time.Minute, time.Hour}[s.of(starved).IntN(3)]
	if s.starving == nil {
		s.starving = map[string]time.Time{}
	}
	s.log("nobody takes messages of %s for %v", name, length)
	s.outages.excuse += length
	s.starving[name] = s.now.Add(length)
	return true
}

// keepCopies keeps copies of messages that are redelivered whatever happens to the originals.
func (s *simulation) keepCopies(name string, deliveries []queue.Delivery) {
	for _, d := range deliveries {
		if d.Group != "" || !s.hits(deletedAgain) {
			continue
		}
		delay := []time.Duration{0, time.Second, time.Minute, queue.MaxDelay}[s.of(deletedAgain).IntN(4)]
		s.must(s.queue.Send(context.Background(), name, queue.Message{Body: d.Body, Delay: delay}))
	}
}
