package model

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

var hashSeed = maphash.MakeSeed()

// found is the result of an exploration.
type found struct {
	states, ends int
	steps        int64
	broken       string // the property that does not hold; empty if all hold
	trace        []string
	complete     bool            // all states were visited
	finals       map[uint64]bool // the states in which nothing more can happen, if the shape asks for them
}

// table is a set of states, by fingerprint. Each has the state from which it was reached.
type table struct {
	slots  []uint64
	order  []uint64
	parent []uint32
}

func newTable() *table { return &table{slots: make([]uint64, 1<<12)} }

// add adds a state, and reports whether it is new.
func (t *table) add(key uint64, parent uint32) bool {
	if len(t.order)*10 > len(t.slots)*6 {
		old := t.slots
		t.slots = make([]uint64, 2*len(old))
		for _, k := range old {
			if k != 0 {
				t.slots[t.free(k)] = k
			}
		}
	}
	at := t.free(key)
	if t.slots[at] == key {
		return false
	}
	t.slots[at] = key
	t.order, t.parent = append(t.order, key), append(t.parent, parent)
	return true
}

func (t *table) has(key uint64) bool { return t.slots[t.free(key)] == key }

func (t *table) free(key uint64) uint64 {
	mask := uint64(len(t.slots) - 1)
	i := (key >> 1) & mask
	for t.slots[i] != 0 && t.slots[i] != key {
		i = (i + 1) & mask
	}
	return i
}

// fingerprint returns the key of a state in a table: a hash of 63 bits of its canonical form,
// without the last byte, which is the number of faults.
func fingerprint(body []byte) uint64 { return maphash.Bytes(hashSeed, body[:len(body)-1]) | 1 }

// level is a set of states whose successors have not been visited yet.
type level struct {
	bodies []byte
	ends   []int
	ids    []uint32 // the states themselves, or the states from which they were reached
	keys   []uint64
}

func (l *level) add(body []byte, id uint32, key uint64) {
	l.bodies = append(l.bodies, body...)
	l.ends, l.ids, l.keys = append(l.ends, len(l.bodies)), append(l.ids, id), append(l.keys, key)
}

func (l *level) body(i int) []byte {
	from := 0
	if i > 0 {
		from = l.ends[i-1]
	}
	return l.bodies[from:l.ends[i]]
}

// part is one worker's result for a block of states.
type part struct {
	level
	broken string
	at     uint32
	ends   int
	steps  int64
	finals []uint64
}

// explore visits up to most states of a shape, breadth first: first those that need no fault, then
// those that need one, and so on. A state that was reached with fewer faults is not visited again,
// because more is possible from there. The first violation ends the exploration. Its way is one of
// the shortest among those with the fewest faults.
func explore(h *shape, most, workers int) (f found) {
	var (
		t      = newTable()
		now    level  // states to visit
		later  level  // states reached with one more fault
		queued *table // the set of the states in later
		layers []int  // how many states were reached with fewer faults
		shared = make([]map[string]*Commit, workers)
		parts  = make([]part, workers)
	)
	for i := range shared {
		shared[i] = map[string]*Commit{}
	}
	if f.finals = nil; h.finals {
		f.finals = map[uint64]bool{}
	}
	take := func(l *level, i int, key uint64, to *level) {
		if t.add(key, l.ids[i]) {
			to.add(l.body(i), uint32(len(t.order)-1), key)
		}
	}
	first := h.first().encode(nil)
	later.add(first, 0, fingerprint(first))
	for faults := uint8(0); faults <= h.faults && len(later.ids) > 0; faults++ {
		layers = append(layers, len(t.order))
		now = level{}
		for i, key := range later.keys {
			take(&later, i, key, &now)
		}
		later, queued = level{}, newTable()
		for len(now.ids) > 0 {
			var next level
			const block = 1 << 14
			for low := 0; low < len(now.ids); low += block {
				high := min(low+block, len(now.ids))
				var all sync.WaitGroup
				for w := range parts {
					all.Go(func() { parts[w].work(h, &now, low+w, high, workers, shared[w]) })
				}
				all.Wait()
				for w := range parts {
					p := &parts[w]
					f.ends += p.ends
					f.steps += p.steps
					for _, key := range p.finals {
						f.finals[key] = true
					}
					if p.broken != "" {
						f.broken, f.states = p.broken, len(t.order)
						f.trace = retrace(h, t, layers, p.at, p.broken)
						return f
					}
					for i, key := range p.keys {
						if body := p.body(i); body[len(body)-1] == faults {
							take(&p.level, i, key, &next)
						} else if !t.has(key) && queued.add(key, 0) {
							later.add(body, p.ids[i], key)
						}
					}
				}
				if len(t.order) > most {
					f.states = len(t.order)
					return f
				}
			}
			now = next
		}
	}
	f.states, f.complete = len(t.order), true
	return f
}

// first returns the initial state.
func (h *shape) first() *State {
	s := &State{}
	if h.begun {
		c := &Commit{ID: s.id(), Run: s.id(), Number: 1, Status: Completed, Request: 1}
		s.logs[0] = []Run{{Number: 1, Commits: []*Commit{c}, Old: true}}
	}
	return s
}

// work computes the successors of every n-th state of a block.
func (p *part) work(h *shape, l *level, low, high, n int, shared map[string]*Commit) {
	m := &machine{shape: h}
	var body []byte
	var memory pool
	*p = part{level: level{bodies: p.bodies[:0], ends: p.level.ends[:0], ids: p.ids[:0], keys: p.keys[:0]}}
	for i := low; i < high; i += n {
		d := decoder{b: l.body(i), shared: shared}
		memory.used = 0 // the successors of the state before have been encoded
		s := d.state()
		s.pool = &memory
		steps := m.successors(s)
		p.steps += int64(len(steps))
		if len(steps) == 0 {
			p.ends++
			if h.finals {
				p.finals = append(p.finals, l.keys[i])
			}
			if broken := m.finished(s); broken != "" && p.broken == "" {
				p.broken, p.at = broken, l.ids[i]
			}
		}
		for _, t := range steps {
			if t.state.broken != "" {
				if p.broken == "" {
					p.broken, p.at = t.state.broken, l.ids[i]
				}
				continue
			}
			body = t.state.encode(body[:0])
			p.add(body, l.ids[i], fingerprint(body))
		}
	}
}

// retrace finds the steps that lead to a state, and returns them as text. layers has, for each
// number of faults, how many states were reached with fewer faults.
func retrace(h *shape, t *table, layers []int, at uint32, broken string) (lines []string) {
	var path []uint32
	for i := at; i != 0; i = t.parent[i] {
		path = append(path, i)
	}
	m := &machine{shape: h, trace: true}
	shared := map[string]*Commit{}
	s := (&decoder{b: h.first().encode(nil), shared: shared}).state()
	tell := func(text string) { lines = append(lines, fmt.Sprintf("%3d. %s", len(lines)+1, text)) }
	for _, i := range slices.Backward(path) {
		faults := 0
		for faults+1 < len(layers) && layers[faults+1] <= int(i) {
			faults++
		}
		reached := false
		for _, o := range m.successors(s) {
			if o.state.broken != "" || int(o.state.faults) != faults {
				continue
			}
			body := o.state.encode(nil)
			if fingerprint(body) == t.order[i] {
				tell(o.text)
				s, reached = (&decoder{b: body, shared: shared}).state(), true
				break
			}
		}
		if !reached {
			return append(lines, "the trace is lost")
		}
	}
	for _, o := range m.successors(s) {
		if o.state.broken == broken {
			tell(o.text)
			s = o.state
			break
		}
	}
	lines = append(lines, "=> "+broken)
	for w := range s.logs {
		for i := range s.logs[w] {
			lines = append(lines, fmt.Sprintf("     workflow %d, run %d: %s", w, s.logs[w][i].Number, list(s.logs[w][i].Commits)))
		}
	}
	return lines
}

// ---- how states are printed

// list prints commits.
type list []*Commit

// String implements fmt.Stringer.
func (l list) String() string {
	var parts []string
	for _, c := range l {
		parts = append(parts, sketch(c))
	}
	return strings.Join(parts, " ")
}

func sketch(c *Commit) string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "[run %d slot %d:", c.Number, c.Slot)
	if c.Fence {
		b.WriteString(" fence")
	}
	if c.Slot == 0 && !c.Fence {
		fmt.Fprintf(b, " started by request %d", c.Request)
	}
	if len(c.Signals) > 0 {
		fmt.Fprintf(b, " signal %d", c.Signals[0])
	}
	if len(c.Updates) > 0 {
		fmt.Fprintf(b, " update %d", c.Updates[0])
	}
	for _, e := range c.Done {
		fmt.Fprintf(b, " event %d ends", e)
	}
	for _, o := range c.Sched {
		fmt.Fprintf(b, " %s", o.text())
	}
	if len(c.Inline) > 0 {
		b.WriteString(" inline")
	}
	b.WriteString([]string{"", " completed", " continued", " terminated", " void"}[c.Status])
	return b.String() + "]"
}

func (o Owing) text() string {
	switch o.Kind {
	case RunActivity:
		return fmt.Sprintf("activity %d", o.Event)
	case FireTimer:
		return fmt.Sprintf("timer %d", o.Event)
	case StartOrCloseChild:
		return fmt.Sprintf("child %d", o.Event)
	case NotifyParent:
		return "report of a child"
	case NotifyCaller:
		return "notification"
	case TakeResult:
		return fmt.Sprintf("result of %d", o.Event)
	}
	return fmt.Sprintf("message of kind %d, event %d", o.Kind, o.Event)
}

func (g *Message) text() string {
	text := fmt.Sprintf("%s (run %d slot %d", Owing{g.Kind, g.Event}.text(), g.Number, g.Slot)
	if g.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", g.Attempt)
	}
	if g.Seen > 0 {
		text += fmt.Sprintf(", seen %d", g.Seen)
	}
	if g.Copied {
		text += ", a copy"
	}
	if g.Dead {
		text += ", dead"
	}
	return text + ")"
}

func (g *Message) label(trace bool) string {
	if !trace {
		return ""
	}
	return g.text()
}
