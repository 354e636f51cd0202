package model

import (
	"bytes"
	"slices"
	"sync"
)

const maxOps = 4

// pc is a process's program counter. It says what the next step does.
type pc uint8

const (
	pcLook   pc = iota // read the log and decide
	pcRun              // run the activity's code
	pcSend             // send the next of the messages in hand
	pcPut              // execute a request's put
	pcChild            // work on the log of the child
	pcNews             // notify the parent
	pcClean            // delete the next item of a run
	pcVoid             // put a void run, or renew the existing one, before the end of pcClean
	pcOver             // put a void commit over the last one, as the end of pcClean
	pcDelete           // delete the message
	pcAnswer           // answer the request
)

type procKind uint8

const (
	client  procKind = iota
	handler          // handles a message of a standard queue
	batch            // handles messages of the workflow queue
	cleaner          // deletes a run
)

// Proc is a request, a handler of messages, or a step of maintenance.
type Proc struct {
	Kind    procKind
	PC      pc
	After   pc // where it continues after the last sending
	Op      uint8
	Verdict uint8     // the client's answer
	Held    []Message // the messages that it handles
	Work    Message   // the activity in hand: the message itself, or an activity that it runs inline in place of a message
	Attempt int32
	Inline  bool
	Puts    []*Commit
	Sends   []Message
	Torn    bool // it has put two items, and some readers see only one of them
	Back    bool // the visibility timeout has passed, and the queue has the message again
	Mute    bool // it notifies nobody

	actor uint32 // the process's number in traces
}

// State is a state of the whole model.
type State struct {
	logs   [2][]Run
	queue  []Message // the visible messages of the standard queues
	fifo   []Message // results, in order
	procs  []Proc
	floats [][]*Commit // puts that are still under way
	recs   []Record
	ops    [maxOps]uint8
	landed [maxOps]uint8 // how often the effect of an operation has landed
	begun  [8]uint8      // how often an attempt of an event began
	sends  [8]uint8      // how often an event's message was sent
	faults uint8
	warm   *Run // a closed run that a process knows, or nil

	nextID, nextCausation, nextTwin uint32
	broken                          string

	told   bool // events are recorded
	events []Event
	actors uint32

	pool *pool // from which its successors take their memory; nil without one
}

// The outcomes of an operation.
const (
	opNew = iota
	opRuns
	opDone
	opRejected
	opUnknown
	opNotFound
	opRefused
)

// pool has the memory of states that are no longer needed.
type pool struct {
	states []*State
	used   int
}

// take returns a state that holds nothing but memory for its lists. A nil pool has none.
func (p *pool) take() *State {
	if p == nil {
		return &State{}
	}
	if p.used == len(p.states) {
		p.states = append(p.states, &State{})
	}
	p.used++
	return p.states[p.used-1]
}

// clone copies a state and its lists, into memory of its pool.
func (s *State) clone() *State {
	n := s.pool.take()
	old := *n
	*n = *s
	for w := range n.logs {
		n.logs[w] = append(old.logs[w][:0], s.logs[w]...)
	}
	n.queue = append(old.queue[:0], s.queue...)
	n.fifo = append(old.fifo[:0], s.fifo...)
	n.procs = append(old.procs[:0], s.procs...) // the fields of a process are replaced, and never changed in place
	n.floats = append(old.floats[:0], s.floats...)
	n.recs = append(old.recs[:0], s.recs...)
	return n
}

func (s *State) id() uint32        { s.nextID++; return s.nextID }
func (s *State) causation() uint32 { s.nextCausation++; return s.nextCausation }

// names maps the ids in a state to small numbers, in the order in which they appear.
type names struct {
	id, causation, twin    [256]uint8
	nid, ncausation, ntwin uint8
	held                   [256]bool // causation ids that are held; nothing depends on the others
}

func name(table *[256]uint8, n *uint8, id uint32) uint8 {
	if id == 0 {
		return 0
	}
	if table[id] == 0 {
		*n++
		table[id] = *n
	}
	return table[id]
}

type encoder struct {
	b []byte
	n *names
}

func (e *encoder) u8(v ...uint8)         { e.b = append(e.b, v...) }
func (e *encoder) i(v int32)             { e.b = append(e.b, uint8(v+1)) }
func (e *encoder) flag(v bool)           { e.b = append(e.b, b2i(v)) }
func (e *encoder) ident(id uint32)       { e.u8(name(&e.n.id, &e.n.nid, id)) }
func (e *encoder) causationOf(id uint32) { e.u8(name(&e.n.causation, &e.n.ncausation, id)) }
func (e *encoder) ints(v []int32) {
	e.u8(uint8(len(v)))
	for _, x := range v {
		e.i(x)
	}
}

func (e *encoder) ids(v []uint32) {
	e.u8(uint8(len(v)))
	for _, x := range v {
		e.u8(uint8(x))
	}
}

func b2i(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

func (e *encoder) commit(c *Commit) {
	e.ident(c.ID)
	e.ident(c.Run)
	e.u8(uint8(c.Workflow), uint8(c.Number), uint8(c.Slot), uint8(c.Status), b2i(c.Fence), uint8(c.Request), uint8(c.Lap), uint8(c.Beside))
	e.ident(c.Over)
	e.ident(c.From)
	e.ident(c.Next)
	at := len(e.b)
	e.u8(0)
	for _, w := range c.CausationIDs {
		if e.n.held[w] {
			e.causationOf(w)
			e.b[at]++
		}
	}
	e.u8(uint8(len(c.Sched)))
	for _, o := range c.Sched {
		e.u8(uint8(o.Kind), uint8(o.Event))
	}
	e.ints(c.Done)
	e.ints(c.Inline)
	e.ids(c.Signals)
	e.ids(c.Updates)
}

func (e *encoder) commits(all []*Commit) {
	e.u8(uint8(len(all)))
	for _, c := range all {
		at := len(e.b)
		e.u8(0)
		e.commit(c)
		e.b[at] = uint8(len(e.b) - at - 1)
	}
}

func (e *encoder) message(m *Message) {
	e.u8(uint8(m.Kind), uint8(m.Workflow), uint8(m.Number), uint8(m.Slot), uint8(m.Event), uint8(m.Attempt), m.Received,
		b2i(m.Dead)|b2i(m.Copied)<<1)
	e.i(m.Seen)
	e.ident(m.Run)
	e.ident(m.Commit)
	e.causationOf(m.CausationID)
	e.causationOf(m.Send)
	e.u8(name(&e.n.twin, &e.n.ntwin, m.Twin))
}

func (e *encoder) messages(all []Message) {
	e.u8(uint8(len(all)))
	for i := range all {
		e.message(&all[i])
	}
}

func (e *encoder) proc(p *Proc) {
	e.u8(uint8(p.Kind), uint8(p.PC), uint8(p.After), p.Op, p.Verdict, uint8(p.Attempt),
		b2i(p.Inline)|b2i(p.Torn)<<1|b2i(p.Back)<<2|b2i(p.Mute)<<3)
	e.messages(p.Held)
	e.flag(p.Work.Kind != 0)
	if p.Work.Kind != 0 {
		e.message(&p.Work)
	}
	e.commits(p.Puts)
	e.messages(p.Sends)
}

// hold records the causation ids that a process or a message holds.
func (s *State) hold(n *names) {
	all := func(ms []Message) {
		for i := range ms {
			n.held[ms[i].CausationID] = true
		}
	}
	all(s.queue)
	all(s.fifo)
	for i := range s.procs {
		all(s.procs[i].Held)
		all(s.procs[i].Sends)
		n.held[s.procs[i].Work.CausationID] = true
	}
	n.held[0] = false
}

// sort orders the unordered parts: first by what does not depend on ids, and then by the small
// numbers that the ids have so far.
func (s *State) sort(n *names, space *scratch) {
	x, y, blank := encoder{b: space.x}, encoder{b: space.y}, &space.blank
	compare := func(one, other func(e *encoder)) int {
		for pass := range 2 {
			x.b, y.b = x.b[:0], y.b[:0]
			if x.n = n; pass == 0 {
				x.n = blank
				*blank = names{}
			}
			y.n = x.n
			one(&x)
			if pass == 0 {
				*blank = names{}
			}
			other(&y)
			if c := bytes.Compare(x.b, y.b); c != 0 {
				return c
			}
		}
		return 0
	}
	if len(s.queue) > 1 {
		slices.SortStableFunc(s.queue, func(a, b Message) int {
			return compare(func(e *encoder) { e.message(&a) }, func(e *encoder) { e.message(&b) })
		})
	}
	if len(s.procs) > 1 {
		slices.SortStableFunc(s.procs, func(a, b Proc) int {
			return compare(func(e *encoder) { e.proc(&a) }, func(e *encoder) { e.proc(&b) })
		})
	}
	if len(s.floats) > 1 {
		slices.SortStableFunc(s.floats, func(a, b []*Commit) int {
			return compare(func(e *encoder) { e.commits(a) }, func(e *encoder) { e.commits(b) })
		})
	}
}

// scratch is the temporary memory of an encoding.
type scratch struct {
	n, blank names
	b, x, y  []byte
}

var spaces = sync.Pool{New: func() any { return &scratch{x: make([]byte, 0, 512), y: make([]byte, 0, 512)} }}

// encode returns the canonical form of a state. States that differ only in their ids have the same
// form.
func (s *State) encode(b []byte) []byte {
	space := spaces.Get().(*scratch)
	defer spaces.Put(space)
	n := &space.n
	if len(s.queue)+len(s.procs)+len(s.floats) > 1 {
		*n = names{}
		s.hold(n)
		e := encoder{n: n, b: space.b[:0]}
		s.body(&e)
		space.b = e.b
		s.sort(n, space)
	}
	*n = names{}
	s.hold(n)
	e := encoder{b: b, n: n}
	s.body(&e)
	e.u8(n.nid, n.ncausation, n.ntwin, s.faults)
	return e.b
}

func (s *State) body(e *encoder) {
	for w := range s.logs {
		e.u8(uint8(len(s.logs[w])))
		for i := range s.logs[w] {
			r := &s.logs[w][i]
			e.u8(uint8(r.Number), uint8(r.Gone), b2i(r.Old))
			e.commits(r.Commits)
			if e.flag(r.Cover != nil); r.Cover != nil {
				e.commits([]*Commit{r.Cover})
			}
		}
	}
	e.u8(s.ops[:]...)
	e.u8(s.landed[:]...)
	e.u8(s.begun[:]...)
	e.u8(s.sends[:]...)
	e.messages(s.queue)
	e.messages(s.fifo)
	e.u8(uint8(len(s.procs)))
	for i := range s.procs {
		e.proc(&s.procs[i])
	}
	e.u8(uint8(len(s.floats)))
	for _, f := range s.floats {
		e.commits(f)
	}
	e.u8(uint8(len(s.recs)))
	for _, r := range s.recs {
		e.u8(uint8(r.Workflow), uint8(r.Number), uint8(r.Event), uint8(r.Begun), uint8(r.Failed))
		e.ident(r.Run)
		e.causationOf(r.By)
	}
	if e.flag(s.warm != nil); s.warm != nil {
		e.u8(uint8(s.warm.Number))
		e.commits(s.warm.Commits)
	}
}

// decoder reads what encode wrote. Commits are shared, because they never change.
type decoder struct {
	b      []byte
	shared map[string]*Commit
}

func (d *decoder) u8() uint8   { v := d.b[0]; d.b = d.b[1:]; return v }
func (d *decoder) u32() uint32 { return uint32(d.u8()) }
func (d *decoder) i() int32    { return int32(d.u8()) - 1 }
func (d *decoder) flag() bool  { return d.u8() == 1 }

func (d *decoder) ints() (v []int32) {
	for range d.u8() {
		v = append(v, d.i())
	}
	return v
}

func (d *decoder) ids() (v []uint32) {
	for range d.u8() {
		v = append(v, d.u32())
	}
	return v
}

func (d *decoder) commits() (all []*Commit) {
	n := int(d.u8())
	if n > 0 {
		all = make([]*Commit, n)
	}
	for i := range all {
		size := int(d.u8())
		body := d.b[:size]
		d.b = d.b[size:]
		c := d.shared[string(body)]
		if c == nil {
			c = (&decoder{b: body}).commit()
			d.shared[string(body)] = c
		}
		all[i] = c
	}
	return all
}

func (d *decoder) commit() *Commit {
	c := &Commit{ID: d.u32(), Run: d.u32(), Workflow: d.u32(), Number: int32(d.u8()), Slot: int32(d.u8()), Status: Status(d.u8()), Fence: d.flag(), Request: d.u32(), Lap: int32(d.u8()), Beside: int32(d.u8()), Over: d.u32()}
	c.From, c.Next = d.u32(), d.u32()
	c.CausationIDs = d.ids()
	for range d.u8() {
		c.Sched = append(c.Sched, Owing{Kind(d.u8()), int32(d.u8())})
	}
	c.Done, c.Inline = d.ints(), d.ints()
	c.Signals, c.Updates = d.ids(), d.ids()
	return c
}

func (d *decoder) message() (m Message) {
	m = Message{Kind: Kind(d.u8()), Workflow: d.u32(), Number: int32(d.u8()), Slot: int32(d.u8()), Event: int32(d.u8()), Attempt: int32(d.u8()), Received: d.u8()}
	flags := d.u8()
	m.Dead, m.Copied = flags&1 != 0, flags&2 != 0
	m.Seen = d.i()
	m.Run, m.Commit, m.CausationID, m.Send, m.Twin = d.u32(), d.u32(), d.u32(), d.u32(), d.u32()
	return m
}

func (d *decoder) messages() (all []Message) {
	n := int(d.u8())
	if n > 0 {
		all = make([]Message, n)
	}
	for i := range all {
		all[i] = d.message()
	}
	return all
}

func (d *decoder) proc() (p Proc) {
	p = Proc{Kind: procKind(d.u8()), PC: pc(d.u8()), After: pc(d.u8()), Op: d.u8(), Verdict: d.u8(), Attempt: int32(d.u8())}
	flags := d.u8()
	p.Inline, p.Torn, p.Back, p.Mute = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	p.Held = d.messages()
	if d.flag() {
		p.Work = d.message()
	}
	p.Puts = d.commits()
	p.Sends = d.messages()
	return p
}

func (d *decoder) bytes(to []uint8) {
	copy(to, d.b)
	d.b = d.b[len(to):]
}

func (d *decoder) state() *State {
	s := &State{}
	for w := range s.logs {
		for range d.u8() {
			r := Run{Number: int32(d.u8()), Gone: d.u32(), Old: d.flag()}
			r.Commits = d.commits()
			if d.flag() {
				r.Cover = d.commits()[0]
			}
			s.logs[w] = append(s.logs[w], r)
		}
	}
	d.bytes(s.ops[:])
	d.bytes(s.landed[:])
	d.bytes(s.begun[:])
	d.bytes(s.sends[:])
	s.queue, s.fifo = d.messages(), d.messages()
	for range d.u8() {
		s.procs = append(s.procs, d.proc())
	}
	for range d.u8() {
		s.floats = append(s.floats, d.commits())
	}
	for range d.u8() {
		r := Record{Workflow: d.u32(), Number: int32(d.u8()), Event: int32(d.u8()), Begun: int32(d.u8()), Failed: int32(d.u8())}
		r.Run, r.By = d.u32(), d.u32()
		s.recs = append(s.recs, r)
	}
	if d.flag() {
		s.warm = &Run{Number: int32(d.u8())}
		s.warm.Commits = d.commits()
	}
	s.nextID, s.nextCausation, s.nextTwin, s.faults = d.u32(), d.u32(), d.u32(), d.u8()
	return s
}

// note adds an event to the trace of the step under way.
func (s *State) note(e Event) {
	if s.told {
		s.events = append(s.events, e)
	}
}

func (s *State) newActor() uint32 {
	s.actors++
	return s.actors
}
