package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// markers is the part of an instance that records values which code determines once.
type markers struct {
	// recorded is set on replay: the answers are in history.
	recorded bool
	// patches and values are the markers of that task, the values in their order.
	patches map[string]bool
	values  []history.Payload
	// locals are the markers of its local activities, in their order.
	locals []*history.MarkerRecorded
	// answers are the results of Patched, in the life of the run.
	answers map[string]bool
}

// begin takes the markers of a task that is replayed.
func (m *markers) begin(recorded bool, commands []history.Event) {
	m.recorded, m.values, m.locals = recorded, m.values[:0], m.locals[:0]
	clear(m.patches)
	for _, e := range commands {
		marker, ok := e.Attributes.(*history.MarkerRecorded)
		switch {
		case !ok:
		case marker.MarkerName == history.MarkerPatch:
			if m.patches == nil {
				m.patches = map[string]bool{}
			}
			m.patches[marker.ID] = true
		case marker.MarkerName == history.MarkerLocalActivity:
			m.locals = append(m.locals, marker)
		default:
			m.values = append(m.values, marker.Details)
		}
	}
}

// SideEffect runs a function and records its value. On replay the value is taken from history and
// the function is not called, so it must have no effects that a replay would miss. If the task's
// commit has no room for the value, it waits for the next task. If that task runs in another
// process, the function is called again, as nobody has seen the value. A value that is too large
// fails the task.
func (in *Instance) SideEffect(run func() history.Payload) history.Payload {
	in.s.MustRun("run a side effect")
	marker := &history.MarkerRecorded{MarkerName: history.MarkerSideEffect}
	called := false
	call := func() {
		if !called && !in.markers.recorded {
			called, marker.Details = true, in.sideEffect(run)
		}
	}
	call()
	if in.rules >= history.SplitSideEffects {
		in.splitBefore(marker, func() {}, call)
	} else {
		in.wrote(marker)
	}
	switch {
	case !in.markers.recorded:
	case len(in.markers.values) > 0:
		marker.Details, in.markers.values = in.markers.values[0], in.markers.values[1:]
		in.compareEffect(marker.Details, run)
	default:
		panic(nonDeterminism(in.info.HistoryLength+2, "no further side effect in this task", "runs one"))
	}
	in.issueWritten(marker)
	return marker.Details
}

// sideEffect calls the function of a side effect.
func (in *Instance) sideEffect(run func() history.Payload) (value history.Payload) {
	if misuse := in.s.Forbid("the function of a side effect", func() { value = run() }); misuse != nil {
		panic(misuse)
	}
	if f := in.tooLarge("the value of a side effect", len(value)); f != nil {
		panic(&failure.OtherError{Kind: failure.KindMisuse, Message: f.Message})
	}
	return value
}

// Patched reports whether the run takes the patched branch. It does unless it passed this place
// before the patch was there. The first answer holds for the life of the run.
func (in *Instance) Patched(id string) bool {
	in.s.MustRun("ask for a patch")
	if answer, ok := in.markers.answers[id]; ok {
		return answer
	}
	answer := !in.markers.recorded || in.markers.patches[id]
	if in.markers.answers == nil {
		in.markers.answers = map[string]bool{}
	}
	in.markers.answers[id] = answer
	if answer {
		in.issueEvent(&history.MarkerRecorded{MarkerName: history.MarkerPatch, ID: id})
	}
	return answer
}

// issueEvent issues the command for this event, whatever id it gets.
func (in *Instance) issueEvent(a history.Attributes) {
	in.wrote(a)
	in.issueWritten(a)
}

// issueWritten is issueEvent for an event that is counted already.
func (in *Instance) issueWritten(a history.Attributes) {
	in.issue(&command{event: a})
}

// isPatch reports whether an event is the marker of a patch.
func isPatch(e history.Event) bool {
	a, ok := e.Attributes.(*history.MarkerRecorded)
	return ok && a.MarkerName == history.MarkerPatch
}

// withForgotten adds to commands the markers of patches that the code no longer asks for. Once no
// run needs the branch without the patch, the code may drop the call.
func withForgotten(commands []*command, recorded []history.Event) []*command {
	if !slices.ContainsFunc(recorded, isPatch) {
		return commands
	}
	var all []*command
	for _, e := range recorded {
		for len(commands) > 0 && commands[0].dropped {
			commands = commands[1:]
		}
		switch {
		case isPatch(e) && (len(commands) == 0 || !commands[0].matches(e)):
			name, _ := history.Identity(e.Attributes)
			all = append(all, &command{typ: e.Type(), name: name})
		case len(commands) > 0:
			all, commands = append(all, commands[0]), commands[1:]
		}
	}
	return append(all, commands...)
}
