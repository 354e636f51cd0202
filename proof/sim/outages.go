package sim

import (
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/queue"
)

// The outages. A seed with an outage begins it at a step of its own.
var (
	offline = newFault("weft: nothing of it runs",
		"Amazon SQS Developer Guide, message retention period: a message that nobody deletes is kept for the retention period, 14 days at most, and "+
			"is deleted then, seen or not. Delay queues: a delayed message becomes visible when its delay is over, whoever receives.", 0.1, 1)
	storeAway = newFault("dynamodb: away",
		"Amazon DynamoDB Developer Guide, Error handling: InternalServerError and ServiceUnavailable (500, 503) say that the service cannot process "+
			"requests for now. AWS post-event summaries, DynamoDB in us-east-1, October 2025: no new connection for hours.", 0.05, 1)
	queueAway = newFault("sqs: away",
		"Amazon SQS API Reference, common errors: ServiceUnavailable (503) is a temporary failure of the server; nothing is sent, deleted or "+
			"extended meanwhile, and what was sent before stays.", 0.05, 1)
	ruleAway = newFault("eventbridge: the rule does not fire",
		"Amazon EventBridge User Guide, event retry policy: what cannot be delivered to its target is tried again for 24 hours and 185 times at "+
			"most, and dropped then. A rule that is disabled does not fire at all.", 0.1, 0.2)
	ruleLate = newFault("eventbridge: the rule fires late",
		"Amazon EventBridge User Guide, scheduled rules: a rule fires within its minute, and not at its second; its target may be invoked later than that.", 0.2, 0.2)
	ruleTwice = newFault("eventbridge: the rule fires twice",
		"Amazon EventBridge User Guide, troubleshooting: in rare cases the same rule is triggered more than once for one scheduled time, or "+
			"the same target is invoked more than once for one trigger.", 0.2, 0.2)
)

// kept is how long SQS keeps a message.
const kept = 14 * 24 * time.Hour

// outage is one outage of a seed.
type outage struct {
	fault  *fault
	step   int           // the step at which it begins
	length time.Duration // how long it lasts
	until  time.Time     // when it ends; zero until it has begun
}

// outages are the outages of a seed.
type outages struct {
	planned  []*outage
	offUntil time.Time // no process of Weft runs before this time
	// excuse is the total duration of all outages. Things may happen that much later than they
	// should.
	excuse time.Duration
}

// planOutages draws the outages of a seed.
func (s *simulation) planOutages() {
	short := []time.Duration{30 * time.Second, 10 * time.Minute, time.Hour}
	long := []time.Duration{time.Hour, 26 * time.Hour, 8 * 24 * time.Hour, 13 * 24 * time.Hour, 15 * 24 * time.Hour, 40 * 24 * time.Hour}
	for _, f := range []*fault{offline, storeAway, queueAway} {
		lengths := short
		if f == offline {
			lengths = long
		}
		if !s.has(f) {
			continue
		}
		r := s.of(f)
		o := &outage{fault: f, step: 20 + r.IntN(700*s.plan.most), length: lengths[r.IntN(len(lengths))]}
		if o.length >= kept && !s.plan.maintenance {
			o.length = 13 * 24 * time.Hour // otherwise the queues would lose messages that nobody finds
		}
		s.outages.planned = append(s.outages.planned, o)
	}
}

// beginOutages begins the outages that are due at this step.
func (s *simulation) beginOutages() {
	for _, o := range s.outages.planned {
		if s.calm || !o.until.IsZero() || s.steps < o.step {
			continue
		}
		o.until = s.now.Add(o.length)
		s.outages.excuse += o.length
		s.happens(o.fault)
		s.log("%s until %s", o.fault.name, o.until.Format(time.DateTime))
		if o.fault == offline {
			s.switchOff(o.length)
		}
	}
}

// switchOff ends all processes, and starts their successors after some time. Messages that are then
// older than their retention in the queues are lost.
func (s *simulation) switchOff(length time.Duration) {
	s.outages.offUntil = s.now.Add(length)
	for range len(s.processes) {
		s.succeed(s.processes[0], "everything is switched off", s.processes[0].build)
	}
	s.sweepAt, s.maintenance.at = maxTime(s.sweepAt, s.outages.offUntil), maxTime(s.maintenance.at, s.outages.offUntil)
	if length >= kept {
		s.maintenance.purged = true
		for _, name := range queue.All(taskQueues...) {
			s.queue.Purge(name)
			s.queue.Purge(queue.DeadLetters(name))
		}
	}
}

// away reports whether a fault makes a service unreachable now, and counts the call.
func (s *simulation) away(f *fault) bool {
	for _, o := range s.outages.planned {
		if o.fault == f && s.now.Before(o.until) && !s.calm {
			s.happens(f)
			return true
		}
	}
	return false
}

// patient returns how long a client waits before it tries again. It waits longer if an outage lasts
// longer.
func (s *simulation) patient(r *draws) time.Duration {
	wait := time.Duration(r.IntN(3000)) * time.Millisecond
	for _, o := range s.outages.planned {
		if left := o.until.Sub(s.now); !o.until.IsZero() && left > 0 {
			wait = max(wait, time.Duration(r.Int64N(int64(left)/3+1)))
		}
	}
	return wait
}

// lost reports whether messages or other data were lost. The slow check repairs that after days.
func (s *simulation) lost() bool { return s.plan.purgeAfter > 0 || s.maintenance.purged }

// fire plays the rule that sweeps the timers. The rule may fire once, twice, late or not at all.
// fire returns how often, and when the rule fires again.
func (s *simulation) fire() (times int, next time.Time) {
	next = s.now.Add(outbox.SweepEvery)
	switch {
	case s.hits(ruleAway):
		length := []time.Duration{10 * time.Minute, 2 * time.Hour, 25 * time.Hour}[s.of(ruleAway).IntN(3)]
		s.outages.excuse += length
		s.log("the rule that sweeps does not fire for %v", length)
		return 0, s.now.Add(length)
	case s.hits(ruleLate):
		return 0, s.now.Add(time.Duration(s.of(ruleLate).IntN(300)) * time.Second)
	case s.hits(ruleTwice):
		return 2, next
	}
	return 1, next
}
