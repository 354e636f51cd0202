package engine

import "github.com/seed-41655fb1/weft/engine/history"

// Facts are what a list shows of a run besides its status and what the run shows itself. They
// follow from the log. They have names of types, and no texts of errors: rows of the list are
// stored in plain, also if payloads are encrypted.
type Facts struct {
	// Stuck is set while the tasks of the run fail.
	Stuck *StuckFact `cbor:"1,keyasint,omitempty"`
	// Paused is since when the run is paused; 0 if it is not, or has closed.
	Paused history.Timestamp `cbor:"2,keyasint,omitempty"`
	// CloseReason is what CloseReason returns of the event that closed the run.
	CloseReason string `cbor:"3,keyasint,omitempty"`
	// Parent is the workflow that started the run as its child.
	Parent string `cbor:"4,keyasint,omitempty"`
	// Spent is the work that a run has caused that has closed. It is nil while the run is open, and
	// in rows of earlier versions.
	Spent *Counts `cbor:"5,keyasint,omitempty"`
}

// StuckFact says since when, and why, a run is stuck.
type StuckFact struct {
	// Since is when the first of the failing tasks failed, and FailureType is that of its failure.
	Since       history.Timestamp `cbor:"1,keyasint"`
	FailureType string            `cbor:"2,keyasint,omitempty"`
}

// Empty reports whether there are no facts.
func (f Facts) Empty() bool { return f == Facts{} }

// Equal reports whether two rows show the same facts, besides the work, which no open run shows.
func (f Facts) Equal(g Facts) bool {
	if (f.Stuck != nil) != (g.Stuck != nil) || f.Stuck != nil && *f.Stuck != *g.Stuck {
		return false
	}
	f.Stuck, g.Stuck, f.Spent, g.Spent = nil, nil, nil, nil
	return f == g
}

// Facts returns the facts of the run.
func (s *State) Facts() Facts {
	f := factsOf(s.Started, s.Status, s.Streak, s.Paused, s.Close)
	if s.Status.Closed() && s.Counts.Commits > 0 {
		f.Spent = &s.Counts
	}
	return f
}

// factsOf returns the facts of a run but what it has spent. It does not take the run's state, so
// that one that is made up for the purpose stays on the stack: each commit asks for the facts.
func factsOf(started *history.WorkflowExecutionStarted, status history.Status, streak *Streak, paused *Pause, end history.Attributes) (f Facts) {
	if started != nil && started.Parent != nil {
		f.Parent = started.Parent.WorkflowID
	}
	if streak != nil {
		f.Stuck = &StuckFact{Since: streak.Since, FailureType: FailureType(streak.First)}
	}
	if paused != nil && !status.Closed() {
		f.Paused = paused.Since
	}
	f.CloseReason = CloseReason(end)
	return f
}

// Facts returns the facts of the run after further commits.
func (r *Run) Facts(next ...*history.Commit) Facts {
	s := r.State
	after := State{Status: s.Status, Started: s.Started, Streak: s.Streak, Paused: s.Paused, Close: s.Close, LastTime: s.LastTime}
	for _, c := range next {
		if after.Started == nil {
			after.Started = c.Opens()
		}
		after.Status, after.LastTime = c.Status, max(c.Time, after.LastTime)
		after.pausedAfter(c)
		after.streakAfter(c)
		if closing := closedBy(c); closing != nil {
			after.Close = closing
		}
	}
	return factsOf(after.Started, after.Status, after.Streak, after.Paused, after.Close)
}
