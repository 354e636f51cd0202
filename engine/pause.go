package engine

import "github.com/seed-41655fb1/weft/engine/history"

// Pause is since when, and why, a run is paused.
type Pause struct {
	Since  history.Timestamp
	Reason string
}

// pausedAfter folds in what a commit changes of the pause. A run that a reset has opened is not
// paused, whatever it has copied.
func (s *State) pausedAfter(c *history.Commit) {
	for part := range c.Parts() {
		for _, e := range part.InputEvents {
			if paused, ok := e.Attributes.(*history.WorkflowExecutionPaused); ok {
				s.Paused = &Pause{Since: s.LastTime, Reason: paused.Reason}
			} else if e.Type() == history.TypeWorkflowExecutionUnpaused {
				s.Paused = nil
			}
		}
		if part.Task != nil && part.Task.Reset != nil {
			s.Paused = nil
		}
	}
}

// steering identifies a pause or a resumption. One request id may name one of each.
type steering struct {
	event     history.Type
	requestID string
}

// Steered reports whether an event with this request id has arrived, which is of the type that
// pauses or of the one that resumes.
func (s *State) Steered(event history.Type, requestID string) bool {
	return s.steered[steering{event, requestID}]
}

// AtRest reports whether the code of the run has done all that it may do now: no task waits, or the
// run is paused. Queries are answered from there.
func (s *State) AtRest() bool {
	return s.Pending == history.PendingNone || s.Pending == history.PendingPaused
}

// Pause returns the commit that pauses an open run with an event, without running any code. What
// was undone waits for the resumption: a failed task, one that a reset or a large commit has left
// to a message.
func (r *Run) Pause(w *Writer, e history.Event) *history.Commit {
	c := r.draft(w, []history.Event{e})
	c.Pending = history.PendingPaused
	return c
}

// Suspend returns the commit that records events of a paused run, without running any code. The
// task of the resumption gets them.
func (r *Run) Suspend(w *Writer, events []history.Event) *history.Commit { return r.draft(w, events) }

// Resumes reports whether a task resumes its run.
func (t *Task) Resumes() bool {
	for _, e := range t.InputEvents {
		if e.Type() == history.TypeWorkflowExecutionUnpaused {
			return true
		}
	}
	return false
}
