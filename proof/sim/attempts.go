package sim

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

var (
	// unreached is a batch that an event source mapping receives and that reaches no function.
	unreached = newFault("queue: received by no function",
		"Lambda, Using Lambda with Amazon SQS: if the function is throttled or returns an error, the messages become visible again after "+
			"the visibility timeout; each receive counts towards maxReceiveCount", 0.3, 0.1)
	// miscounted is a receive count that is too low, or too high.
	miscounted = newFault("queue: approximate receive count",
		"SQS, ReceiveMessage: ApproximateReceiveCount is the approximate number of times a message was received", 0.3, 0.2)
)

// tooShort is a function whose time-out is too short for an attempt, until the next deployment.
var tooShort = newFault("lambda: the function's time-out is too short for an attempt",
	"Lambda, Configure Lambda function timeout: a function may have from 1 s to 900 s, and a deployment changes that", 0.2, 1)

// longest returns how long an attempt may take in a function with this time-out.
func (s *simulation) longest(p *process, d time.Duration) time.Duration {
	if p.build == 1 && s.hits(tooShort) {
		return 30 * time.Second
	}
	return d
}

// groupHot is a message group of a FIFO queue that accepts no messages at the moment.
var groupHot = newFault("sqs: a message group is throttled",
	"SQS, message quotas: a FIFO queue takes 300 API calls in a second, in high throughput mode of each message group", 0.2, 0.3)

// arrive returns the part of a received batch that reaches functions, with the receive counts that
// they see.
func (s *simulation) arrive(name string, all []queue.Delivery) []queue.Delivery {
	if s.hits(unreached) {
		s.log("%d messages of %s are received, and no function gets them", len(all), name)
		return nil
	}
	for i := range all {
		if s.hits(miscounted) {
			all[i].Received = 1 + s.of(miscounted).IntN(2)*all[i].Received
		}
	}
	return all
}

// effort is an activity or one attempt at it.
type effort struct {
	workflow string
	run      uint32
	event    int64
	attempt  int
}

// sending is a message for an attempt. Copies that replace it have other numbers.
type sending struct {
	send, copy uint64
}

// look is one of the copies of a sending that wait at the same time.
type look struct {
	effort
	send uint64
	look int
}

// tried is an activity of a run. The number of a deleted run may be used again, but its id may not.
type tried struct {
	run   string
	event int64
}

// attemptAudit holds what must be true of attempts.
type attemptAudit struct {
	begun     map[tried]int  // attempts whose code has run, by activity
	marked    map[effort]int // attempts that are recorded as begun, with how often everything had slept by then
	delivery  map[sending]int
	early     map[sending]bool // copies that were sent before their commit was in the log
	unnamed   map[effort]bool  // activities with an earlier version's record, which names no run: a later record may have a lower number
	copies    map[look]map[uint64]bool
	delivered map[look]int // the highest delivery count among the copies
	unclaimed map[look]int // deliveries of all copies before the commit was in the log
	known     map[tried]known
	failed    map[tried]int    // the last attempt that was recorded as failed
	replaces  map[sending]bool // copies that replace executions which were overtaken
	overslept map[effort]bool  // activities whose last record is by a goroutine that had slept with everything: its run may have been deleted meanwhile
	released  map[effort]int   // how often a request that lets an attempt begin now has released its claim
}

func newAttemptAudit() attemptAudit {
	return attemptAudit{map[tried]int{}, map[effort]int{}, map[sending]int{}, map[sending]bool{}, map[effort]bool{}, map[look]map[uint64]bool{}, map[look]int{}, map[look]int{}, map[tried]known{}, map[tried]int{}, map[sending]bool{}, map[effort]bool{}, map[effort]int{}}
}

// clone returns a copy of a for a backup.
func (a attemptAudit) clone() attemptAudit {
	return attemptAudit{
		maps.Clone(a.begun), maps.Clone(a.marked), maps.Clone(a.delivery), maps.Clone(a.early), maps.Clone(a.unnamed), cloneSets(a.copies),
		maps.Clone(a.delivered), maps.Clone(a.unclaimed), maps.Clone(a.known), maps.Clone(a.failed), maps.Clone(a.replaces), maps.Clone(a.overslept), maps.Clone(a.released),
	}
}

// cloneSets returns a copy of sets by their names.
func cloneSets[K comparable](all map[K]map[uint64]bool) map[K]map[uint64]bool {
	copied := map[K]map[uint64]bool{}
	for k, set := range all {
		copied[k] = maps.Clone(set)
	}
	return copied
}

// delivered counts deliveries of messages for attempts, including dead letters. A result that was
// overtaken is replaced by a copy for each of its deliveries, as the attempt's message would be.
func (a *audit) delivered(name string, all []queue.Delivery) {
	for _, d := range all {
		if m, err := outbox.Decode(d.Body); err == nil && m.Kind == engine.TakeResult && m.Since != nil {
			of := *m
			of.Send = m.By
			a.attempts.unclaimed[lookOf(&of, m.Look)]++
		}
	}
	if _, is := queue.IsForTasks(strings.TrimSuffix(name, "-dead")); !is {
		return
	}
	for _, d := range all {
		m, err := outbox.Decode(d.Body)
		if err != nil || m.Kind != engine.RunActivity {
			continue
		}
		of, at := sending{m.Send, m.Copy}, lookOf(m, m.Look)
		a.attempts.delivery[of]++
		a.attempts.delivered[at] = max(a.attempts.delivered[at], a.attempts.delivery[of])
		if !a.claimable(m) {
			a.attempts.unclaimed[at]++
		}
	}
}

func lookOf(m *engine.Message, at int) look {
	return look{effort{m.WorkflowID, m.RunID.Number(), m.EventID, m.Attempt}, m.Send, at}
}

// copied demands that the copies of a message do not multiply. Of the copies that wait at the same
// time only one is replaced, once for each of its deliveries. A request that lets the attempt begin
// now releases the claim, so another copy may be replaced after that. Three cases do not count:
//
//   - Before the commit is in the log, a copy has nothing to claim (decision 27). A copy that was
//     sent then does not count later either, when it is sent on under the same number because it
//     was kept for a build or a task queue.
//   - A delivery that began before the commit landed may send one copy without a claim after it
//     landed.
//   - An execution that was overtaken sends a copy without a claim: see replaces. A copy whose
//     reservation may be used runs without a claim, also after another one has been replaced.
func (a *audit) copied(m *engine.Message) {
	if m.Kind != engine.RunActivity || m.Look < 2 {
		return
	}
	of := sending{m.Send, m.Copy}
	if !a.claimable(m) {
		a.attempts.early[of] = true
		return
	}
	if a.attempts.early[of] || a.attempts.replaces[of] || a.attempts.unnamed[effort{workflow: m.WorkflowID, run: m.RunID.Number(), event: m.EventID}] {
		return
	}
	at, before := lookOf(m, m.Look), lookOf(m, m.Look-1)
	a.checked(m)
	if a.attempts.copies[at] == nil {
		a.attempts.copies[at] = map[uint64]bool{}
	}
	a.attempts.copies[at][m.Copy] = true
	claims := 1 + a.attempts.released[at.effort]
	if n, most := len(a.attempts.copies[at]), claims*a.attempts.delivered[before]+a.attempts.unclaimed[before]; n > most && !a.s.has(restored) {
		a.s.fail("there are %d copies at look %d of attempt %d at event %d of %s; those before may have sent %d at most", n, m.Look, m.Attempt, m.EventID, m.WorkflowID, most)
	}
}

// checked counts a copy that the slow check sends, like one more delivery of the earlier copies.
func (a *audit) checked(m *engine.Message) {
	if a.s.running != nil && a.s.running.checks && m.Kind == engine.RunActivity && m.Look > 1 {
		a.attempts.delivered[lookOf(m, m.Look-1)]++
	}
}

// claimable reports whether a message's commit is in the log. Only then can a copy claim the
// attempt.
func (a *audit) claimable(m *engine.Message) bool {
	run := a.current[place{m.WorkflowID, m.RunID.Number()}]
	return run != nil && int(m.Slot) < len(run.Log)
}

// beginAt separates the record numbers of attempts that have begun; see internal/executor.
const (
	recordBits = 20
	beginAt    = 1 << 17
)

// recorded records attempts that are recorded as begun or failed, or that a request lets begin
// now.
func (a *audit) recorded(r store.Attempt) {
	a.failedOnce(r)
	a.attempts.overslept[effort{workflow: r.Workflow, run: r.Run, event: r.Event}] = a.s.running.began < a.s.moves.slept
	of := effort{r.Workflow, r.Run, r.Event, r.Number>>recordBits + 1}
	switch within := r.Number & (1<<recordBits - 1); {
	case within >= beginAt:
		if _, began := a.attempts.marked[of]; !began {
			a.attempts.marked[of] = a.s.play(asleep).count
		}
	case within > 0 && a.releases(r):
		a.attempts.released[of]++
	}
}

// releases reports whether a record releases the claim of an attempt, so that a new message begins
// it now. r comes before the records of an attempt that has begun. The others there are claims of
// copies, hold the attempt, or record one that continues outside.
func (a *audit) releases(r store.Attempt) bool {
	kept := &attempts.Record{}
	a.s.must(a.codec.OpenAttempt(context.Background(), &r))
	a.s.must(history.DecodeBody(r.Body, kept))
	return kept.Look == 0 && kept.Held == "" && kept.Deadline == 0
}

// began demands that no activity begins more attempts than it may.
func (a *audit) began(info activity.Info) {
	e := tried{info.RunID, info.EventID}
	a.attempts.begun[e]++
	a.forgotten(info.RunID, info.EventID, info.Attempt-1, "an attempt begins again")
	a.beganCounted(info)
	if n := a.attempts.begun[e]; a.programs[info.WorkflowID].Once && n > 1 && !a.s.has(restored) { // a restored table lacks the record of the attempts that have begun
		a.s.fail("event %d of %s may be tried once, and %d attempts have begun", info.EventID, info.RunID, n)
	}
}

// interrupted demands that an interrupted attempt has begun.
func (a *audit) interrupted(run *engine.Run, c *history.Commit) {
	if c.FromReset() {
		return // the attempt belonged to an earlier run
	}
	for _, e := range c.InputEvents {
		t, ok := e.Attributes.(*history.ActivityTaskTimedOut)
		if !ok || !strings.Contains(t.Failure.Message, "interrupted") {
			continue
		}
		a.forgotten(string(run.State.RunID), t.ScheduledEventID, t.Attempt, "an attempt counts as interrupted")
		if _, began := a.attempts.marked[effort{run.WorkflowID, run.Number, t.ScheduledEventID, t.Attempt}]; !began {
			a.s.fail("event %d of %s timed out in attempt %d, which has not begun", t.ScheduledEventID, run.State.RunID, t.Attempt)
		}
	}
}
