package engine

import "github.com/seed-41655fb1/weft/engine/history"

// PendingChild is a child whose outcome has not arrived.
type PendingChild struct {
	*history.StartChildWorkflowExecutionInitiated
	EventID int64
	// Slot and Commit name the commit that scheduled it.
	Slot   uint32
	Commit history.CommitID
	// Time is when the code asked for it.
	Time history.Timestamp
	// RunID is its first run; empty until its start is recorded.
	RunID history.RunID
	// CancelRequested says that the code has asked it to end.
	CancelRequested bool
}

// PendingExternal is a message to another workflow whose outcome is not known.
type PendingExternal struct {
	*history.Delivery
	EventID int64
	Slot    uint32
	Commit  history.CommitID
}

// Command returns a command of a commit, by the id of its event. It returns nil if the commit has
// no such command.
func Command(c *history.Commit, event int64) history.Attributes {
	for part := range c.Parts() {
		if i := event - part.FirstCommandID(); i >= 0 && i < int64(len(part.Commands)) {
			return part.Commands[i].Attributes
		}
	}
	return nil
}

// pending reports whether the subject of a resolution has not been resolved. It is also true if the
// event resolves nothing.
func (s *State) pending(r history.Resolution) bool {
	switch {
	case r.Activity != 0:
		return s.Activities[r.Activity] != nil
	case r.Timer != 0:
		return s.Timers[r.Timer] != nil
	case r.Child != 0:
		return s.Children[r.Child] != nil
	case r.External != 0:
		return s.Externals[r.External] != nil
	}
	return true
}

// resolve folds in the event that resolves something pending. Everything is resolved exactly once.
func (s *State) resolve(id int64, e history.Event) error {
	r := history.ResolutionOf(e.Attributes)
	if r.ID() == 0 || !s.pending(r) {
		return corrupt("event %d (%s) resolves nothing that is pending", id, e.Type())
	}
	switch {
	case r.Activity != 0:
		s.payloads -= len(s.Activities[r.Activity].Input)
	case r.Child != 0:
		s.payloads -= len(s.Children[r.Child].Input)
	case r.External != 0:
		s.payloads -= s.Externals[r.External].Bytes
	}
	delete(s.Activities, r.Activity)
	delete(s.Timers, r.Timer)
	delete(s.Children, r.Child)
	delete(s.Externals, r.External)
	return nil
}

// childStarted folds in the start of a child, which happens once and before its outcome.
func (s *State) childStarted(id int64, a *history.ChildWorkflowExecutionStarted) error {
	if !s.awaitsStart(a.InitiatedEventID) {
		return corrupt("event %d starts a child that does not wait for that", id)
	}
	s.Children[a.InitiatedEventID].RunID = a.RunID
	return nil
}

func (s *State) awaitsStart(child int64) bool {
	p := s.Children[child]
	return p != nil && p.RunID == ""
}

func newChild(c *history.Commit, id int64, a *history.StartChildWorkflowExecutionInitiated) *PendingChild {
	return &PendingChild{StartChildWorkflowExecutionInitiated: a, EventID: id, Slot: c.Slot, Commit: c.ID, Time: c.Time}
}
