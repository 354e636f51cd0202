package engine

import (
	"cmp"

	"github.com/seed-41655fb1/weft/engine/history"
)

// FirstRunID is the first run of the chain that a run belongs to.
func (s *State) FirstRunID() history.RunID { return cmp.Or(s.Started.FirstRunID, s.RunID) }

// Report is the event by which a run that has closed for good tells its parent how, where event has initiated it there. It
// is nil for a run that is open, or that another one goes on from.
func (s *State) Report(event int64) history.Attributes {
	if !s.Status.Closed() || s.Next() != "" {
		return nil
	}
	run := s.FirstRunID()
	result, f := s.Outcome()
	switch s.Status {
	case history.Completed:
		return &history.ChildWorkflowExecutionCompleted{InitiatedEventID: event, RunID: run, Result: result}
	case history.Canceled:
		return &history.ChildWorkflowExecutionCanceled{InitiatedEventID: event, RunID: run, Failure: f}
	case history.TimedOut:
		return &history.ChildWorkflowExecutionTimedOut{InitiatedEventID: event, RunID: run, Failure: f}
	case history.Terminated:
		return &history.ChildWorkflowExecutionTerminated{InitiatedEventID: event, RunID: run, Failure: f}
	}
	return &history.ChildWorkflowExecutionFailed{InitiatedEventID: event, RunID: run, Failure: f}
}

// Awaited are those of these events that tell the run something new: each is the result of something that is pending, the
// first one of it. An outcome that comes before the start of its child says that too.
func (r *Run) Awaited(events ...history.Event) (awaited []history.Event) {
	if r.State.Status.Closed() {
		return nil
	}
	started, resolved := map[int64]bool{}, map[int64]bool{}
	starts := func(child int64) bool { return r.State.awaitsStart(child) && !started[child] && !resolved[child] }
	for _, e := range events {
		if a, ok := e.Attributes.(*history.ChildWorkflowExecutionStarted); ok {
			if starts(a.InitiatedEventID) {
				started[a.InitiatedEventID] = true
				awaited = append(awaited, e)
			}
			continue
		}
		what := history.ResolutionOf(e.Attributes)
		if what.ID() == 0 || !r.State.pending(what) || resolved[what.ID()] {
			continue
		}
		if what.Run != "" && starts(what.Child) {
			awaited = append(awaited, history.Of(&history.ChildWorkflowExecutionStarted{InitiatedEventID: what.Child, RunID: what.Run}))
		}
		resolved[what.ID()] = true
		awaited = append(awaited, e)
	}
	return awaited
}
