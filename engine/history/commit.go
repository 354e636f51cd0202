package history

import (
	"iter"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// TaskKind says what a workflow task brought. The numbers are stored and never change their meaning.
type TaskKind uint8

const (
	// Normal brings at least one durable event, and always commits.
	Normal TaskKind = 0
	// Transient is a further attempt at a task that failed. It adds nothing to history until one succeeds.
	Transient TaskKind = 1
	// Speculative brings only an update. It commits only if the update was accepted or code issued a command.
	Speculative TaskKind = 2
)

var taskKindNames = [...]string{"normal", "transient", "speculative"}

// String is the name of the kind.
func (k TaskKind) String() string {
	if int(k) < len(taskKindNames) {
		return taskKindNames[k]
	}
	return "unknown"
}

// MarshalText writes the name.
func (k TaskKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Pending says what a commit leaves undone. The numbers are stored and never change their meaning.
type Pending uint8

const (
	// PendingNone is nothing: every event that needs processing was processed by a task that completed.
	PendingNone Pending = 0
	// PendingRetry is a task that failed; a message on the timer queue carries its next attempt.
	PendingRetry Pending = 1
	// PendingStart is a run that waits for its start delay; it took no task ids.
	PendingStart Pending = 2
	// PendingTask is a normal task that nobody has run yet: the first one after a reset.
	PendingTask Pending = 3
)

// Task is the header of the workflow task that made a commit: the three events WorkflowTaskScheduled,
// WorkflowTaskStarted and WorkflowTaskCompleted or WorkflowTaskFailed, folded. What workflow code can read from it
// (the time, the length of the history, the hint to continue as new) is stored, so that a replay reads the same.
type Task struct {
	Kind TaskKind `cbor:"1,keyasint,omitempty"`
	// Attempt is 1 for the first attempt; transient attempts count on.
	Attempt int `cbor:"2,keyasint,omitempty"`
	// Failure is why the task failed, and nil for one that completed.
	Failure *failure.Failure `cbor:"3,keyasint,omitempty"`
	// Build is the build of the code that ran the task.
	Build string `cbor:"4,keyasint,omitempty"`
	// HistoryBytes is the stored size of the run before this commit.
	HistoryBytes int64 `cbor:"5,keyasint,omitempty"`
	// SuggestContinueAsNew is the hint that the history has become long.
	SuggestContinueAsNew bool `cbor:"6,keyasint,omitempty"`
	// Reset says that the task did not run: it is the one to which another run was reset. Its Failure says so, too.
	Reset *Reset `cbor:"7,keyasint,omitempty"`
}

// Reset is where a run comes from that goes on from an earlier point of another.
type Reset struct {
	// BaseRunID is the run that was reset.
	BaseRunID RunID `cbor:"1,keyasint"`
	// RequestID recognises a reset that is sent again.
	RequestID string `cbor:"2,keyasint,omitempty"`
	// Build is the build that the new run is pinned to; empty where the newest runs it.
	Build string `cbor:"3,keyasint,omitempty"`
}

// Commit is what one workflow task adds to a run, stored as one item.
type Commit struct {
	// ID is the name that its writer gave it.
	ID CommitID
	// RunID is the run's unique id.
	RunID RunID
	// Slot is its place in the run's log, 0 for the first. It stands in the item's key, not in its body.
	Slot uint32
	// FirstEventID is the id of its first event: the next event id of the commit before it.
	FirstEventID int64
	// Copied are the commits of another run that a reset has copied, in order. They come before the commit's own events,
	// and have its ID, RunID, Slot and Status.
	Copied []*Commit
	// Time is when its task started, by the writer's clock, and never before the previous commit's. All its events
	// happened then, as far as workflow code and the history can tell.
	Time Timestamp
	// Status is the run's state after it.
	Status Status
	// Pending is what it leaves undone.
	Pending Pending
	// Task is its workflow task; nil where it has none.
	Task *Task
	// Brought are the events that the task brought to the code.
	Brought []Event
	// Commands are the events that the code's commands became, in the order in which it issued them.
	Commands []Event
	// Waves are the waves of the messages that triggered it; none where a request did.
	Waves []Wave
	// Expires is when the item may be deleted; 0 is never.
	Expires Timestamp
}

// taskEvents is how many ids a workflow task reserves: scheduled, started, and its end.
const taskEvents = 3

// FirstBroughtID is the id of the first event that its task brought: the first that is not copied.
func (c *Commit) FirstBroughtID() int64 {
	if n := len(c.Copied); n > 0 {
		return c.Copied[n-1].NextEventID()
	}
	return c.FirstEventID
}

// Copy adds a copy of another run's commit, before the commit's own events.
func (c *Commit) Copy(part *Commit) {
	c.Copied = append(c.Copied, &Commit{
		ID: c.ID, RunID: c.RunID, Slot: c.Slot, FirstEventID: c.FirstBroughtID(), Time: part.Time, Status: c.Status,
		Task: part.Task, Brought: part.Brought, Commands: part.Commands,
	})
}

// Parts are the commits that it consists of: those that were copied, and itself.
func (c *Commit) Parts() iter.Seq[*Commit] {
	return func(yield func(*Commit) bool) {
		for _, part := range c.Copied {
			if !yield(part) {
				return
			}
		}
		yield(c)
	}
}

// FromReset reports whether a reset made the commit. All that one reset makes is put at once, and shares an ID.
func (c *Commit) FromReset() bool {
	return len(c.Copied) > 0 || c.Task != nil && c.Task.Reset != nil
}

// Opens is the event that opens a run, if the commit has it; nil otherwise.
func (c *Commit) Opens() *WorkflowExecutionStarted {
	brought := c.Brought
	if len(c.Copied) > 0 {
		brought = c.Copied[0].Brought
	}
	if len(brought) == 0 {
		return nil
	}
	started, _ := brought[0].Attributes.(*WorkflowExecutionStarted)
	return started
}

// NextRun is the run that the commit opens in the same put, as it closes its own; empty where it does not.
func (c *Commit) NextRun() RunID {
	switch {
	case len(c.Commands) > 0:
		return NextRun(c.Commands[len(c.Commands)-1].Attributes)
	case len(c.Brought) > 0:
		return NextRun(c.Brought[len(c.Brought)-1].Attributes)
	}
	return ""
}

// TaskScheduledID is the id of the folded WorkflowTaskScheduled event; 0 where the commit has no task.
func (c *Commit) TaskScheduledID() int64 {
	if c.Task == nil {
		return 0
	}
	return c.FirstBroughtID() + int64(len(c.Brought))
}

// FirstCommandID is the id of the first command event.
func (c *Commit) FirstCommandID() int64 {
	id := c.FirstBroughtID() + int64(len(c.Brought))
	if c.Task != nil {
		id += taskEvents
	}
	return id
}

// NextEventID is the id that the first event of the next commit takes.
func (c *Commit) NextEventID() int64 { return c.FirstCommandID() + int64(len(c.Commands)) }

// Fence reports whether the commit is a fence: it has no event and changes nothing.
func (c *Commit) Fence() bool {
	return c.Task == nil && len(c.Brought) == 0 && len(c.Commands) == 0 && len(c.Copied) == 0
}

// Failed reports whether the commit's task failed, so that what it brought still waits to be processed.
func (c *Commit) Failed() bool { return c.Task != nil && c.Task.Failure != nil }

// Numbered is an event with the id and the time that its place gives it.
type Numbered struct {
	ID   int64
	Time Timestamp
	Event
}

// Events lists the commit's events with their ids, the folded ones of its task included.
func (c *Commit) Events() []Numbered {
	events := make([]Numbered, 0, c.NextEventID()-c.FirstEventID)
	for part := range c.Parts() {
		add := func(e Event) {
			events = append(events, Numbered{ID: c.FirstEventID + int64(len(events)), Time: part.Time, Event: e})
		}
		for _, e := range part.Brought {
			add(e)
		}
		if part.Task != nil {
			for _, e := range part.foldedEvents() {
				add(e)
			}
		}
		for _, e := range part.Commands {
			add(e)
		}
	}
	return events
}

func (c *Commit) foldedEvents() [taskEvents]Event {
	scheduled := c.TaskScheduledID()
	end := Event{&WorkflowTaskCompleted{ScheduledEventID: scheduled, StartedEventID: scheduled + 1, Build: c.Task.Build}}
	if c.Task.Failure != nil {
		failed := &WorkflowTaskFailed{
			ScheduledEventID: scheduled, StartedEventID: scheduled + 1, Build: c.Task.Build, Failure: c.Task.Failure,
		}
		if c.Task.Reset != nil {
			failed.BaseRunID = c.Task.Reset.BaseRunID
		}
		end = Event{failed}
	}
	return [taskEvents]Event{
		{&WorkflowTaskScheduled{Kind: c.Task.Kind, Attempt: c.Task.Attempt}},
		{&WorkflowTaskStarted{
			ScheduledEventID: scheduled, HistoryLength: scheduled + 1,
			HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew,
		}},
		end,
	}
}
