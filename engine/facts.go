package engine

import "github.com/seed-41655fb1/weft/engine/history"

// Facts are what a list shows of a run besides its status and what the run shows itself. They follow
// from the log. They have names of types, and no texts of errors: rows of the list are stored in
// plain, also if payloads are encrypted.
type Facts struct {
	// Stuck is set while the tasks of the run fail.
	Stuck *StuckFact `cbor:"1,keyasint,omitempty"`
	// The number 2 is for a run that is paused.

	// CloseReason is what CloseReason returns of the event that closed the run.
	CloseReason string `cbor:"3,keyasint,omitempty"`
	// Parent is the workflow that started the run as its child.
	Parent string `cbor:"4,keyasint,omitempty"`
}

// StuckFact says since when, and why, a run is stuck.
type StuckFact struct {
	// Since is when the first of the failing tasks failed, and FailureType is that of its failure.
	Since       history.Timestamp `cbor:"1,keyasint"`
	FailureType string            `cbor:"2,keyasint,omitempty"`
}

// Empty reports whether there are no facts.
func (f Facts) Empty() bool { return f == Facts{} }

// Facts returns the facts of the run.
func (s *State) Facts() Facts { return factsOf(s.Started, s.Streak, s.Close) }

// Facts returns the facts of the run after further commits.
func (r *Run) Facts(next ...*history.Commit) Facts {
	after := State{Started: r.State.Started, Streak: r.State.Streak, Close: r.State.Close}
	for _, c := range next {
		if started := c.Opens(); after.Started == nil {
			after.Started = started
		}
		after.streakAfter(c)
		if c.Status.Closed() {
			after.Close = closing(c)
		}
	}
	return after.Facts()
}

func factsOf(started *history.WorkflowExecutionStarted, streak *Streak, closed history.Attributes) (f Facts) {
	if started != nil && started.Parent != nil {
		f.Parent = started.Parent.WorkflowID
	}
	if streak != nil {
		f.Stuck = &StuckFact{Since: streak.Since, FailureType: FailureType(streak.First)}
	}
	f.CloseReason = CloseReason(closed)
	return f
}
