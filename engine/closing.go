package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// closing adds the messages of the commit that closes the run: to its parent, to open children by
// their close policies, to other workflows that code has sent something to, although no code waits
// for the answer, and to those who asked to be notified of the end. It repeats those that earlier
// commits scheduled, because a crash may have kept them from being sent.
func (r *Run) closing(o *outbox) {
	c := o.commit
	started := r.started(c.InputEvents)
	if started == nil || c.Status == history.Void {
		return
	}
	if started.Parent != nil && c.NextRun() == "" {
		o.add(NotifyParent, 0)
	}
	children, externals := r.leaves(c)
	for _, id := range children {
		o.add(StartOrCloseChild, id)
	}
	for _, id := range externals {
		o.add(DeliverExternal, id)
	}
	subscribers := r.subscriptions(c)
	if len(subscribers) == 0 || !r.notifies(c) {
		return
	}
	for _, u := range subscribers {
		o.add(NotifyCaller, u.EventID)
	}
}

// leaves returns the children and the externals that are pending after the commit that closes the
// run, in order. Those that were started before the point of a reset belong to the new run. A child
// that the closing commit itself starts is included only if it outlives its parent.
func (r *Run) leaves(c *history.Commit) (children, externals []int64) {
	from := resetPoint(c)
	resolved := map[int64]bool{} // by the events of the commit
	begun := map[int64]bool{}    // the children of whose start they tell
	for _, e := range c.InputEvents {
		resolved[history.ResolutionOf(e.Attributes).ID()] = true
		if a, ok := e.Attributes.(*history.ChildWorkflowExecutionStarted); ok {
			begun[a.InitiatedEventID] = true
		}
	}
	for id, p := range r.State.Children {
		if id >= from && p.Slot != c.Slot && (p.RunID == "" && !begun[id] || p.Policy != history.AbandonChild) {
			children = append(children, id)
		}
	}
	for id := range r.State.Externals {
		if id >= from {
			externals = append(externals, id)
		}
	}
	for part := range c.Parts() { // if the run does not have the commit yet
		id := part.FirstCommandID()
		for _, e := range part.Commands {
			switch what := history.InitiatedBy(e.Attributes); { // activities and timers end with the run
			case what.Child != nil && what.Child.Policy == history.AbandonChild:
				children = append(children, id)
			case what.External != nil:
				externals = append(externals, id)
			}
			id++
		}
	}
	gone := func(id int64) bool { return resolved[id] }
	return slices.DeleteFunc(ordered(children), gone), slices.DeleteFunc(ordered(externals), gone)
}

func ordered(ids []int64) []int64 {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// resetPoint returns the first event that the run which continues after a reset does not have, or 0
// if no reset closed this run.
func resetPoint(c *history.Commit) int64 {
	if len(c.InputEvents) == 1 {
		if a, ok := c.InputEvents[0].Attributes.(*history.WorkflowExecutionTerminated); ok {
			return a.ResetEventID
		}
	}
	return 0
}

// owns reports whether what an event scheduled still belongs to this run, and not to the new run of
// a reset.
func (r *Run) owns(event int64) bool {
	end, ok := r.State.Close.(*history.WorkflowExecutionTerminated)
	return !ok || event >= end.ResetEventID
}
