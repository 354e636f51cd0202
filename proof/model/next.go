package model

import (
	"fmt"
	"slices"
)

// successors returns the steps that are possible in a state. To reduce the number of states, a step
// includes its next steps if no process can distinguish whether they happen at once
// (machine.local).
func (m *machine) successors(s *State) []step {
	m.steps = m.steps[:0:0]
	m.single(s)
	if m.plain {
		return m.steps
	}
	var all []step
	for _, t := range m.steps {
		all = m.settle(all, t)
	}
	return all
}

// settle adds a step, including everything that its processes do at once.
func (m *machine) settle(all []step, t step) []step {
	pi := -1
	if t.state.broken == "" {
		pi = slices.IndexFunc(t.state.procs, func(p Proc) bool { return m.local(t.state, &p) })
	}
	if pi < 0 {
		if m.clean && t.state.broken == "" {
			m.tidy(t.state)
		}
		return append(all, t)
	}
	m.steps = m.steps[:0:0]
	m.advance(t.state, pi)
	if t.state.procs[pi].PC != pcRun {
		m.crash(t.state, pi)
	}
	for _, next := range m.steps {
		if m.trace {
			next.text, next.events = t.text+"; "+next.text, slices.Concat(t.events, next.events)
		}
		all = m.settle(all, next)
	}
	return all
}

// tidy lets the retention of closed runs pass. Once no further request will arrive, it also forgets
// what has no effect on existing runs: void runs, and messages of runs that nobody will put.
func (m *machine) tidy(s *State) {
	isVoid := func(r Run) bool { return r.Commits[0].Status == Void }
	if m.quiet(s) && !m.warm {
		for i := range s.logs[0] {
			if r := &s.logs[0][i]; r.Closed() && !isVoid(*r) {
				r.Old = true
			}
		}
	}
	if !m.over(s) || m.laps > 0 || slices.ContainsFunc(s.procs, func(p Proc) bool { return p.Kind != handler }) {
		return
	}
	s.logs[0] = slices.DeleteFunc(s.logs[0], isVoid)
	there := func(g Message) bool {
		return slices.ContainsFunc(s.logs[g.Workflow], func(r Run) bool { return r.ID() == g.Run })
	}
	s.queue = slices.DeleteFunc(slices.Clone(s.queue), func(g Message) bool { return !there(g) })
}

// local reports whether the next action of a process may happen at once, or the process may die at
// once, without loss of generality. The condition has two parts:
//
//   - Whatever the other processes do first, they can also do afterwards.
//   - Nothing is possible only because this process waits.
//
// This is a partial-order reduction. The process's steps are a persistent set, and each leaves it
// less to do, so no step of another process is postponed for ever. Losing the visibility of the
// messages here has the same effect as dying after the last sending, or as a duplicate, which is a
// fault, too.
func (m *machine) local(s *State, p *Proc) bool {
	crash := m.may(s, crash)
	switch p.PC {
	case pcAnswer:
		return !p.Torn // until it has answered, somebody may read half of what it has put
	case pcSend:
		switch {
		case p.Torn, p.Sends[0].Kind == TakeResult:
			return false // the order of results matters
		case p.Kind == client:
			// The receiver of one message may wait while the writer lives. The writer may die
			// before it sends the next message.
			return !crash || len(p.Sends) == len(messages(p.Puts))
		}
		return true
	case pcDelete:
		// A receipt may be old and still delete.
		return m.on(LatestReceipt) || !m.may(s, lapse) && (!p.Back || p.Held[0].Twin == 0)
	case pcRun:
		// The process acts on the log and the message that it has read, and reads again before it
		// commits.
		t := m.task(p.Work.Event)
		return p.Kind == handler && !p.Inline && t.most == 0 && !t.flaky && m.receives == 0 && m.kinds == 0
	}
	return false
}

// single adds the single actions that are possible in a state.
func (m *machine) single(s *State) {
	for i, o := range m.ops {
		fresh := s.ops[i] == opNew && m.inTurn(s, i)
		if fresh || s.ops[i] == opUnknown && m.retry {
			t := s.clone()
			t.ops[i] = opRuns
			by := t.newActor()
			t.procs = append(t.procs, Proc{Kind: client, Op: uint8(i), actor: by})
			t.note(Event{Do: Ask, Actor: by})
			m.ask(t, len(t.procs)-1, opName(o))
		}
	}
	busy := 0
	for pi := range s.procs {
		if p := &s.procs[pi]; p.Kind != client {
			busy++
		}
		m.advance(s, pi)
		m.disturb(s, pi)
	}
	limit := m.handlers
	if limit == 0 {
		limit = 3
	}
	for i := range s.queue {
		if i > 0 && s.queue[i] == s.queue[i-1] {
			continue
		}
		m.deliver(s, i, busy < limit)
	}
	if busy < limit {
		m.deliverResults(s)
	}
	for i := range s.floats {
		m.float(s, i)
	}
	if m.clean {
		m.maintain(s)
	}
}

// inTurn reports whether an operation may begin. Operations begin in their order, without waiting
// for each other's end. An operation that needs a run waits for one.
func (m *machine) inTurn(s *State, i int) bool {
	if m.ops[i].kind != 's' && len(s.logs[0]) == 0 {
		return false
	}
	for j := range i {
		if s.ops[j] == opNew && (m.ops[i] == m.ops[j] || m.alike(m.ops[i], m.ops[j])) {
			return false
		}
	}
	return true
}

// alike reports whether two operations differ only in their ids, so that their order does not
// matter.
func (m *machine) alike(a, b op) bool {
	sendings := func(o op) (n int) {
		for _, x := range m.ops {
			if x == o {
				n++
			}
		}
		return n
	}
	special := slices.ContainsFunc(m.tasks, func(t task) bool { return t.but }) && (a.id == 1 || b.id == 1)
	if special || sendings(a) != sendings(b) {
		return false
	}
	a.id = b.id
	return a == b
}

func (m *machine) who(p *Proc) string {
	if !m.trace {
		return ""
	}
	switch p.Kind {
	case client:
		return opName(m.ops[p.Op])
	case cleaner:
		return "maintenance"
	}
	return "handler of " + p.Held[0].text()
}

// advance executes the next action of a process.
func (m *machine) advance(s0 *State, pi int) {
	text := m.who(&s0.procs[pi])
	switch s0.procs[pi].PC {
	case pcSend:
		s := s0.clone()
		p := &s.procs[pi]
		g := p.Sends[0]
		if p.Sends = p.Sends[1:]; len(p.Sends) == 0 {
			p.Sends, p.PC = nil, p.After
		}
		if p.Torn && p.Kind != client {
			p.Torn, p.Puts = false, nil
		}
		m.send(s, g, p.actor)
		m.add(s, "%s: sends %s", text, g.text())
	case pcPut:
		m.putRequest(s0, pi, text)
	case pcAnswer:
		s := s0.clone()
		p := &s.procs[pi]
		s.ops[p.Op] = p.Verdict
		s.end(pi)
		m.add(s, "%s: answered %s", text, []string{"", "", "done", "rejected", "unknown", "not found", "refused"}[p.Verdict])
	case pcLook:
		m.look(s0, pi, text)
	case pcRun:
		m.run(s0, pi, text)
	case pcChild:
		m.child(s0, pi, text)
	case pcNews:
		m.news(s0, pi, text)
	case pcClean:
		m.cleanStep(s0, pi)
	case pcDelete:
		m.delete(s0, pi, text)
	}
}

// delete ends a handler and deletes its messages.
func (m *machine) delete(s0 *State, pi int, text string) {
	s := s0.clone()
	p := s.procs[pi]
	s.end(pi)
	s.note(Event{Do: Delete, Actor: p.actor, Messages: p.Held})
	m.add(s, "%s: deletes it", text)
	if m.on(LatestReceipt) || p.Held[0].Twin == 0 || !p.Back {
		return
	}
	twin := func(g Message) bool { return g.Twin == p.Held[0].Twin }
	s = s0.clone()
	s.end(pi)
	s.queue = slices.DeleteFunc(s.queue, twin)
	for i := range s.procs {
		if q := &s.procs[i]; slices.ContainsFunc(q.Held, twin) {
			q.Back = true // so that nothing returns it to the queue
		}
	}
	m.add(s, "%s: deletes it with an old receipt, and SQS does delete it", text)
}

// disturb lets a fault happen to a process.
func (m *machine) disturb(s0 *State, pi int) {
	m.crash(s0, pi)
	p0 := &s0.procs[pi]
	text := m.who(p0)
	if (p0.Kind == handler || p0.Kind == batch) && !p0.Back && m.may(s0, lapse) {
		s := s0.clone()
		s.faults++
		p := &s.procs[pi]
		if !m.on(LatestReceipt) {
			s.nextTwin++
			p.Held = slices.Clone(p.Held)
			for i := range p.Held {
				p.Held[i].Twin = s.nextTwin
			}
		}
		m.give(s, p)
		s.procs[pi].Back = true
		m.add(s, "%s: its visibility runs out [fault]", text)
	}
}

// crash ends a process.
func (m *machine) crash(s0 *State, pi int) {
	if !m.may(s0, crash) {
		return
	}
	text := m.who(&s0.procs[pi])
	s := s0.clone()
	s.faults++
	p := &s.procs[pi]
	if p.Kind == client {
		s.ops[p.Op] = opUnknown
	} else {
		m.give(s, p)
	}
	s.end(pi)
	m.add(s, "%s: dies [fault]", text)
}

// deliver delivers a visible message, or lets a fault happen to the message.
func (m *machine) deliver(s0 *State, i int, free bool) {
	g := s0.queue[i]
	waits := g.Kind == StartOrCloseChild && g.Attempt > 1 && (len(s0.floats) > 0 || slices.ContainsFunc(s0.procs, func(p Proc) bool { return p.Work.Kind == StartOrCloseChild }))
	if free && !waits {
		s := s0.clone()
		s.queue = slices.Delete(s.queue, i, i+1)
		g := g
		if m.receives > 0 {
			g.Received++
		}
		by := s.newActor()
		s.procs = append(s.procs, Proc{Kind: handler, Held: []Message{g}, Work: g, actor: by})
		s.note(Event{Do: Receive, Actor: by, Messages: []Message{g}})
		m.look(s, len(s.procs)-1, "received: "+g.label(m.trace))
	}
	if m.may(s0, twice) {
		s := s0.clone()
		s.faults++
		s.queue = append(s.queue, g)
		m.add(s, "%s is there twice [fault]", g.label(m.trace))
	}
	if m.receives > 0 && m.may(s0, throttle) && !g.Dead {
		s := s0.clone()
		s.faults++
		s.queue = slices.Delete(s.queue, i, i+1)
		g.Received++
		m.show(s, g)
		m.add(s, "%s is received, and its handler never runs [fault]", g.label(m.trace))
	}
}

// deliverResults delivers the messages at the head of the workflow queue.
func (m *machine) deliverResults(s0 *State) {
	n := len(s0.fifo)
	for i := range s0.procs {
		if p := &s0.procs[i]; p.Kind == batch && !p.Back {
			return // a group waits for its first message
		}
	}
	for k := 1; k <= n; k++ {
		if s0.fifo[k-1].Number != s0.fifo[0].Number || k > 1 && k < n {
			continue
		}
		s := s0.clone()
		held := slices.Clone(s.fifo[:k])
		s.fifo = slices.Clone(s.fifo[k:])
		by := s.newActor()
		s.procs = append(s.procs, Proc{Kind: batch, Held: held, actor: by})
		s.note(Event{Do: Receive, Actor: by, Messages: held})
		m.results(s, len(s.procs)-1, fmt.Sprintf("received: %d results", k))
	}
}

// float lets a put that is under way land, or drops it.
func (m *machine) float(s0 *State, i int) {
	s := s0.clone()
	f := s.floats[i]
	s.floats = slices.Delete(slices.Clone(s.floats), i, i+1)
	for _, c := range f {
		for _, r := range s.logs[c.Workflow] {
			if r.Number == c.Number && r.At(c.Slot) != nil {
				m.add(s, "the put of %s arrives late, and is refused", list(f))
				return
			}
		}
	}
	lost := s.clone()
	m.put(s, f)
	s.note(Event{Do: Put, Commits: f})
	m.add(s, "the put of %s arrives late", list(f))
	m.add(lost, "the put of %s never arrives", list(f))
}

// ---- maintenance

// maintain lets three things happen: the retention of closed and void runs passes, the store
// deletes void runs, and maintenance begins to delete a run.
//
// No process works for as long as a run is kept. So the retention passes only when no process
// works, and a process that begins later sees the result.
func (m *machine) maintain(s0 *State) {
	quiet, over := m.quiet(s0), m.over(s0)
	cleaning := slices.ContainsFunc(s0.procs, func(p Proc) bool { return p.Kind == cleaner })
	for i := range s0.logs[0] {
		r := &s0.logs[0][i]
		void := r.Commits[0].Status == Void
		if m.warm && s0.warm == nil && i == len(s0.logs[0])-1 && r.Closed() && !void && r.intact() {
			s := s0.clone()
			s.warm = &Run{Number: r.Number, Commits: r.Commits}
			m.add(s, "a process reads run %d, which has closed, and keeps it", r.Number)
		}
		if !m.on(KeepWhole) && r.Closed() {
			for slot := range int32(len(r.Commits)) {
				if r.At(slot) == nil {
					continue
				}
				s := s0.clone()
				s.logs[0][i].Gone |= 1 << slot
				m.drop(s, i)
				m.checkDeleted(s)
				m.add(s, "slot %d of run %d expires", slot, r.Number)
			}
		}
		switch {
		case !r.Closed(), over && (void || !m.remembered(s0, r.ID())):
		case !r.Old:
			if !quiet {
				continue
			}
			s := s0.clone()
			m.prove(s)
			s.logs[0][i].Old = true
			m.add(s, "the retention of run %d passes", r.Number)
		case void:
			s := s0.clone()
			s.note(Event{Do: Drop, Commits: []*Commit{r.Commits[0]}})
			s.logs[0] = slices.Delete(s.logs[0], i, i+1)
			m.add(s, "the void run %d is deleted", r.Number)
		case !cleaning && !m.asked(s0, r):
			s := s0.clone()
			p := Proc{Kind: cleaner, PC: pcClean, Work: Message{Kind: EndRun, Number: r.Number, Run: r.ID()}}
			latest := &s.logs[0][len(s.logs[0])-1]
			next := slices.IndexFunc(s.logs[0], func(x Run) bool { return x.Number == r.Number+1 })
			switch {
			case latest.Number > r.Number && latest.Commits[0].Status != Void:
			case !m.big:
				p.After = pcOver
			case next < 0 && (latest.Number == r.Number || m.on(VoidNext)):
				p.After = pcVoid
			case next >= 0 && s.logs[0][next].Old && s.logs[0][next].Commits[0].Status == Void && m.on(RenewVoid):
				p.After, p.Work.Commit = pcVoid, s.logs[0][next].Commits[0].ID
			}
			s.procs = append(s.procs, p)
			m.add(s, "maintenance finds run %d", r.Number)
		}
	}
}

// quiet reports whether the retention of closed runs may pass, because every process that works now
// ends within it. An early end of the retention does no harm, so it passes as soon as it may. A
// void run may be renewed after its retention.
func (m *machine) quiet(s *State) bool { return len(s.procs)+len(s.floats) == 0 || !m.on(KeepLong) }

// over reports whether no further request or put will arrive. From then on no start can take a
// number. So void runs have no effect on other runs, and neither has a closed run without messages.
func (m *machine) over(s *State) bool {
	for i := range m.ops {
		if s.ops[i] == opNew || s.ops[i] == opRuns || s.ops[i] == opUnknown && m.retry {
			return false
		}
	}
	return len(s.floats) == 0 && !m.plain
}

// remembered reports whether a message of a run exists.
func (m *machine) remembered(s *State, run uint32) bool {
	of := func(g Message) bool { return g.Run == run }
	held := func(p Proc) bool {
		return p.Kind != cleaner && slices.ContainsFunc(p.Held, of) || slices.ContainsFunc(p.Sends, of)
	}
	return slices.ContainsFunc(s.queue, of) || slices.ContainsFunc(s.fifo, of) || slices.ContainsFunc(s.procs, held)
}

// asked reports whether the run that continues a run is open. Requests for it look in the earlier
// run for the ids of requests that may be sent again.
func (m *machine) asked(s *State, r *Run) bool {
	latest := &s.logs[0][len(s.logs[0])-1]
	return m.on(KeepAsked) && r.Last().Status == Continued && latest.ID() == r.Last().Next && !latest.Closed()
}

// cleanStep executes the next step of a deletion (Maintenance.clean). At its beginning, the
// deletion has read what the next number holds.
func (m *machine) cleanStep(s0 *State, pi int) {
	s := s0.clone()
	p := &s.procs[pi]
	run := func(number int32) *Run {
		at := slices.IndexFunc(s.logs[0], func(r Run) bool { return r.Number == number })
		if at < 0 {
			return nil
		}
		return &s.logs[0][at]
	}
	r := run(p.Work.Number)
	if r == nil || r.ID() != p.Work.Run {
		s.end(pi)
		m.add(s, "maintenance: another was faster")
		return
	}
	lose := func(slot int32) {
		s.note(Event{Do: Drop, Commits: []*Commit{r.Commits[slot]}})
		r.Gone |= 1 << slot
		m.drop(s, slices.IndexFunc(s.logs[0], func(x Run) bool { return x.Number == p.Work.Number }))
		m.checkDeleted(s)
	}
	last := int32(len(r.Commits) - 1)
	slot := int32(-1)
	for i := range last {
		if r.Gone&(1<<i) == 0 && slot < 0 {
			slot = i
		}
	}
	if !m.on(KeepLast) && r.Gone&(1<<last) == 0 {
		slot = last
	}
	if slot >= 0 && (slot != last || len(r.Commits) > 1) {
		lose(slot)
		m.add(s, "maintenance: deletes slot %d of run %d", slot, p.Work.Number)
		return
	}
	switch {
	case !m.on(VoidFirst):
	case p.After == pcVoid:
		m.takeNext(s, pi, run(r.Number+1))
		return
	case p.After == pcOver:
		void := m.void(s, 0, r.Number, s.id())
		void.Slot, void.Over = last, r.Commits[last].ID
		m.put(s, []*Commit{void})
		s.end(pi)
		s.note(Event{Do: Put, Commits: []*Commit{void}})
		m.add(s, "maintenance: replaces the last commit of run %d", void.Number)
		return
	}
	lose(last)
	s.end(pi)
	m.add(s, "maintenance: deletes the last commit of run %d", p.Work.Number)
}

// takeNext puts the void run after the run that is being deleted, or renews it
// (executor/maintenance.takeNext). next is the run in that place.
func (m *machine) takeNext(s *State, pi int, next *Run) {
	p := &s.procs[pi]
	p.After = pcLook
	void := m.void(s, 0, p.Work.Number+1, s.id())
	void.Over = p.Work.Commit
	switch {
	case void.Over == 0 && next != nil && next.At(0) != nil:
		m.add(s, "maintenance: run %d is there", void.Number)
		return
	case void.Over != 0 && (next == nil || next.At(0) == nil || next.At(0).ID != void.Over):
		s.end(pi)
		m.add(s, "maintenance: the void run %d is another", void.Number)
		return
	}
	m.put(s, []*Commit{void})
	s.note(Event{Do: Put, Commits: []*Commit{void}})
	m.add(s, "maintenance: puts the void run %d", void.Number)
}

// drop removes a run of which no commit is left.
func (m *machine) drop(s *State, at int) {
	r := &s.logs[0][at]
	switch last := int32(len(r.Commits) - 1); {
	case r.At(last) == nil && r.Cover != nil:
		*r = Run{Number: r.Number, Commits: []*Commit{r.Cover}}
	case !r.present():
		s.logs[0] = slices.Delete(s.logs[0], at, at+1)
	}
}

// ---- what must hold when nothing more can happen

// finished returns what is wrong with a state in which nothing more can happen, or "".
func (m *machine) finished(s *State) string {
	if len(s.queue)+len(s.fifo)+len(s.procs)+len(s.floats) > 0 {
		return "the model is stuck"
	}
	for i := range m.ops {
		if s.ops[i] != opDone {
			continue
		}
		total := uint8(0)
		for j := range m.ops {
			if m.ops[j].kind == m.ops[i].kind && m.ops[j].id == m.ops[i].id {
				total += s.landed[j]
			}
		}
		if total == 0 {
			return "an acknowledged " + opName(m.ops[i]) + " is lost"
		}
	}
	parent := Look(s.logs[0])
	if m.notifies && parent.Run != nil && parent.Run.Closed() && Look(s.logs[1]).Run == nil {
		return "a run has ended, and nobody was notified"
	}
	for w := range s.logs {
		v := Look(s.logs[w])
		if v.Run == nil || v.Run.Closed() {
			continue
		}
		f := read(v.Run.Commits)
		waits := f.sched &^ f.done
		for i := range m.tasks {
			if bit := uint32(1) << (i + 1); waits&bit == 0 {
				continue
			}
			t := &m.tasks[i]
			if t.kind == StartOrCloseChild && len(s.logs[1]) > 0 && !s.logs[1][len(s.logs[1])-1].Closed() {
				continue // the child is stranded, or waits
			}
			return fmt.Sprintf("an open run is stranded: it waits for event %d, and nothing brings it", i+1)
		}
		if w == 0 && m.needs && !f.signal {
			continue
		}
		if w == 1 && !m.notifies && parent.Run != nil && parent.Run.Closed() {
			return "a child outlives its parent"
		}
		if waits == 0 {
			return "an open run is stranded: it waits for nothing"
		}
	}
	return ""
}
