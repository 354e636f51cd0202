package engine

import (
	"fmt"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// command is a request of workflow code in the current activation. At the end of the activation it
// becomes an event (live) or is compared with the event that it became before (replay). Ids are
// assigned only then, so that what code started and canceled within one activation leaves no trace.
type command struct {
	typ history.Type
	// name and ref are what must be the same on replay (history.Identity): the type of an activity,
	// the id of an update, the id of the event that is being canceled. issue sets typ and name if
	// there is an event.
	name string
	ref  func() int64
	// event is the event that the command becomes; nil if attributes returns it.
	event history.Attributes
	// attributes returns the event; it is called only live.
	attributes func() history.Attributes
	// starts is what the event starts, or nil.
	starts started
	// dropped commands were canceled in the same activation.
	dropped bool
}

// started is something that an event starts and that the event's id names.
type started interface {
	// numbered keeps the id of the event.
	numbered(in *Instance, id int64)
}

// issue adds a command to the current activation.
func (in *Instance) issue(c *command) *command {
	if c.event != nil {
		c.typ = c.event.Type()
		c.name, _ = history.Identity(c.event)
	}
	if !in.s.Closed() { // code that is being unwound issues nothing
		in.commands = append(in.commands, c)
	}
	return c
}

// number assigns ids to the commands of this activation and returns those that were not dropped.
func (in *Instance) number(first int64) []*command {
	kept := in.commands[:0]
	for _, c := range in.commands {
		if c.dropped {
			continue
		}
		if c.starts != nil {
			c.starts.numbered(in, first+int64(len(kept)))
		}
		kept = append(kept, c)
	}
	in.commands = nil
	in.unnumbered = in.unnumbered[:0]
	clear(in.canceled)
	return kept
}

// events returns the commands of this activation as events.
func (in *Instance) events(first int64) []history.Event {
	commands := in.number(first)
	events := make([]history.Event, len(commands))
	for i, c := range commands {
		events[i].Attributes = c.made()
	}
	in.release(commands)
	return events
}

// made returns the command's event.
func (c *command) made() history.Attributes {
	if c.event != nil {
		return c.event
	}
	return c.attributes()
}

// release passes the memory of a list of commands to the next activation.
func (in *Instance) release(commands []*command) {
	clear(commands)
	in.commands = commands[:0]
}

// match compares the commands of this activation with the recorded ones, one by one and in order.
func (in *Instance) match(first int64, recorded []history.Event) error {
	in.commands = withForgotten(in.commands, recorded)
	commands := in.number(first)
	for i := range max(len(commands), len(recorded)) {
		id := first + int64(i)
		switch {
		case i >= len(commands):
			return nonDeterminism(id, describe(recorded[i]), "issues nothing more here")
		case i >= len(recorded):
			return nonDeterminism(id, "nothing more here", "issues "+commands[i].describe())
		case !commands[i].matches(recorded[i]):
			return nonDeterminism(id, describe(recorded[i]), "issues "+commands[i].describe())
		}
		if in.compares() && !isPatch(recorded[i]) { // the code may have dropped a patch
			name := fmt.Sprintf("%s at event %d", describe(recorded[i]), id)
			in.looks.compare(name, content(recorded[i].Attributes), content(commands[i].made()), false)
		}
	}
	in.release(commands)
	return nil
}

func nonDeterminism(id int64, recorded, code string) error {
	return &failure.OtherError{
		Kind: failure.KindNonDeterminism, EventID: id,
		Message: fmt.Sprintf("workflow code is not deterministic: at event %d history records %s, the code now %s", id, recorded, code),
	}
}

func (c *command) matches(e history.Event) bool {
	name, ref := history.Identity(e.Attributes)
	return c.typ == e.Type() && c.name == name && (c.ref == nil || c.ref() == ref)
}

func (c *command) describe() string {
	ref := int64(0)
	if c.ref != nil {
		ref = c.ref()
	}
	return label(c.typ, c.name, ref)
}

func describe(e history.Event) string {
	name, ref := history.Identity(e.Attributes)
	return label(e.Type(), name, ref)
}

func label(typ history.Type, name string, ref int64) string {
	switch {
	case name != "":
		return fmt.Sprintf("%s(%s)", typ, name)
	case ref != 0:
		return fmt.Sprintf("%s(of event %d)", typ, ref)
	}
	return typ.String()
}
