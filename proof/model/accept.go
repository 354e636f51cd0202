package model

import (
	"fmt"
	"slices"
)

// Do is the kind of an event of a trace.
type Do uint8

// The events of a trace.
const (
	Ask     Do = 1 + iota // a process takes a request up
	Receive               // a process receives messages
	Put                   // commits landed
	Send                  // a message was sent
	Delete                // messages were deleted from their queue
	Begin                 // an attempt at an activity begins
	Drop                  // maintenance, or the store, deleted a commit
)

// String returns the kind as a word.
func (d Do) String() string {
	return [...]string{"nothing", "ask", "receive", "put", "send", "delete", "begin", "drop"}[d]
}

// Event is an event of a trace that comes from the explorer or the simulation.
type Event struct {
	Do       Do
	Actor    uint32    // who causes it; 0 is maintenance, a sweep of timers, or a put whose writer has gone
	Commits  []*Commit // Put, Drop
	Message  Message   // Send, Begin
	Messages []Message // Receive, Delete
	Number   int32     // Begin: the attempt's number
	Limit    int32     // Begin: the largest number of attempts; 0 is no limit
	Graced   bool      // Put: the messages in hand are older than the grace
}

// Checker accepts a trace if the rules allow each event in the state after the earlier ones.
type Checker struct {
	logs        map[uint32][]Run
	landed      map[uint32]int // when each commit landed, by its id
	byCausation map[uint32][]*Commit
	sent        map[sending]int     // when a message was last sent
	live        map[uint32][]uint32 // the sendings of a causation id that were not deleted
	latest      map[uint32]uint8    // the highest receive count of a sending
	sends       map[about][2]uint32 // the first two sendings about an event
	actors      map[uint32]*actor
	begun       map[attempt]bool
	scheduled   map[sending]bool
	taken       map[slot]bool   // slots that have held something
	deleted     map[uint32]bool // runs of which nothing is left
	now         int
	counts      [Drop + 1]int
}

type sending struct {
	run   uint32
	kind  Kind
	event int32
}

type about struct {
	run   uint32
	event int32
}

type slot struct {
	workflow uint32
	number   int32
	slot     int32
}

type attempt struct {
	run    uint32
	event  int32
	number int32
}

// actor is a process that handles one request, or the messages of one delivery.
type actor struct {
	request bool
	began   int
	held    []Message
	sent    []Message
	put     map[uint32]bool
}

// NewChecker returns a checker of an empty deployment.
func NewChecker() *Checker {
	return &Checker{
		logs: map[uint32][]Run{}, landed: map[uint32]int{}, byCausation: map[uint32][]*Commit{}, sent: map[sending]int{},
		live: map[uint32][]uint32{}, latest: map[uint32]uint8{}, sends: map[about][2]uint32{}, actors: map[uint32]*actor{}, begun: map[attempt]bool{}, taken: map[slot]bool{}, scheduled: map[sending]bool{},
		deleted: map[uint32]bool{},
	}
}

// Count returns how many events of a kind were accepted.
func (k *Checker) Count(d Do) int { return k.counts[d] }

// Accept takes the next event. It returns an error that names the rule that forbids the event, or
// nil.
func (k *Checker) Accept(e Event) error {
	k.now++
	broken := ""
	switch e.Do {
	case Ask, Receive:
		k.actors[e.Actor] = &actor{request: e.Do == Ask, began: k.now, held: slices.Clone(e.Messages), put: map[uint32]bool{}}
		for i := range e.Messages {
			g := &e.Messages[i]
			if k.latest[g.Send] == 0 { // otherwise the sender died before it could report the sending
				k.isSent(g)
				k.sent[sending{g.Run, g.Kind, g.Event}] = max(k.sent[sending{g.Run, g.Kind, g.Event}], k.now)
			}
			k.latest[g.Send] = max(k.latest[g.Send], g.Received)
		}
	case Put:
		broken = k.put(&e)
	case Send:
		broken = k.send(&e)
	case Delete:
		broken = k.delete(&e)
	case Begin:
		broken = k.begin(&e)
	case Drop:
		broken = k.drop(e.Commits[0])
	}
	if broken != "" {
		return fmt.Errorf("model: event %d, a %s by %d: %s", k.now, e.Do, e.Actor, broken)
	}
	k.counts[e.Do]++
	return nil
}

// run returns the run with a number, or nil.
func (k *Checker) run(workflow uint32, number int32) *Run {
	runs := k.logs[workflow]
	for i := range runs {
		if runs[i].Number == number {
			return &runs[i]
		}
	}
	return nil
}

// runOf returns a run by its id, or nil.
func (k *Checker) runOf(workflow, id uint32) *Run {
	runs := k.logs[workflow]
	for i := range runs {
		if runs[i].ID() == id {
			return &runs[i]
		}
	}
	return nil
}

func (k *Checker) put(e *Event) string {
	workflow := e.Commits[0].Workflow
	if broken := Fits(k.logs[workflow], e.Commits); broken != "" {
		return broken
	}
	if a := k.actors[e.Actor]; a != nil {
		for _, c := range e.Commits {
			if broken := k.mayPut(a, c, e); broken != "" {
				return broken
			}
			a.put[c.ID] = true
		}
	}
	for _, c := range e.Commits {
		k.land(c)
	}
	return ""
}

// mayPut returns the reason why an actor may not put a commit, or "".
func (k *Checker) mayPut(a *actor, c *Commit, e *Event) string {
	switch {
	case c.Fence && len(e.Commits) > 1:
		return "" // the same put has the run that a start opens
	case a.request && len(c.CausationIDs) > 0:
		return "a request's commit has the causation id of a message"
	case a.request:
		for _, o := range c.Sched {
			if slices.ContainsFunc(e.Commits, func(d *Commit) bool { return d.Run == c.Run && slices.Contains(d.Done, o.Event) }) {
				continue // a reset copies resolved events
			}
			if !slices.ContainsFunc(a.sent, func(g Message) bool { return g.Commit == c.ID && g.Kind == o.Kind && g.Event == o.Event }) {
				return fmt.Sprintf("a request put a commit before it had sent what that schedules: kind %d, event %d", o.Kind, o.Event)
			}
		}
		return ""
	case c.Fence:
		names := func(g Message) bool { return g.Run == c.Run && (g.Slot == c.Slot || c.Status == Void) }
		i := slices.IndexFunc(a.held, names)
		if i < 0 {
			return "a fence was put into a slot that no message in hand names"
		}
		if v := Look(k.logs[c.Workflow]); c.Slot > 0 && (v.Find(&a.held[i]) != NotYet || !v.MayFence(&a.held[i])) { // the run that a void run was put with may have expired
			return "a fence was put into a slot whose commit is there, or that nobody could fill"
		}
		if !e.Graced {
			return "a fence was put before the grace was over"
		}
		return ""
	}
	for _, w := range c.CausationIDs {
		if !slices.ContainsFunc(a.held, func(g Message) bool { return g.CausationID == w }) {
			return "a handler's commit has the causation id of a message that it does not hold"
		}
	}
	if len(c.CausationIDs) == 0 && len(a.held) > 0 {
		return "a handler's commit has no causation id"
	}
	if len(a.held) > 0 && !slices.ContainsFunc(a.held, func(g Message) bool { return k.landed[g.Commit] > 0 }) {
		return "a handler committed for a message whose commit is not in the log"
	}
	return ""
}

func (k *Checker) land(c *Commit) {
	runs := k.logs[c.Workflow]
	at := slices.IndexFunc(runs, func(r Run) bool { return r.Number >= c.Number })
	if at < 0 {
		at = len(runs)
	}
	if at == len(runs) || runs[at].Number != c.Number {
		runs = slices.Insert(runs, at, Run{Number: c.Number})
	}
	k.logs[c.Workflow] = runs
	k.landed[c.ID], k.taken[slot{c.Workflow, c.Number, c.Slot}] = k.now, true
	switch r := &runs[at]; {
	case len(r.Commits) > 0 && r.replaces(c):
		k.deleted[r.ID()] = true
		*r = Run{Number: r.Number, Commits: []*Commit{c}, Cover: r.Cover}
	case c.Status == Void && c.Slot > 0 && len(r.Commits) > 0: // the number is void already
	case c.Slot == 0 && len(r.Commits) > 0 && r.left(): // the void commit in a later slot says nothing more
		r.Commits, r.Cover = []*Commit{c}, nil
	case c.Slot == 0 && !r.intact(): // a void run takes the number of a run that is being deleted, or the place of its first commit
		r.lose(0)
		r.Cover = c
	case c.Slot == 0:
		r.Commits = []*Commit{c} // in place of a void commit, perhaps
	default:
		r.Commits = append(r.Commits, c)
	}
	for _, o := range c.Sched {
		k.scheduled[sending{c.Run, o.Kind, o.Event}] = true
	}
	for _, w := range c.CausationIDs {
		k.byCausation[w] = append(k.byCausation[w], c)
	}
}

// isSent records that a message is in a queue.
func (k *Checker) isSent(g *Message) {
	if !slices.Contains(k.live[g.CausationID], g.Send) {
		k.live[g.CausationID] = append(k.live[g.CausationID], g.Send)
	}
	switch two := k.sends[about{g.Run, g.Event}]; {
	case two[0] == 0:
		k.sends[about{g.Run, g.Event}] = [2]uint32{g.Send}
	case two[1] == 0 && two[0] != g.Send:
		k.sends[about{g.Run, g.Event}] = [2]uint32{two[0], g.Send}
	}
}

func (k *Checker) send(e *Event) string {
	g := e.Message
	k.sent[sending{g.Run, g.Kind, g.Event}] = k.now
	k.isSent(&g)
	a := k.actors[e.Actor]
	if a == nil {
		return "" // a sweep or maintenance repeats an earlier sending
	}
	a.sent = append(a.sent, g)
	if a.request {
		if k.landed[g.Commit] > 0 && !a.put[g.Commit] && g.Kind != TakeResult && g.Kind != RunActivity && g.Kind != CloseAttempt {
			return "a request sent what a commit schedules that is not its own"
		}
		return ""
	}
	if slices.ContainsFunc(a.held, func(h Message) bool { return h.CausationID == g.CausationID }) || k.landed[g.Commit] == 0 && len(a.held) == 0 {
		return "" // the sent message replaces one in hand
	}
	run := k.runOf(g.Workflow, g.Run)
	switch {
	case run == nil && k.deleted[g.Run]:
		return "" // the run was deleted while the handler ran, and nobody acts on what it sends again
	case run == nil:
		return "a handler sent a message of a run that is not there"
	}
	for _, c := range run.Commits {
		if c.ID != g.Commit || !slices.Contains(c.Sched, Owing{g.Kind, g.Event}) {
			continue
		}
		mine := func(h Message) bool { return slices.Contains(c.CausationIDs, h.CausationID) }
		if a.put[c.ID] || slices.ContainsFunc(a.held, mine) {
			return ""
		}
		return "a handler sent what a commit schedules that neither it nor its message's causation id has made"
	}
	return "a handler sent a message that the commit does not schedule"
}

func (k *Checker) delete(e *Event) string {
	a := k.actors[e.Actor]
	for i := range e.Messages {
		g := &e.Messages[i]
		if k.latest[g.Send] > g.Received {
			continue // its receipt is old, so the message stays
		}
		if broken := k.mayDelete(a, g); broken != "" {
			return broken
		}
		k.live[g.CausationID] = slices.DeleteFunc(k.live[g.CausationID], func(send uint32) bool { return send == g.Send })
	}
	return ""
}

// mayDelete returns the reason why a message may not be deleted, or "". A message may be deleted in
// two cases:
//   - Everything that its causation id owes has been sent, and its work is done.
//   - A message of the same causation id has replaced it.
func (k *Checker) mayDelete(a *actor, g *Message) string {
	if a != nil && slices.ContainsFunc(a.sent, func(s Message) bool { return s.CausationID == g.CausationID }) {
		return ""
	}
	other := func(send uint32) bool { return send != g.Send }
	for _, c := range k.byCausation[g.CausationID] {
		if slices.ContainsFunc(c.CausationIDs, func(w uint32) bool { return slices.ContainsFunc(k.live[w], other) }) {
			// Another message of one of the causation ids answers for the commit. A process whose
			// cache lacks the commit may delete a message if an earlier commit has done that
			// message's work. It cannot delete the message whose work this commit has done, because
			// it would lose the race for the slot.
			continue
		}
		run := k.runOf(c.Workflow, c.Run)
		if c.Workflow != g.Workflow && !g.Kind.outlives() {
			continue // the actor that passed the news on is responsible for the other log
		}
		if c.Workflow != g.Workflow && k.isDeleted(g) {
			// The message was in its queue for longer than its own run was kept, so nobody can read
			// which other log it concerns. The slow check of that log sends what the log owes.
			continue
		}
		if run == nil || c.Run == g.Run && c.Slot < g.Seen || run.Closed() && c != run.Last() {
			continue
		}
		if a != nil && k.landed[c.ID] > a.began && !a.put[c.ID] {
			// Another delivery of the causation id has written the commit since, and still runs. If
			// it dies before it sends what follows, the slow check does so a day later. No read of
			// this actor was certain to show the commit.
			continue
		}
		for _, due := range run.needed(c) {
			if due.Kind == StartOrCloseChild && !run.Closed() && run.started(due.Event) {
				continue // the actor that started the child keeps its message until everything is sent
			}
			if due.Kind == NotifyParent && g.Kind == StartOrCloseChild {
				continue // this message itself notifies the parent
			}
			if k.sent[sending{c.Run, due.Kind, due.Event}] <= k.landed[c.ID] {
				return fmt.Sprintf("a message was deleted, and its causation id owes a message of kind %d about event %d, commit %d", due.Kind, due.Event, c.ID)
			}
		}
	}
	v := Look(k.logs[g.Workflow])
	switch v.Find(g) {
	case InLog:
		if v.Run.Needed(g.Kind, g.Event, g.Commit) && !(g.Starts && v.Run.started(g.Event)) && !g.Kind.outlives() && !k.moot(v.Run, g) {
			return fmt.Sprintf("a message of kind %d was deleted, and event %d still waits for it", g.Kind, g.Event)
		}
	case NotYet:
		if v.MayFence(g) && !k.taken[slot{g.Workflow, g.Number, g.Slot}] {
			return "a message was deleted whose commit may still land"
		}
	}
	return ""
}

// isDeleted reports whether the deletion of a message's run has begun or ended.
func (k *Checker) isDeleted(g *Message) bool {
	run := k.runOf(g.Workflow, g.Run)
	return run == nil && k.deleted[g.Run] || run != nil && run.gone(0)
}

// moot reports whether a message about a pending activity has nothing left to do, because another
// sending continues the activity.
func (k *Checker) moot(run *Run, g *Message) bool {
	if g.Kind != RunActivity && g.Kind != CloseAttempt && g.Kind != RetryTask {
		return false
	}
	two := k.sends[about{run.ID(), g.Event}]
	return two[0] != 0 && two[0] != g.Send || two[1] != 0
}

func (k *Checker) begin(e *Event) string {
	g := &e.Message
	if !k.scheduled[sending{g.Run, RunActivity, g.Event}] {
		return "an attempt began whose commit is not in the log"
	}
	if e.Limit == 0 {
		return ""
	}
	at := attempt{g.Run, g.Event, e.Number}
	if e.Number > e.Limit {
		return fmt.Sprintf("attempt %d began, and there may be %d", e.Number, e.Limit)
	}
	if k.begun[at] {
		return fmt.Sprintf("attempt %d began twice", e.Number)
	}
	k.begun[at] = true
	return ""
}

// drop removes a commit from the store.
func (k *Checker) drop(c *Commit) string {
	r := k.run(c.Workflow, c.Number)
	if r == nil {
		return ""
	}
	if r.Cover != nil && r.Cover.ID == c.ID {
		r.Cover = nil
		return ""
	}
	if r.left() && r.Commits[0].ID == c.ID {
		runs := k.logs[c.Workflow]
		at := slices.IndexFunc(runs, func(x Run) bool { return x.Number == c.Number })
		if r.Cover != nil {
			runs[at] = Run{Number: c.Number, Commits: []*Commit{r.Cover}}
		} else {
			k.logs[c.Workflow] = slices.Delete(runs, at, at+1)
		}
		return ""
	}
	if int(c.Slot) >= len(r.Commits) || r.Commits[c.Slot].ID != c.ID {
		return ""
	}
	if r.Commits[0].Status != Void && !r.Closed() {
		return "a commit of an open run was deleted"
	}
	if r.lose(c.Slot); int(c.Slot) != len(r.Commits)-1 {
		return ""
	}
	for slot := range r.Commits {
		if !r.gone(int32(slot)) {
			return "the last commit of a run was deleted before the others"
		}
	}
	k.deleted[r.ID()] = true
	k.deleted[r.ID()] = true
	runs := k.logs[c.Workflow]
	at := slices.IndexFunc(runs, func(x Run) bool { return x.Number == c.Number })
	if r.Cover != nil {
		runs[at] = Run{Number: c.Number, Commits: []*Commit{r.Cover}}
	} else {
		k.logs[c.Workflow] = slices.Delete(runs, at, at+1)
	}
	return ""
}
