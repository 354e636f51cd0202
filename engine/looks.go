package engine

import (
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// maxLooks is how many looks an instance records before it is replaced: see Instance.LooksFull.
const maxLooks = 256

// look is one call of code that may only look: of the validator of an update, or of the handler of a query.
type look struct {
	slot  uint32 // of the commit that the instance made or replayed next
	id    string // of the update; empty for a query
	name  string
	input history.Payload
	by    string // what who returns
}

// who names the code for messages.
func (l *look) who() string {
	if l.id == "" {
		return fmt.Sprintf("the handler of query %q", l.name)
	}
	return fmt.Sprintf("the validator of update %q", l.name)
}

// looks are the looks on an instance, and what else a check of them compares: see Check.
type looks struct {
	calls  []look
	wanted func(who string) bool // nil is all
	// inputs are those of the local activities that the code has started in the current activation, by number. History does not have
	// them.
	inputs map[int]history.Payload
	// drawn counts the random numbers that the code has drawn.
	drawn uint64
	// again are the looks that a replay makes where another instance made them.
	again []look
	// compare takes what a replay compares: a name for it, what history has, what the code says now, and whether that is free to be
	// another each time. Nil is a replay that compares nothing.
	compare func(name, recorded, now string, free bool)
	effects int // the side effects that were compared
}

// RecordLooks has the instance record from now on what a check of its validators and query handlers needs, of those that wanted reports
// true for. A nil wanted is all. It must be called before the instance has run.
func (in *Instance) RecordLooks(wanted func(who string) bool) { in.looks = &looks{wanted: wanted} }

// DropLooks forgets the looks that are recorded. Later ones are recorded.
func (in *Instance) DropLooks() { in.looks.calls = nil }

// ForgetLooks ends RecordLooks.
func (in *Instance) ForgetLooks() { in.looks = nil }

// Looked returns how many validators and query handlers have run on the instance, as far as they are recorded.
func (in *Instance) Looked() int {
	if in.looks == nil {
		return 0
	}
	return len(in.looks.calls)
}

// LooksFull reports whether the instance has recorded so many looks that it is to be replaced by one that is rebuilt.
func (in *Instance) LooksFull() bool { return in.Looked() > maxLooks }

// compares reports whether a replay compares what its commands say, and not only which they are.
func (in *Instance) compares() bool { return in.looks != nil && in.looks.compare != nil }

// compareEffect compares the value of a side effect.
func (in *Instance) compareEffect(recorded history.Payload, run func() history.Payload) {
	if in.compares() {
		in.looks.effects++
		in.looks.compare(fmt.Sprintf("side effect %d of the task", in.looks.effects), string(recorded), string(in.sideEffect(run)), true)
	}
}

// LookedBy names the validators and query handlers that have run on the instance, each once, in the order of their first call.
func (in *Instance) LookedBy() []string {
	if in.looks == nil {
		return nil
	}
	return lookedBy(in.looks.calls)
}

func lookedBy(calls []look) (names []string) {
	for i := range calls {
		if !slices.Contains(names, calls[i].by) {
			names = append(names, calls[i].by)
		}
	}
	return names
}

// look records that a validator or a query handler runs, and returns what names it.
func (in *Instance) look(l look) (who string) {
	l.slot, l.by = in.slot, l.who()
	if in.looks != nil && !in.replaying && (in.looks.wanted == nil || in.looks.wanted(l.by)) {
		in.looks.calls = append(in.looks.calls, l)
	}
	return l.by
}

// handed records the input of a local activity.
func (in *Instance) handed(number int, input history.Payload) {
	if in.looks == nil {
		return
	}
	if in.looks.inputs == nil {
		in.looks.inputs = map[int]history.Payload{}
	}
	in.looks.inputs[number] = input
}

// lookAgain makes the looks of another instance that came before a commit, or in its task. It leaves out those by which the commit has
// accepted an update: the replay makes these in their place. A nil commit is none.
func (in *Instance) lookAgain(c *history.Commit) {
	if in.looks == nil {
		return
	}
	for i := range in.looks.again {
		l := &in.looks.again[i]
		same := func(other look) bool { return other.slot == l.slot && other.id == l.id }
		if last := !slices.ContainsFunc(in.looks.again[i+1:], same); l.slot != in.slot || last && c != nil && acceptedBy(c, l.id) {
			continue
		}
		in.repeat(l)
	}
}

// acceptedBy reports whether a commit has accepted an update.
func acceptedBy(c *history.Commit, id string) bool {
	return id != "" && slices.ContainsFunc(c.Commands, func(e history.Event) bool {
		a, ok := e.Attributes.(*history.WorkflowExecutionUpdateAccepted)
		return ok && a.UpdateID == id
	})
}

// validatesAgain reports whether a replay runs the validator of an update that was accepted, because another instance did.
func (in *Instance) validatesAgain(id string) bool {
	return in.looks != nil && slices.ContainsFunc(in.looks.again, func(l look) bool { return l.slot == in.slot && l.id == id })
}

// repeat makes one look again. What it comes to does not count.
func (in *Instance) repeat(l *look) {
	_ = in.s.Forbid(l.who(), func() {
		_ = recovered(func() error {
			if l.id == "" {
				if h := in.queries[l.name]; h != nil {
					_, _ = h.Answer(l.input)
				}
				return nil
			}
			h := in.updates.handlers[l.name]
			if h == nil || h.Validate == nil {
				return nil
			}
			input, err := h.Decode(l.input)
			if err != nil {
				return err
			}
			return h.Validate(input)
		})
	})
}
