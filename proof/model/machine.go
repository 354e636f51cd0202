package model

import (
	"fmt"
	"slices"
)

// Rule is a rule of the protocol that can be switched off, to show why it exists.
type Rule uint64

// The rules.
const (
	// SendBeforePut: a request sends its messages before its put.
	SendBeforePut Rule = 1 << iota
	// CommitInLog: a receiver acts only on a message whose commit is in the log.
	CommitInLog
	// FenceBeforeDrop: a receiver fences the slot of a message before it drops the message.
	FenceBeforeDrop
	// RepairOwed: a receiver sends what the message's causation id owes before it deletes a message
	// whose work is done.
	RepairOwed
	// RepairAlways: every delivery repairs. Without this rule, a redelivery that the queue counts
	// as the first one repairs nothing.
	RepairAlways
	// InlineKeepsCausation: a message that replaces an inline step keeps the causation id of the
	// step's handler.
	InlineKeepsCausation
	// RepairNext: a message of a run that was continued also repairs the next run.
	RepairNext
	// SamePut: a writer repeats only the same put while its outcome is unknown.
	SamePut
	// LookBack: a request also looks for its id in the run before the latest one, if that one
	// continues it.
	LookBack
	// LookOverVoid: a start looks for its id in the run before the latest, regardless of void runs
	// between them.
	LookOverVoid
	// AttemptKeepsCausation: the message of a further attempt keeps the causation id.
	AttemptKeepsCausation
	// ResultKeepsCausation: the message of a result keeps the causation id.
	ResultKeepsCausation
	// CopyKeepsCausation: a delayed copy keeps the causation id.
	CopyKeepsCausation
	// OwnCausation: a message that is sent again begins a new causation id.
	OwnCausation
	// OnePut: one put closes a run and opens the next.
	OnePut
	// MarkBegin: an attempt is recorded before it begins, if the number of attempts is limited.
	MarkBegin
	// DeadNotBegun: a dead letter is sent again if its attempt never began.
	DeadNotBegun
	// RecordNamesRun: the record of an attempt counts only for its run.
	RecordNamesRun
	// SameSendGoesOn: the second chain of attempts ends only if another message began it.
	SameSendGoesOn
	// KeepLast: maintenance deletes the last commit of a run last.
	KeepLast
	// VoidFirst: maintenance puts a void run before it deletes the last commit of the latest run.
	VoidFirst
	// RenewVoid: maintenance renews an expired void run before it deletes the last commit of the
	// run before it.
	RenewVoid
	// VoidNext: maintenance makes the number after a run void before it deletes the run's last
	// commit, regardless of void runs above.
	VoidNext
	// ReadsLast: a process that knows a closed run reads its last commit again.
	ReadsLast
	// TakeBeside: a start also takes the numbers that another start may take if its read finds
	// less.
	TakeBeside
	// KeepLong: maintenance deletes a run only after all processes that work on it have ended.
	KeepLong
	// LookAgainTorn: a reader that sees half of a transaction reads again.
	LookAgainTorn
	// KnowChild: the handler that starts a child identifies it by the request id of its start.
	KnowChild
	// LookAtParent: the handler that has started a child looks at the parent afterwards.
	LookAtParent
	// LookForChild: the handler that carries out a close policy, and finds no child, looks again
	// later.
	LookForChild
	// ClosePolicy: the commit that closes a parent schedules messages for its children.
	ClosePolicy
	// RepairForeign: a message also repairs the log of the other workflow.
	RepairForeign
	// KeepAsked: maintenance keeps a run if the run that continues it is open.
	KeepAsked
	// NameBeside: a void run names the run that the same put opened.
	NameBeside
	// SeeBeside: a reader of a void run looks for the run that it names. Without this rule any run
	// above will do.
	SeeBeside
	// KeepWhole: a run is deleted as a whole. Its commits do not expire one by one.
	KeepWhole
	// DeliverOnce: a message that notifies of an end starts no second delivering run.
	DeliverOnce
	// LatestReceipt: a delete with an old receipt does nothing. This is the queue's rule, not the
	// protocol's.
	LatestReceipt
)

// fault is a kind of fault.
type fault uint16

const (
	crash    fault = 1 << iota
	late           // a put gets no answer, and lands later or never
	twice          // a message is duplicated
	lapse          // the visibility timeout of a message passes while it is handled
	freeze         // a request sleeps between its sends and its put, for longer than the grace
	torn           // a reader sees half of a transaction
	throttle       // a message is received, and its handler never runs
	anyFault fault = 1<<iota - 1
)

// task is something that a workflow's code starts. Its event is its index in the list of tasks,
// counted from 1.
type task struct {
	workflow uint32
	kind     Kind
	after    []int32 // events that have to be resolved before it starts
	signal   bool    // a signal starts it
	update   bool    // an accepted update starts it
	most     int32   // the largest number of attempts; 0 is no limit
	flaky    bool    // an attempt may fail
	inline   bool
	leave    bool // the run does not wait for it
	abandon  bool // the close policy lets the child continue
	but      bool // only the run that request 1 opened does not start it
}

// op is an operation of a client.
type op struct {
	kind      byte // 's' a start, 'g' a signal, 'u' an update
	id        uint32
	terminate bool // a start that ends the open run
}

// shape is a system to explore: code, clients and faults.
type shape struct {
	name     string
	tasks    []task
	ops      []op
	laps     int32 // how often workflow 0 continues as new
	needs    bool  // a run closes only after a signal
	rejects  int32 // the event from which on the validator rejects updates; 0 means never
	receives uint8 // a message is dead after this many receives; 0 means never
	faults   uint8
	quick    uint8 // the faults in go test
	bounded  bool  // it has too many states with two faults, so only the first mostBounded are visited
	large    bool  // go test leaves it out
	wide     bool  // without the reduction and with a fault it has 100,000 states or more
	kinds    fault // the kinds of faults; 0 means all
	off      Rule
	stale    bool // a process may hold only the beginning of a log
	retry    bool // clients repeat operations whose outcome is unknown
	clean    bool // closed runs are deleted
	begun    bool // run 1 is closed in the initial state
	big      bool // last commits are large: no process reads them again
	warm     bool // a process knows a closed run, and keeps that as long as its reads allow
	lasting  bool // a child does not end by itself
	notifies bool // the end of a chain of workflow 0 is notified: workflow 1 is the delivering run
	counts   bool // count how often messages are sent
	bound    uint8
	total    bool // bound counts the sends of all events together
	handlers int  // how many run at once; 0 means three
	plain    bool // each step is a single action, without machine.local
	chain    bool // each activity may follow from another inline, as in a deployment that chains
	finals   bool // collect the states in which nothing more can happen
}

func (h *shape) on(r Rule) bool { return h.off&r == 0 }

type step struct {
	text   string
	state  *State
	events []Event
}

// machine computes the successors of states.
type machine struct {
	*shape
	trace bool
	steps []step
}

func (m *machine) add(s *State, format string, args ...any) {
	t := step{state: s}
	if m.trace {
		t.text = fmt.Sprintf(format, args...)
		t.events, s.events = s.events, nil
	}
	m.steps = append(m.steps, t)
}

func (m *machine) may(s *State, f fault) bool {
	return s.faults < m.faults && (m.kinds == 0 || m.kinds&f != 0)
}

func (m *machine) task(event int32) *task { return &m.tasks[event-1] }

// facts are what the first commits of a log contain.
type facts struct {
	done, sched uint32
	signal      bool
	update      bool
}

func read(commits []*Commit) (f facts) {
	for _, c := range commits {
		f.add(c)
	}
	return f
}

func (f *facts) add(c *Commit) {
	for _, e := range c.Done {
		f.done |= 1 << e
	}
	if c.Status == Open {
		for _, o := range c.Sched {
			f.sched |= 1 << o.Event
		}
	}
	f.signal = f.signal || len(c.Signals) > 0
	f.update = f.update || len(c.Updates) > 0
}

// code is the workflow's code. It returns what the code starts, and whether the code returns.
func (m *machine) code(workflow, request uint32, f facts) (sched []Owing, closes bool) {
	closes = workflow == 0 || !m.lasting
	for i := range m.tasks {
		t, event := &m.tasks[i], int32(i+1)
		if t.workflow != workflow || t.signal && !f.signal || t.update && !f.update || t.but && request == 1 {
			continue
		}
		ready := true
		for _, before := range t.after {
			ready = ready && f.done&(1<<before) != 0
		}
		if ready && f.sched&(1<<event) == 0 {
			sched = append(sched, Owing{t.kind, event})
		}
		if f.done&(1<<event) == 0 && (!t.leave || !ready || f.sched&(1<<event) == 0) {
			closes = false
		}
	}
	if workflow == 0 && m.needs && !f.signal {
		closes = false
	}
	return sched, closes
}

// writes is the content of a commit.
type writes struct {
	done         []int32
	signals      []uint32
	updates      []uint32
	causationIDs []uint32
	end          Status // the status if the run is ended from outside, or Open
	inline       bool
}

// commit returns the next commit of a run, and the first commit of the run that continues it, if
// there is one.
func (m *machine) commit(s *State, run *Run, w writes) []*Commit {
	first := run.Commits[0]
	c := &Commit{
		ID: s.id(), Run: first.Run, Workflow: first.Workflow, Number: run.Number, Slot: int32(len(run.Commits)), CausationIDs: w.causationIDs,
		Done: w.done, Signals: w.signals, Updates: w.updates, Status: w.end,
	}
	f := read(run.Commits)
	f.add(&Commit{Done: w.done, Signals: w.signals, Updates: w.updates})
	if w.end == Open {
		sched, closes := m.code(first.Workflow, first.Request, f)
		if c.Sched = sched; closes {
			c.Status = Completed
		}
	}
	if c.Status == Open {
		if w.inline && m.mayBeInline(c) && m.task(c.Sched[0].Event).most != 1 {
			c.Inline = []int32{c.Sched[0].Event}
		}
		return []*Commit{c}
	}
	c.Sched = nil
	if c.Status == Completed && first.Workflow == 0 && first.Lap < m.laps {
		c.Status, c.Next = Continued, s.id()
		next := m.open(s, c.Workflow, Look(s.logs[c.Workflow]).Highest+1, first.Request, w.causationIDs)
		next.Run, next.Lap, next.From = c.Next, first.Lap+1, c.Run
		return []*Commit{c, next}
	}
	switch {
	case m.notifies && first.Workflow == 0:
		c.Sched = append(c.Sched, Owing{NotifyCaller, 0})
	case !m.notifies && first.Workflow == 1:
		c.Sched = append(c.Sched, Owing{NotifyParent, 0})
	}
	for i := range m.tasks {
		t, event := &m.tasks[i], int32(i+1)
		if t.kind == StartOrCloseChild && f.sched&(1<<event) != 0 && f.done&(1<<event) == 0 && m.on(ClosePolicy) && !t.abandon {
			c.Sched = append(c.Sched, Owing{StartOrCloseChild, event})
		}
	}
	return []*Commit{c}
}

// mayBeInline reports whether a commit is recorded as one whose only activity its writer may have
// run itself.
func (m *machine) mayBeInline(c *Commit) bool {
	return len(c.Sched) == 1 && c.Sched[0].Kind == RunActivity && (m.chain || m.task(c.Sched[0].Event).inline)
}

// open returns the first commit of a run.
func (m *machine) open(s *State, workflow uint32, number int32, request uint32, causationIDs []uint32) *Commit {
	c := &Commit{ID: s.id(), Run: s.id(), Workflow: workflow, Number: number, Request: request, CausationIDs: causationIDs}
	sched, closes := m.code(workflow, request, facts{})
	if c.Sched = sched; closes {
		c.Status = Completed
	}
	return c
}

// void returns the fence of a run that was never opened.
func (m *machine) void(s *State, workflow uint32, number int32, run uint32) *Commit {
	return &Commit{ID: s.id(), Run: run, Workflow: workflow, Number: number, Status: Void, Fence: true}
}

// messages returns the messages that commits schedule.
func messages(all []*Commit) (out []Message) {
	for _, c := range all {
		for _, o := range c.Sched {
			if !slices.Contains(c.Inline, o.Event) {
				out = append(out, message(c, o))
			}
		}
	}
	return out
}

func message(c *Commit, o Owing) Message {
	return Message{Kind: o.Kind, Workflow: c.Workflow, Number: c.Number, Run: c.Run, Slot: c.Slot, Commit: c.ID, Event: o.Event, Attempt: 1}
}

// again returns owed messages in the form in which a repair sends them.
func (m *machine) again(due []Due, seen int32, causation uint32) (out []Message) {
	for _, d := range due {
		g := message(d.Commit, d.Owing)
		g.Seen = seen
		if !m.on(OwnCausation) || m.on(InlineKeepsCausation) && m.mayBeInline(d.Commit) {
			g.CausationID = causation
		}
		out = append(out, g)
	}
	return out
}

const (
	landed = iota
	taken
)

// put tries to put commits into their slots, all or none.
func (m *machine) put(s *State, all []*Commit) int {
	for _, c := range all {
		for i := range s.logs[c.Workflow] {
			if r := &s.logs[c.Workflow][i]; r.Number == c.Number && r.At(c.Slot) != nil && (c.Over == 0 || r.At(c.Slot).ID != c.Over) {
				return taken
			}
		}
	}
	if broken := Fits(s.logs[all[0].Workflow], all); broken != "" && s.broken == "" {
		s.broken = broken
	}
	for _, c := range all {
		m.land(s, c)
	}
	return landed
}

// land puts one commit into the log.
func (m *machine) land(s *State, c *Commit) {
	runs := &s.logs[c.Workflow]
	at := slices.IndexFunc(*runs, func(r Run) bool { return r.Number == c.Number })
	if at < 0 {
		at = slices.IndexFunc(*runs, func(r Run) bool { return r.Number > c.Number })
		if at < 0 {
			at = len(*runs)
		}
		*runs = slices.Insert(*runs, at, Run{Number: c.Number})
	}
	r := &(*runs)[at]
	switch {
	case len(r.Commits) > 0 && r.replaces(c):
		if *r = (Run{Number: r.Number, Commits: []*Commit{c}, Cover: r.Cover}); r.Cover != nil {
			r.Commits, r.Cover = []*Commit{r.Cover}, nil // the run above it makes no difference between the two
		}
		return
	case c.Slot == 0 && len(r.Commits) > 0 && r.left():
		r.Commits, r.Old = []*Commit{c}, false
		return
	case c.Slot == 0 && !r.intact():
		r.lose(0)
		r.Cover = c
		return
	case c.Over != 0 && len(r.Commits) > 0:
		r.Commits, r.Old = []*Commit{c}, false
		return
	}
	r.Commits = append(slices.Clip(r.Commits), c)
	if c.Slot == 0 && c.Workflow == 0 && !c.Fence {
		s.begun = [8]uint8{} // the events of the new run differ
	}
	m.count(s, c)
	m.checkDeleted(s)
}

// count counts the operations whose effect a commit has.
func (m *machine) count(s *State, c *Commit) {
	if c.Workflow != 0 {
		return
	}
	seen := map[uint32]bool{}
	for i, o := range m.ops {
		hit := o.kind == 's' && c.Slot == 0 && c.From == 0 && c.Request == o.id ||
			o.kind == 'g' && slices.Contains(c.Signals, o.id) || o.kind == 'u' && slices.Contains(c.Updates, o.id)
		if !hit {
			continue
		}
		s.landed[i]++
		key := uint32(o.kind)<<16 | o.id
		if s.landed[i] > 1 && !seen[key] && !m.clean {
			s.broken = fmt.Sprintf("the same %s was carried out twice", opName(o))
		}
		if o.kind == 'u' && s.ops[i] == opRejected && s.broken == "" {
			s.broken = "an update was accepted after its refusal was answered"
		}
		seen[key] = true
	}
}

func opName(o op) string {
	return fmt.Sprintf("%s %d", map[byte]string{'s': "start", 'g': "signal", 'u': "update"}[o.kind], o.id)
}

// checkDeleted demands that no reader takes the rest of a deleted run for open.
func (m *machine) checkDeleted(s *State) {
	for w := range s.logs {
		for i := range s.logs[w] {
			r := &s.logs[w][i]
			if n := r.whole(); n > 0 && n < len(r.Commits) {
				s.broken = "a run that is being deleted looks open"
			}
		}
	}
}

// send puts a message on its queue.
func (m *machine) send(s *State, g Message, by uint32) {
	g.Received, g.Dead, g.Twin = 0, false, 0
	if g.Send == 0 && m.sendsMatter() {
		g.Send = s.causation()
	}
	if g.CausationID == 0 {
		g.CausationID = s.causation()
	}
	if m.counts && g.Kind == RunActivity {
		s.sends[g.Event]++
		n := s.sends[g.Event]
		if m.total {
			n = 0
			for _, of := range s.sends {
				n += of
			}
		}
		if n > m.bound {
			s.broken = "the message of an activity was sent too often"
		}
	}
	s.note(Event{Do: Send, Actor: by, Message: g})
	if g.Kind == TakeResult {
		s.fifo = append(slices.Clip(s.fifo), g)
	} else {
		s.queue = append(slices.Clip(s.queue), g)
	}
}

func (m *machine) sendsMatter() bool {
	return slices.ContainsFunc(m.tasks, func(t task) bool { return t.flaky || t.most > 0 })
}

// give returns a process's messages to their queue.
func (m *machine) give(s *State, p *Proc) {
	if p.Back {
		return
	}
	for i, g := range p.Held {
		if g.Kind == TakeResult {
			s.fifo = slices.Insert(slices.Clip(s.fifo), min(i, len(s.fifo)), g)
			continue
		}
		m.show(s, g)
	}
}

// show makes a message of a standard queue visible again, or moves it to the dead letters.
func (m *machine) show(s *State, g Message) {
	if m.receives > 0 && g.Received >= m.receives && !g.Dead {
		g.Dead, g.Received = true, 0
	}
	s.queue = append(slices.Clip(s.queue), g)
}

func (s *State) end(pi int) { s.procs = slices.Delete(slices.Clone(s.procs), pi, pi+1) }

// next sends messages and then continues at after.
func (p *Proc) next(sends []Message, after pc) {
	p.Sends, p.PC, p.After = sends, pcSend, after
	if len(sends) == 0 {
		p.PC = after
	}
}

// ---- what clients do

// ask begins an operation, or continues one after a lost race.
func (m *machine) ask(s *State, pi int, text string) {
	o := m.ops[s.procs[pi].Op]
	whole := s.clone()
	whole.seen(0)
	m.decide(whole, pi, whole.logs[0], text)
	if runs := m.warmly(s); runs != nil && o.kind == 's' {
		m.decide(s.clone(), pi, runs, text+", knowing a closed run")
	}
	if !m.may(s, torn) || o.kind == 0 {
		return
	}
	for i := range s.procs {
		writer := &s.procs[i]
		if !writer.Torn {
			continue
		}
		for half, missing := range writer.Puts {
			runs := slices.Clone(s.logs[0])
			for j := range runs {
				if r := &runs[j]; r.Number == missing.Number {
					r.Commits = r.Commits[:len(r.Commits)-1]
				}
			}
			runs = slices.DeleteFunc(runs, func(r Run) bool { return len(r.Commits) == 0 })
			if m.on(LookAgainTorn) && m.tornRead(runs) {
				continue // the reader notices this, and reads again
			}
			t := s.clone()
			t.faults++
			m.decide(t, pi, runs, fmt.Sprintf("%s, reading all but %s of the transaction [fault]", text, sketch(writer.Puts[half])))
		}
	}
}

// warmly returns what a process reads that knows a closed run of which the last commit is gone, or
// nil if there is no such process, or if it sees that.
func (m *machine) warmly(s *State) []Run {
	if s.warm == nil || m.on(ReadsLast) && !m.big {
		return nil
	}
	runs := []Run{*s.warm}
	for _, r := range s.logs[0] {
		if r.Number == s.warm.Number && r.intact() && r.ID() == s.warm.ID() {
			return nil // it reads what others read
		}
		if r.Number > s.warm.Number {
			runs = append(runs, r)
		}
	}
	return runs
}

// prove lets the process that knows a closed run read what is new, which it does more often than
// anything expires. It forgets the run if it sees that the run has gone, or anything above it.
func (m *machine) prove(s *State) {
	if s.warm == nil {
		return
	}
	for _, r := range s.logs[0] {
		if r.Number > s.warm.Number {
			s.warm = nil
			return
		}
		if r.Number == s.warm.Number && r.ID() == s.warm.ID() {
			return
		}
	}
	if m.on(ReadsLast) && !m.big {
		s.warm = nil
	}
}

// seen records that a reader has seen the latest run and everything above it. No later reader
// misses those commits, because reads of one item are consistent.
func (s *State) seen(workflow uint32) {
	for i := range s.procs {
		p := &s.procs[i]
		if !p.Torn {
			continue
		}
		v := Look(s.logs[workflow])
		p.Puts = slices.DeleteFunc(slices.Clone(p.Puts), func(c *Commit) bool { return c.Workflow == workflow && (v.Run == nil || c.Number >= v.Run.Number) })
		p.Torn = len(p.Puts) > 0
	}
}

// tornRead reports whether a reader has seen half of a transaction, that is, runs that never
// existed together.
func (m *machine) tornRead(runs []Run) bool {
	v := Look(runs)
	for i := range runs {
		c := runs[i].At(0)
		if c == nil || c.Beside == 0 || v.Run != nil && v.Run.Number > c.Beside {
			continue
		}
		if there := func(r Run) bool { return r.Number == c.Beside || !m.on(SeeBeside) && r.Number > c.Beside }; !slices.ContainsFunc(runs, there) {
			return true // the run of the same put is missing
		}
	}
	if v.Run == nil {
		return false
	}
	if next := v.Run.Last().Next; next != 0 {
		return true // the next run is missing
	}
	if from := v.Run.Commits[0].From; from != 0 {
		for i := range runs {
			if r := &runs[i]; r.ID() == from {
				return !r.Closed()
			}
		}
	}
	return false
}

// decide decides what a request does after its process has read the runs.
func (m *machine) decide(s0 *State, pi int, runs []Run, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	p.Puts, p.Sends, p.Torn = nil, nil, false
	o, v := m.ops[p.Op], Look(runs)
	truth := Look(s.logs[0])
	answer := func(verdict uint8, why string) {
		if verdict == opNotFound && truth.Run != nil && !truth.Run.Closed() {
			s.broken = "a request is told that there is no open run, and there is one"
		}
		p.PC, p.Verdict = pcAnswer, verdict
		m.add(s, "%s: %s", text, why)
	}
	if o.kind == 's' {
		m.decideStart(s, p, o, v, runs, text, answer)
		return
	}
	if v.Run == nil {
		answer(opNotFound, "there is no run")
		return
	}
	if m.known(o, v.Run, runs) {
		answer(opDone, "it is known")
		return
	}
	if v.Run.Closed() {
		answer(opNotFound, "the run has closed")
		return
	}
	w := writes{}
	if o.kind == 'g' {
		w.signals = []uint32{o.id}
	} else {
		if m.rejects != 0 && v.Run.resolved(m.rejects) {
			answer(opRejected, "the validator rejects it")
			return
		}
		w.updates = []uint32{o.id}
	}
	m.write(s, p, m.commit(s, v.Run, w), text)
}

// known reports whether a signal or an update was committed before.
func (m *machine) known(o op, run *Run, runs []Run) bool {
	has := func(r *Run) bool {
		return slices.ContainsFunc(r.Commits, func(c *Commit) bool {
			return o.kind == 'g' && slices.Contains(c.Signals, o.id) || o.kind == 'u' && slices.Contains(c.Updates, o.id)
		})
	}
	if has(run) {
		return true
	}
	if !m.on(LookBack) {
		return false
	}
	for i := range runs {
		if r := &runs[i]; r.ID() == run.Commits[0].From && r.Gone == 0 && r.Closed() {
			return has(r)
		}
	}
	return false
}

func (m *machine) decideStart(s *State, p *Proc, o op, v View, runs []Run, text string, answer func(uint8, string)) {
	if v.Run != nil {
		if v.Run.Commits[0].Request == o.id {
			answer(opDone, "an earlier sending has opened the latest run")
			return
		}
		for i := len(runs) - 1; i >= 0 && m.on(LookBack); i-- {
			r := &runs[i]
			if r.Number >= v.Run.Number || r.Commits[0].Status == Void && m.on(LookOverVoid) {
				continue
			}
			if r.At(0) != nil && r.Commits[0].Request == o.id {
				answer(opDone, "an earlier sending has opened the run before the latest")
				return
			}
			break
		}
	}
	var puts []*Commit
	switch {
	case v.Run != nil && !v.Run.Closed() && !o.terminate:
		answer(opRefused, "a run is open")
		return
	case v.Run != nil && !v.Run.Closed():
		puts = m.commit(s, v.Run, writes{end: Terminated})
	case m.on(TakeBeside):
		for _, x := range v.Beside() {
			c := m.void(s, 0, x.Number, s.id())
			if c.Over = x.Commit; m.on(NameBeside) {
				c.Beside = v.Highest + 1
			}
			puts = append(puts, c)
		}
	}
	m.write(s, p, append(puts, m.open(s, 0, v.Highest+1, o.id, nil)), text)
}

// write lets a request send its messages and then put.
func (m *machine) write(s *State, p *Proc, puts []*Commit, text string) {
	p.Puts = puts
	p.next(messages(puts), pcPut)
	if !m.on(SendBeforePut) {
		p.PC, p.Sends = pcPut, nil
	}
	m.add(s, "%s: prepares %s", text, list(puts))
}

// putRequest executes the put of a request.
func (m *machine) putRequest(s0 *State, pi int, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	if m.put(s, p.Puts) == taken {
		p.Puts = nil
		m.ask(s, pi, text+": the slot is taken")
	} else {
		p.PC, p.Verdict, p.Torn = pcAnswer, opDone, len(p.Puts) == 2 && m.may(s, torn)
		if !m.on(SendBeforePut) {
			p.next(messages(p.Puts), pcAnswer)
		}
		puts := p.Puts
		s.note(Event{Do: Put, Actor: p.actor, Commits: p.Puts})
		if !p.Torn {
			p.Puts = nil
		}
		m.add(s, "%s: puts %s", text, list(puts))
	}
	if !m.may(s0, late) || len(s0.floats) > 1 {
		return
	}
	s = s0.clone()
	s.faults++
	p = &s.procs[pi]
	s.floats = append(slices.Clip(s.floats), p.Puts)
	if m.on(SamePut) {
		s.ops[p.Op] = opUnknown
		s.end(pi)
		m.add(s, "%s: the put gets no answer and is on its way; the request ends unanswered [fault]", text)
		return
	}
	p.Puts = nil
	m.ask(s, pi, text+": the put gets no answer and is on its way; tried anew [fault]")
}

// ---- what handlers do

func (p *Proc) triggers() (all []Trigger) {
	for _, g := range p.Held {
		all = append(all, Trigger{g.CausationID, g.Seen})
	}
	return all
}

func (p *Proc) causationIDs() (all []uint32) {
	for _, g := range p.Held {
		if !slices.Contains(all, g.CausationID) {
			all = append(all, g.CausationID)
		}
	}
	return all
}

// look lets a handler read the log and decide.
func (m *machine) look(s *State, pi int, text string) {
	s = s.clone()
	s.seen(s.procs[pi].Work.Workflow)
	p := &s.procs[pi]
	g := &p.Work
	v := Look(s.logs[g.Workflow])
	switch place := v.Find(g); {
	case place == InLog:
		m.act(s, pi, v.Run, text)
		m.actStale(s, pi, v.Run, text)
	case place == Never:
		m.past(s, pi, v, text)
	case !m.on(CommitInLog) && g.Kind == RunActivity:
		t := s.clone()
		t.procs[pi].PC = pcRun
		t.broken = "an activity ran that no commit schedules"
		m.add(t, "%s: runs it, though its commit is not in the log", text)
	default:
		m.wait(s, pi, v, text)
	}
}

// alive reports whether the writer of a commit still runs, and whether its put is under way.
func alive(s *State, commit uint32) (writer, float bool) {
	has := func(all []*Commit) bool {
		return slices.ContainsFunc(all, func(c *Commit) bool { return c.ID == commit })
	}
	for i := range s.procs {
		if p := &s.procs[i]; p.Kind == client && (p.PC == pcSend || p.PC == pcPut) && has(p.Puts) {
			writer = true
		}
	}
	return writer, slices.ContainsFunc(s.floats, has)
}

// wait handles a message whose commit is not in the log yet: with a delayed copy, or, after the
// grace, with a fence.
func (m *machine) wait(s0 *State, pi int, v View, text string) {
	g := s0.procs[pi].Work
	writer, float := alive(s0, g.Commit)
	if (writer || float) && !g.Copied {
		s := s0.clone()
		p := &s.procs[pi]
		later := g
		later.Copied = true
		if !m.on(CopyKeepsCausation) {
			later.CausationID = 0
		}
		p.next([]Message{later}, pcDelete)
		m.add(s, "%s: its commit is not there yet: a copy takes its place", text)
	}
	s := s0.clone()
	p := &s.procs[pi]
	if writer {
		if !m.may(s0, freeze) {
			return
		}
		s.faults++
		text += " [fault: its writer sleeps for longer than the grace]"
	}
	switch {
	case !v.MayFence(&g):
		p.PC = pcDelete
		m.add(s, "%s: nobody can fill its slot", text)
	case !m.on(FenceBeforeDrop):
		p.PC = pcDelete
		m.add(s, "%s: its commit is not there after the grace: drops it", text)
	default:
		c := m.void(s, g.Workflow, g.Number, g.Run)
		if v.Run != nil && v.Run.Number == g.Number {
			c = &Commit{ID: s.id(), Run: g.Run, Workflow: g.Workflow, Number: g.Number, Slot: g.Slot, Fence: true}
		}
		m.put(s, []*Commit{c})
		s.note(Event{Do: Put, Actor: p.actor, Commits: []*Commit{c}, Graced: true})
		p.PC = pcDelete
		m.add(s, "%s: its commit is not there after the grace: fences %s", text, list{c})
	}
}

// past handles a message whose slot holds another commit, or whose run is not the latest.
func (m *machine) past(s0 *State, pi int, v View, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	g := &p.Work
	if v.Run == nil || v.Run.Number <= g.Number {
		p.PC = pcDelete
		m.add(s, "%s: its slot holds another commit, or its run is gone", text)
		return
	}
	var sends []Message
	run := closedRun(s.logs[g.Workflow], g.Run)
	first := func(next *Run) {
		if next != nil && next.Commits[0].From == g.Run && m.on(RepairNext) {
			sends = append(sends, m.again(next.OwedFirst(g.CausationID), 1, g.CausationID)...)
		}
	}
	switch {
	case run == nil || !m.repairs() && g.Seen == 0:
		first(v.Run)
	case int(g.Seen) < len(run.Commits):
		sends = m.again(m.owed(run, p.triggers(), nil), int32(len(run.Commits)), g.CausationID)
		if next := run.Last().Next; next == v.Run.ID() {
			first(v.Run)
		} else if next != 0 {
			first(closedRun(s.logs[g.Workflow], next))
		}
	}
	if run != nil && g.Kind.outlives() && len(sends) == 0 && run.At(g.Slot) != nil && run.At(g.Slot).ID == g.Commit {
		m.act(s, pi, run, text)
		return
	}
	p.next(sends, pcDelete)
	m.add(s, "%s: of a run before the latest; %d to send again", text, len(sends))
}

// repairs reports whether a handler repairs what an earlier delivery of its message may have left
// undone. It does so always, because the queue's receive count may be too low.
func (m *machine) repairs() bool { return m.on(RepairAlways) }

// closedRun returns a run by its id, or nil if it is not closed or not whole.
func closedRun(runs []Run, id uint32) *Run {
	for i := range runs {
		if r := &runs[i]; r.ID() == id && r.Gone == 0 && r.Closed() && r.Commits[0].Status != Void {
			return r
		}
	}
	return nil
}

func (m *machine) owed(run *Run, triggers []Trigger, except *Commit) []Due {
	if !m.on(RepairOwed) {
		return nil
	}
	return run.Owed(triggers, except)
}

// actStale does the same as act, for a process that holds only the beginning of the run.
func (m *machine) actStale(s *State, pi int, run *Run, text string) {
	g := s.procs[pi].Work
	if !m.stale || g.Kind != RunActivity || g.Dead {
		return
	}
	for n := int(g.Slot) + 1; n < len(run.Commits); n++ {
		known := &Run{Number: run.Number, Commits: run.Commits[:n]}
		if known.Needed(g.Kind, g.Event, g.Commit) && run.Needed(g.Kind, g.Event, g.Commit) {
			continue // act would do this anyway
		}
		m.act(s, pi, known, fmt.Sprintf("%s (knowing only %d commits)", text, n))
	}
}

// act handles a message whose commit is in the log.
func (m *machine) act(s0 *State, pi int, run *Run, text string) {
	g := s0.procs[pi].Work
	if !run.Needed(g.Kind, g.Event, g.Commit) {
		m.repair(s0.clone(), pi, run, text+": it is done")
		return
	}
	switch g.Kind {
	case RunActivity:
		m.admit(s0, pi, run, text)
	case FireTimer:
		if g.Dead {
			m.bury(s0.clone(), pi, text)
			return
		}
		m.resolve(s0, pi, text+": the timer fires")
	case StartOrCloseChild:
		s := s0.clone()
		p := &s.procs[pi]
		p.PC, p.Verdict = pcChild, 0
		if run.Closed() && !m.task(g.Event).abandon {
			p.Verdict = 1
		}
		m.add(s, "%s: the parent is %s", text, map[bool]string{false: "open", true: "closed"}[run.Closed()])
	case NotifyParent:
		m.report(s0, pi, text)
	case NotifyCaller:
		s := s0.clone()
		s.procs[pi].PC = pcChild
		m.add(s, "%s: the run has closed", text)
	}
}

// repair sends what a message's causation id owes, and then deletes the message.
func (m *machine) repair(s *State, pi int, run *Run, text string) {
	p := &s.procs[pi]
	sends := m.again(m.owed(run, p.triggers(), nil), int32(len(run.Commits)), p.Held[0].CausationID)
	if p.Work.Kind == StartOrCloseChild && m.repairs() {
		sends = append(sends, m.foreign(s, 1, p)...)
	}
	p.next(sends, pcDelete)
	m.add(s, "%s; %d to send again", text, len(sends))
}

// foreign returns what another workflow's log owes because of the message.
func (m *machine) foreign(s *State, workflow uint32, p *Proc) (sends []Message) {
	if !m.on(RepairForeign) || !m.repairs() {
		return nil
	}
	for i := range s.logs[workflow] {
		r := &s.logs[workflow][i]
		for _, g := range m.again(m.owed(r, []Trigger{{p.Work.CausationID, 0}}, nil), int32(len(r.Commits)), p.Work.CausationID) {
			if p.Work.Kind != StartOrCloseChild || g.Kind != NotifyParent {
				sends = append(sends, g)
			}
		}
	}
	return sends
}

// bury sends a dead letter again.
func (m *machine) bury(s *State, pi int, text string) {
	p := &s.procs[pi]
	again := p.Work
	again.Copied = false
	p.next([]Message{again}, pcDelete)
	m.add(s, "%s: a dead letter: sent again", text)
}

// record returns the record of an activity. The index is -1 if there is none.
func (m *machine) record(s *State, g *Message) (int, *Record) {
	for i := range s.recs {
		r := &s.recs[i]
		if r.Workflow == g.Workflow && r.Number == g.Number && r.Event == g.Event && (r.Run == g.Run || !m.on(RecordNamesRun)) {
			return i, r
		}
	}
	return -1, nil
}

// keep records an attempt.
func (m *machine) keep(s *State, g *Message, change func(r *Record)) {
	i, _ := m.record(s, g)
	if i < 0 {
		s.recs = append(s.recs, Record{Workflow: g.Workflow, Number: g.Number, Run: g.Run, Event: g.Event})
		i = len(s.recs) - 1
	}
	s.recs[i].Run = g.Run
	change(&s.recs[i])
}

// admit decides whether an attempt begins.
func (m *machine) admit(s0 *State, pi int, run *Run, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	g := p.Work
	t := m.task(g.Event)
	_, kept := m.record(s, &g)
	if g.Dead && m.on(DeadNotBegun) {
		m.bury(s, pi, text)
		return
	}
	if g.Dead {
		if s.begun[g.Event] == 0 {
			s.broken = "an activity ended by a dead letter, and it never began"
		}
		m.resolve(s, pi, text+": a dead letter: the activity fails")
		return
	}
	number := g.Attempt
	if t.most > 0 && !m.on(MarkBegin) && g.Received > 1 {
		number += int32(g.Received) - 1 // as the queue counts it
	}
	switch Admit(kept, &g, m.on(SameSendGoesOn)) {
	case Failed:
		p.next([]Message{m.further(g, kept.Failed+1)}, pcDelete)
		m.add(s, "%s: attempt %d has failed, the next is sent", text, number)
		return
	case Dropped:
		p.PC = pcDelete
		m.add(s, "%s: attempt %d has failed, and another message goes on", text, number)
		return
	case Begun:
		if m.underWay(s, pi, &g) {
			if !m.may(s, freeze) {
				return // the message becomes visible when the attempt must have ended
			}
			s.faults++
			text += " [fault: the attempt sleeps until its time is over]"
		}
		m.interrupted(s, pi, number, text+": the attempt was interrupted")
		return
	}
	if t.most > 0 && number > t.most {
		m.interrupted(s, pi, number, text+": it counts as interrupted")
		return
	}
	if t.most > 0 && m.on(MarkBegin) {
		m.keep(s, &g, func(r *Record) { r.Begun, r.By = number, g.Send })
	}
	p.Attempt, p.PC = number, pcRun
	m.begin(s, &g, t)
	s.note(Event{Do: Begin, Actor: p.actor, Message: g, Number: number, Limit: t.most})
	m.add(s, "%s: attempt %d begins", text, number)
}

// underWay reports whether another process runs an attempt at the same activity.
func (m *machine) underWay(s *State, pi int, g *Message) bool {
	for i := range s.procs {
		if p := &s.procs[i]; i != pi && p.PC == pcRun && p.Work.Event == g.Event && p.Work.Run == g.Run {
			return true
		}
	}
	return false
}

// interrupted handles an attempt that has begun and whose outcome is unknown.
func (m *machine) interrupted(s *State, pi int, number int32, text string) {
	p := &s.procs[pi]
	g := p.Work
	if s.begun[g.Event] == 0 {
		s.broken = "an activity ended as interrupted, and it never began"
	}
	if number >= m.task(g.Event).most {
		m.resolve(s, pi, text+", and may not be tried again")
		return
	}
	m.keep(s, &g, func(r *Record) { r.Failed, r.By = number, g.Send })
	p.next([]Message{m.further(g, number+1)}, pcDelete)
	m.add(s, "%s, and is recorded as failed", text)
}

// begin counts an execution.
func (m *machine) begin(s *State, g *Message, t *task) {
	if t.most == 0 && m.receives == 0 {
		return
	}
	s.begun[g.Event]++
	if t.most > 0 && int32(s.begun[g.Event]) > t.most {
		s.broken = "an activity was attempted more often than it may be"
	}
}

// further returns the message of a further attempt.
func (m *machine) further(g Message, attempt int32) Message {
	g.Attempt, g.Copied, g.Send = attempt, false, 0
	if !m.on(AttemptKeepsCausation) {
		g.CausationID = 0
	}
	return g
}

// run ends an attempt.
func (m *machine) run(s0 *State, pi int, text string) {
	g := s0.procs[pi].Work
	t := m.task(g.Event)
	n := s0.procs[pi].Attempt
	if t.flaky && n == 1 && (t.most == 0 || n < t.most) {
		s := s0.clone()
		p := &s.procs[pi]
		_, kept := m.record(s, &g)
		switch {
		case kept == nil || kept.Failed < n:
			m.keep(s, &g, func(r *Record) { r.Failed, r.By = n, g.Send })
			p.next([]Message{m.further(g, n+1)}, pcDelete)
			m.add(s, "%s: attempt %d failed, and is recorded", text, n)
		case kept.Failed == n && kept.isBy(&g) && m.on(SameSendGoesOn):
			p.next([]Message{m.further(g, n+1)}, pcDelete)
			m.add(s, "%s: attempt %d failed; a delivery of the same message has recorded it", text, n)
		default:
			m.giveWay(s, pi, fmt.Sprintf("%s: attempt %d failed; another chain of attempts has recorded it", text, n))
		}
	}
	m.finish(s0, pi, text+": it succeeds")
}

// giveWay deletes a message because another one continues its activity. Another delivery may have
// committed the result meanwhile, and died before it sent what follows.
func (m *machine) giveWay(s *State, pi int, text string) {
	p := &s.procs[pi]
	v := Look(s.logs[p.Work.Workflow])
	switch place := v.Find(&p.Work); {
	case place == Never:
		m.past(s, pi, v, text)
		return
	case place == InLog && !v.Run.Needed(p.Work.Kind, p.Work.Event, p.Work.Commit):
		m.repair(s, pi, v.Run, text+": its activity is done")
		return
	}
	p.PC = pcDelete
	m.add(s, "%s", text)
}

// finish commits the result of an attempt, or sends it to the workflow queue.
func (m *machine) finish(s0 *State, pi int, text string) {
	g := s0.procs[pi].Work
	v := Look(s0.logs[g.Workflow])
	switch place := v.Find(&g); {
	case place != InLog:
		s := s0.clone()
		s.procs[pi].PC = pcDelete
		if place == Never {
			m.past(s, pi, v, text)
			return
		}
		m.add(s, "%s: its commit is not in the log", text)
		return
	case !v.Run.Needed(g.Kind, g.Event, g.Commit):
		m.repair(s0.clone(), pi, v.Run, text+": it is done already")
		return
	}
	m.resolve(s0, pi, text)
}

// resolve commits the resolution of an event.
func (m *machine) resolve(s0 *State, pi int, text string) {
	g := s0.procs[pi].Work
	v := Look(s0.logs[g.Workflow])
	if v.Find(&g) != InLog || !v.Run.Needed(g.Kind, g.Event, g.Commit) {
		m.look(s0, pi, text) // the process held an old state
		return
	}
	f := read(v.Run.Commits)
	pending := 0
	for i := range m.tasks {
		if bit := uint32(1) << (i + 1); m.tasks[i].kind == RunActivity && f.sched&bit != 0 && f.done&bit == 0 {
			pending++
		}
	}
	if g.Kind == RunActivity && pending > 1 {
		s := s0.clone()
		result := g
		result.Kind = TakeResult
		result.Copied, result.Send = false, 0
		if !m.on(ResultKeepsCausation) {
			result.CausationID = 0
		}
		s.procs[pi].next([]Message{result}, pcDelete)
		m.add(s, "%s: hands the result over", text)
		return
	}
	m.commits(s0, pi, v.Run, writes{done: []int32{g.Event}, causationIDs: s0.procs[pi].causationIDs(), inline: g.Kind == RunActivity}, pcDelete, text)
}

// commits lets a handler put commits and then send what follows.
func (m *machine) commits(s0 *State, pi int, run *Run, w writes, after pc, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	puts := m.commit(s, run, w)
	if !m.on(OnePut) && len(puts) == 2 {
		m.twoPuts(s, pi, puts, text)
		return
	}
	if m.put(s, puts) == taken {
		m.look(s0, pi, text+": the slot is taken")
		return
	}
	s.note(Event{Do: Put, Actor: p.actor, Commits: puts})
	m.follow(s, p, puts, after)
	if len(puts) == 2 && m.may(s, torn) {
		p.Torn, p.Puts = true, puts
	}
	m.add(s, "%s: puts %s", text, list(puts))
	if !m.may(s0, late) || len(s0.floats) > 1 {
		return
	}
	s = s0.clone()
	s.faults++
	puts = m.commit(s, run, w)
	s.floats = append(slices.Clip(s.floats), puts)
	if m.on(SamePut) {
		m.give(s, &s.procs[pi])
		s.end(pi)
		m.add(s, "%s: the put of %s gets no answer and is on its way; the message is redelivered [fault]", text, list(puts))
		return
	}
	m.look(s, pi, text+": the put gets no answer and is on its way; tried anew [fault]")
}

// follow lets a handler send what its commits schedule and what its causation ids owe, or continue
// inline.
func (m *machine) follow(s *State, p *Proc, puts []*Commit, after pc) {
	c := puts[0]
	if len(c.Inline) == 1 {
		next := message(c, c.Sched[0])
		next.CausationID, next.Seen, next.Received = p.Held[0].CausationID, p.Held[0].Seen, 1
		if m.sendsMatter() {
			next.Send = s.causation()
		}
		p.Work, p.Inline, p.PC, p.Attempt = next, true, pcRun, 1
		m.begin(s, &next, m.task(next.Event))
		return
	}
	var sends []Message
	if m.on(RepairOwed) {
		for i := range s.logs[c.Workflow] {
			if r := &s.logs[c.Workflow][i]; r.ID() == c.Run {
				sends = m.again(r.Owed(p.triggers(), c), int32(len(r.Commits)), p.Held[0].CausationID)
			}
		}
	}
	p.next(append(sends, messages(puts)...), after)
}

// twoPuts closes a run and opens the next in two puts, in violation of OnePut.
func (m *machine) twoPuts(s *State, pi int, puts []*Commit, text string) {
	p := &s.procs[pi]
	s.floats = append(slices.Clip(s.floats), puts[1:])
	m.land(s, puts[0])
	m.follow(s, p, puts, pcDelete)
	m.add(s, "%s: puts %s, and the next run separately", text, list(puts[:1]))
}

// child works on the log of the child: it starts the child, or carries out the close policy.
func (m *machine) child(s0 *State, pi int, text string) {
	p0 := &s0.procs[pi]
	g := p0.Work
	v := Look(s0.logs[1])
	if g.Kind == NotifyCaller {
		m.notify(s0, pi, v, text)
		return
	}
	if p0.Verdict == 1 {
		m.endChild(s0, pi, v.Run, text)
		return
	}
	s := s0.clone()
	p := &s.procs[pi]
	if v.Run != nil && m.on(KnowChild) {
		p.Mute = !v.Run.Closed()
		p.next(m.foreign(s, 1, p), pcNews)
		m.add(s, "%s: the child is there", text)
		return
	}
	if v.Run != nil && !v.Run.Closed() {
		p.PC, p.Mute = pcNews, true
		m.add(s, "%s: another run is open", text)
		return
	}
	puts := []*Commit{m.open(s, 1, v.Highest+1, 9, p.causationIDs())}
	if m.put(s, puts) == taken {
		return
	}
	for i := range s.logs[0] {
		if s.logs[0][i].resolved(g.Event) {
			s.broken = "a child was started again after its parent knew how it ended"
		}
	}
	if len(s.logs[1]) > 1 {
		s.broken = "a child was started twice"
	}
	p.Mute = true
	p.next(messages(puts), pcNews)
	s.note(Event{Do: Put, Actor: p.actor, Commits: puts})
	m.add(s, "%s: starts the child: %s", text, list(puts))
	if !m.may(s0, late) {
		return
	}
	s = s0.clone()
	s.faults++
	s.floats = append(slices.Clip(s.floats), []*Commit{m.open(s, 1, v.Highest+1, 9, s.procs[pi].causationIDs())})
	m.give(s, &s.procs[pi])
	s.end(pi)
	m.add(s, "%s: the start of the child gets no answer and is on its way [fault]", text)
}

// notify starts the delivering run of a notification, unless an earlier delivery of the message
// has.
func (m *machine) notify(s0 *State, pi int, v View, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	if v.Run != nil && (m.on(DeliverOnce) || !v.Run.Closed()) {
		p.next(m.foreign(s, 1, p), pcDelete)
		m.add(s, "%s: the delivering run is there", text)
		return
	}
	puts := []*Commit{m.open(s, 1, v.Highest+1, 9, p.causationIDs())}
	if m.put(s, puts) == taken {
		return
	}
	if len(s.logs[1]) > 1 {
		s.broken = "an end was notified by two runs"
	}
	p.next(messages(puts), pcDelete)
	s.note(Event{Do: Put, Actor: p.actor, Commits: puts})
	m.add(s, "%s: starts the delivering run: %s", text, list(puts))
	if !m.may(s, late) {
		return
	}
	s = s0.clone()
	s.faults++
	s.floats = append(slices.Clip(s.floats), []*Commit{m.open(s, 1, v.Highest+1, 9, s.procs[pi].causationIDs())})
	m.give(s, &s.procs[pi])
	s.end(pi)
	m.add(s, "%s: the start of the delivering run gets no answer and is on its way [fault]", text)
}

func (m *machine) endChild(s0 *State, pi int, run *Run, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	switch {
	case run == nil && p.Work.Attempt == 1 && m.on(LookForChild) && m.repairs():
		again := p.Work
		again.Attempt = 2
		p.next([]Message{again}, pcDelete)
		m.add(s, "%s: there is no child yet: looks for it again later", text)
	case run == nil:
		p.PC = pcDelete
		m.add(s, "%s: there is no child", text)
	case run.Closed():
		p.next(m.foreign(s, 1, p), pcDelete)
		m.add(s, "%s: the child has closed", text)
	default:
		m.commits(s0, pi, run, writes{end: Terminated, causationIDs: s0.procs[pi].causationIDs()}, pcDelete, text+": ends the child")
	}
}

// news notifies the parent of a child.
func (m *machine) news(s0 *State, pi int, text string) {
	s := s0.clone()
	p := &s.procs[pi]
	g := p.Work
	v := Look(s.logs[0])
	run := v.Run
	if v.Find(&g) != InLog {
		run = closedRun(s.logs[0], g.Run)
	}
	switch {
	case run == nil:
		p.PC = pcDelete
		m.add(s, "%s: the parent is gone", text)
	case run.Closed() && m.on(LookAtParent) && !m.task(g.Event).abandon:
		p.PC, p.Verdict = pcChild, 1
		m.add(s, "%s: the parent has closed meanwhile", text)
	case run.Closed(), p.Mute, run.resolved(g.Event):
		m.repair(s, pi, run, text+": has nothing to tell the parent")
	default:
		m.commits(s0, pi, run, writes{done: []int32{g.Event}, causationIDs: p.causationIDs()}, pcDelete, text+": notifies the parent")
	}
}

// report notifies the parent of the end of a child.
func (m *machine) report(s0 *State, pi int, text string) {
	v := Look(s0.logs[0])
	event := int32(slices.IndexFunc(m.tasks, func(t task) bool { return t.kind == StartOrCloseChild }) + 1)
	if v.Run == nil || v.Run.Closed() || v.Run.resolved(event) {
		s := s0.clone()
		p := &s.procs[pi]
		p.next(m.foreign(s, 0, p), pcDelete)
		m.add(s, "%s: the parent does not wait for it", text)
		return
	}
	m.commits(s0, pi, v.Run, writes{done: []int32{event}, causationIDs: s0.procs[pi].causationIDs()}, pcDelete, text+": notifies the parent")
}

// results handles messages of the workflow queue.
func (m *machine) results(s *State, pi int, text string) {
	p := &s.procs[pi]
	v := Look(s.logs[0])
	var done []int32
	any := false
	for i := range p.Held {
		g := &p.Held[i]
		if v.Find(g) != InLog {
			continue
		}
		any = true
		if !slices.Contains(done, g.Event) && v.Run.Needed(TakeResult, g.Event, g.Commit) {
			done = append(done, g.Event)
		}
	}
	if len(done) > 0 {
		m.commits(s, pi, v.Run, writes{done: done, causationIDs: p.causationIDs()}, pcDelete, text)
		return
	}
	t := s.clone()
	q := &t.procs[pi]
	if any {
		m.repair(t, pi, v.Run, text+": all is done")
		return
	}
	if v.Run != nil && v.Run.Number > q.Held[0].Number {
		q.Work = q.Held[0]
		m.past(t, pi, v, text)
		return
	}
	q.PC = pcDelete
	m.add(t, "%s: its run is gone", text)
}
