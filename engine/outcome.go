package engine

import (
	"cmp"

	"github.com/seed-41655fb1/weft/engine/history"
)

// FirstRunID returns the first run of the chain that a run belongs to.
func (s *State) FirstRunID() history.RunID { return cmp.Or(s.Started.FirstRunID, s.RunID) }

// Report returns the event that reports the end of a run to its parent, which started it by event.
// It returns nil if the run is open, or if another run continues it.
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

// Awaited returns those of these events that are new to the run: each resolves something that is
// pending, and is the first to do so. An outcome that arrives before the start of its child counts
// as the start, too.
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
