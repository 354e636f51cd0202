package engine

import (
	"maps"
	"slices"

	"github.com/seed-41655fb1/weft/engine/coro"
	"github.com/seed-41655fb1/weft/engine/history"
)

// WaitKind says what code waits for.
type WaitKind string

// What code waits for.
const (
	WaitActivity      WaitKind = "activity"
	WaitLocalActivity WaitKind = "localActivity" // the time of its next attempt
	WaitTimer         WaitKind = "timer"
	WaitChildStart    WaitKind = "childStart"
	WaitChild         WaitKind = "child"
	WaitExternal      WaitKind = "external" // the delivery of a signal or a request to another workflow
	WaitSignal        WaitKind = "signal"
	WaitCondition     WaitKind = "condition"
	// WaitUpdateHandlers is a condition that asks whether update handlers run.
	WaitUpdateHandlers WaitKind = "updateHandlers"
	// WaitNextTask is the next task, because this one is full: a timer triggers it at once.
	WaitNextTask  WaitKind = "nextTask"
	WaitFuture    WaitKind = "future" // one that code sets
	WaitChannel   WaitKind = "channel"
	WaitLock      WaitKind = "lock"
	WaitSemaphore WaitKind = "semaphore"
	WaitGroup     WaitKind = "waitGroup"
)

// CoroutineWait is where a coroutine of a run's code waits, and for what.
type CoroutineWait struct {
	// Name is "main" for the workflow's function, "update NAME" for a handler, and "coroutine" for
	// those that code starts.
	Name string
	// UpdateID is the update whose handler the coroutine is, or belongs to; empty for others.
	UpdateID string
	// PCs are the program counters of its innermost frames, as runtime.Callers returns them.
	PCs []uintptr
	// For is what it waits for: each of these can let it continue.
	For []WaitFor
}

// WaitFor is one thing that code waits for.
type WaitFor struct {
	Kind WaitKind
	// EventID is the event that scheduled the activity, started the timer, or initiated the child
	// or the request. It is 0 for what has no event. After a replay that failed, what the last task
	// has started has 0, or the event that the code was about to record.
	EventID int64
	// Type is that of an activity or a child.
	Type string
	// WorkflowID is the id of a child, or of the workflow that a request goes to.
	WorkflowID string
	// Name is that of a signal; empty if the code waits for signals of all names.
	Name string
	// FireAt is when a timer is due, or the next attempt at a local activity.
	FireAt history.Timestamp
	// Attempt is the next attempt at a local activity.
	Attempt int
}

// Trace makes the instance note where its code waits. Call it before the instance has run. A replay
// takes about half as long again: an instance that is kept is not traced.
func (in *Instance) Trace() { in.s.Trace() }

// Waits returns where the code of a traced instance waits, and for what: the oldest coroutine
// first. After a replay that has failed, the coroutine that failed is missing. Waits evaluates
// conditions. It must not be called while code runs.
func (in *Instance) Waits() []CoroutineWait {
	known := in.waitedFor()
	parked := in.s.Waits()
	all := make([]CoroutineWait, len(parked))
	for i, w := range parked {
		all[i] = CoroutineWait{Name: w.Name, UpdateID: w.Owner, PCs: w.PCs}
		for _, list := range w.On {
			all[i].For = append(all[i].For, in.waitFor(known, list))
		}
		if w.Condition != nil {
			all[i].For = append(all[i].For, WaitFor{Kind: in.conditionKind(w.Condition)})
		}
	}
	return all
}

// UpdateHandlers returns the names of the updates that the code handles, in their order.
func (in *Instance) UpdateHandlers() []string {
	return slices.Sorted(maps.Keys(in.updates.handlers))
}

// QueryHandlers returns the names of the queries that the code answers, in their order.
func (in *Instance) QueryHandlers() []string { return sortedKeys(in.queries) }

// ReceivedSignals returns the names of the signals that the code has received or waits for, in
// their order. It may receive others later.
func (in *Instance) ReceivedSignals() []string { return sortedKeys(in.receivers) }

// waitFor returns what a list is the list of. Only a channel can be on no list of the engine's and
// of no kind.
func (in *Instance) waitFor(known map[*coro.List]WaitFor, list *coro.List) WaitFor {
	if what, ok := known[list]; ok {
		return what
	}
	switch in.s.KindOf(list) {
	case coro.OnLock:
		return WaitFor{Kind: WaitLock}
	case coro.OnSemaphore:
		return WaitFor{Kind: WaitSemaphore}
	case coro.OnWaitGroup:
		return WaitFor{Kind: WaitGroup}
	case coro.OnChannel:
		return WaitFor{Kind: WaitChannel}
	case coro.OnFuture, coro.NoKind:
	}
	return WaitFor{Kind: WaitFuture}
}

// waitedFor returns what the engine knows that code may wait for, by its list.
func (in *Instance) waitedFor() map[*coro.List]WaitFor {
	known := map[*coro.List]WaitFor{}
	for _, a := range in.activities {
		known[a.future.Waiters()] = a.waitFor()
	}
	for _, t := range in.timers {
		known[t.holder.future.Waiters()] = t.waitFor(in)
	}
	for _, c := range in.children {
		c.waitFor(known)
	}
	for _, e := range in.externals {
		known[e.future.Waiters()] = e.waitFor()
	}
	for _, w := range in.unnumbered { // of a task that failed
		switch w := w.(type) {
		case *activity:
			known[w.future.Waiters()] = w.waitFor()
		case *timer:
			known[w.holder.future.Waiters()] = w.waitFor(in)
		case *Child:
			w.waitFor(known)
		case *external:
			known[w.future.Waiters()] = w.waitFor()
		}
	}
	for _, l := range in.locals.all {
		what := WaitFor{Kind: WaitLocalActivity, Type: l.ActivityType, Attempt: l.Attempt}
		if l.timer != nil && l.timer.timer != nil {
			what.EventID, what.FireAt = l.timer.timer.id, l.timer.timer.fireAt
		}
		known[l.future.Waiters()] = what
	}
	if in.dynamic.signals != nil {
		known[in.dynamic.signals.Receivers()] = WaitFor{Kind: WaitSignal}
	}
	for name, signals := range in.signals {
		known[signals.Receivers()] = WaitFor{Kind: WaitSignal, Name: name}
	}
	return known
}

func (a *activity) waitFor() WaitFor {
	return WaitFor{Kind: WaitActivity, EventID: a.id, Type: a.command.name}
}

func (t *timer) waitFor(in *Instance) WaitFor {
	what := WaitFor{Kind: WaitTimer, EventID: t.id, FireAt: t.fireAt}
	if t.holder == in.splits.timer {
		what.Kind = WaitNextTask
	}
	return what
}

// waitFor adds what code can wait for of a child: its start and its outcome.
func (c *Child) waitFor(known map[*coro.List]WaitFor) {
	what := WaitFor{Kind: WaitChild, EventID: c.id, Type: c.call.WorkflowType, WorkflowID: c.call.WorkflowID}
	known[c.result.Waiters()] = what
	what.Kind = WaitChildStart
	known[c.started.Waiters()] = what
}

func (e *external) waitFor() WaitFor {
	what := WaitFor{Kind: WaitExternal, EventID: e.id}
	if x := history.InitiatedBy(e.command.made().(history.Initiation)).External; x != nil {
		what.WorkflowID = x.WorkflowID
	}
	return what
}

// conditionKind evaluates a condition, and returns what it is about.
func (in *Instance) conditionKind(condition func() bool) WaitKind {
	before := in.updates.asked
	_ = recovered(func() error { in.s.Look(condition); return nil }) // its error is the next task's
	if in.updates.asked != before {
		return WaitUpdateHandlers
	}
	return WaitCondition
}

// LastSeen returns the last event that the code of a replayed instance has seen: the last one of
// the log, or the one before those of tasks that failed, or that have not run. After a replay that
// failed, it is the WorkflowTaskStarted event of the task at which it did. It is 0 if no code has
// run.
func (r *Run) LastSeen(in *Instance) int64 {
	if in.failed != nil {
		return in.info.HistoryLength
	}
	if len(in.carry) > 0 {
		return in.carry[0].ID - 1
	}
	return r.State.NextEventID - 1
}
