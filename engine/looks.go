package engine

import (
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// maxLooks is how many looks an instance records before it is replaced: see Instance.LooksFull.
const maxLooks = 256

// look is one call of code that may only read: of the validator of an update, or of the handler of
// a query.
type look struct {
	slot  uint32 // of the next commit that the instance made or replayed
	id    string // of the update; empty for a query
	name  string
	input history.Payload
	by    string // what who returns
}

// who returns the name of the code for messages.
func (l *look) who() string {
	if l.id == "" {
		return fmt.Sprintf("the handler of query %q", l.name)
	}
	return fmt.Sprintf("the validator of update %q", l.name)
}

// looks are the looks on an instance, and what else a check of them compares: see Check.
type looks struct {
	calls  []look
	wanted func(who string) bool // nil records all
	// inputs are those of the local activities that the code has started in the current activation,
	// by number. History does not have them.
	inputs map[int]history.Payload
	// drawn counts the random numbers that the code has drawn.
	drawn uint64
	// again are the looks that a replay repeats where another instance made them.
	again []look
	// compare receives what a replay compares: a name for it, what history has, what the code says
	// now, and whether the value may differ each time (free). Nil is a replay that compares
	// nothing.
	compare func(name, recorded, now string, free bool)
	effects int // the side effects that were compared
}

// RecordLooks makes the instance record what a check of its validators and query handlers needs,
// for those that wanted reports true for. A nil wanted records all. Call it before the instance has
// run.
func (in *Instance) RecordLooks(wanted func(who string) bool) { in.looks = &looks{wanted: wanted} }

// DropLooks discards the recorded looks. Later ones are recorded.
func (in *Instance) DropLooks() { in.looks.calls = nil }

// ForgetLooks ends RecordLooks.
func (in *Instance) ForgetLooks() { in.looks = nil }

// Looked returns how many recorded calls of validators and query handlers have run on the instance.
func (in *Instance) Looked() int {
	if in.looks == nil {
		return 0
	}
	return len(in.looks.calls)
}

// LooksFull reports whether the instance has recorded so many looks that it should be replaced by a
// rebuilt one.
func (in *Instance) LooksFull() bool { return in.Looked() > maxLooks }

// compares reports whether a replay compares the contents of its commands, and not only their
// identities.
func (in *Instance) compares() bool { return in.looks != nil && in.looks.compare != nil }

// compareEffect compares the value of a side effect.
func (in *Instance) compareEffect(recorded history.Payload, run func() history.Payload) {
	if in.compares() {
		in.looks.effects++
		in.looks.compare(fmt.Sprintf("side effect %d of the task", in.looks.effects), string(recorded), string(in.sideEffect(run)), true)
	}
}

// LookedBy returns the names of the validators and query handlers that have run on the instance,
// each once, in the order of their first call.
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

// look records a call of a validator or a query handler, and returns the name of its code.
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

// lookAgain repeats the looks of another instance that came before a commit, or in its task. It
// leaves out those by which the commit has accepted an update: the replay repeats these itself. c
// is nil if the slot has no commit.
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

// validatesAgain reports whether a replay runs the validator of an accepted update, because another
// instance did.
func (in *Instance) validatesAgain(id string) bool {
	return in.looks != nil && slices.ContainsFunc(in.looks.again, func(l look) bool { return l.slot == in.slot && l.id == id })
}

// repeat repeats one look. Its result does not count.
func (in *Instance) repeat(l *look) {
	_ = in.s.Forbid(l.who(), func() {
		_ = recovered(func() error {
			if l.id == "" {
				if h := in.queryHandler(l.name); h != nil {
					_, _ = h.Answer(l.input)
				}
				return nil
			}
			h := in.updateHandler(l.name)
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
