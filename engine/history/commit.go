package history

import (
	"iter"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// TaskKind says what a workflow task has as its input. The numbers are stored and never change
// their meaning.
type TaskKind uint8

const (
	// Normal has at least one durable event, and always commits.
	Normal TaskKind = 0
	// Transient retries a failed task. It adds nothing to history until an attempt succeeds.
	Transient TaskKind = 1
	// Speculative has only updates. It commits only if an update was accepted or code issued a
	// command.
	Speculative TaskKind = 2
)

var taskKindNames = [...]string{"normal", "transient", "speculative"}

// String returns the name of the kind.
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
	// PendingNone says that nothing is: every event that needs processing was processed by a
	// completed task.
	PendingNone Pending = 0
	// PendingRetry is a task that failed; a message on the timer queue carries its next attempt.
	PendingRetry Pending = 1
	// PendingStart is a run that waits for its start delay; it took no task ids.
	PendingStart Pending = 2
	// PendingTask is a normal task that has not run yet: the first one after a reset, or one whose
	// events alone fill a commit.
	PendingTask Pending = 3
	// PendingPaused is a paused run: something may be undone, and nothing runs.
	PendingPaused Pending = 4
)

// Task is the header of the workflow task that made a commit: the three events
// WorkflowTaskScheduled, WorkflowTaskStarted and WorkflowTaskCompleted or WorkflowTaskFailed,
// folded. It stores what workflow code can read from it (the time, the length of the history,
// SuggestContinueAsNew), so that a replay reads the same.
type Task struct {
	Kind TaskKind `cbor:"1,keyasint,omitempty"`
	// Attempt is 1 for the first attempt; transient attempts count on.
	Attempt int `cbor:"2,keyasint,omitempty"`
	// Failure is why the task failed; nil if it completed.
	Failure *failure.Failure `cbor:"3,keyasint,omitempty"`
	// Build is the build of the code that ran the task.
	Build string `cbor:"4,keyasint,omitempty"`
	// HistoryBytes is the stored size of the run before this commit.
	HistoryBytes int64 `cbor:"5,keyasint,omitempty"`
	// SuggestContinueAsNew is set if the history has become long.
	SuggestContinueAsNew bool `cbor:"6,keyasint,omitempty"`
	// Reset is set if the task did not run: another run was reset to it. Its Failure says so, too.
	Reset *Reset `cbor:"7,keyasint,omitempty"`
	// Rules are the rules of the engine that the task's code ran by. A replay follows the same
	// rules.
	Rules Rules `cbor:"8,keyasint,omitempty"`
	// Unread are the signals that the code has not received after the task: of MaxUnread names at
	// most. It is nil if it has received all.
	Unread []Unread `cbor:"9,keyasint,omitempty"`
	// SetAside are the signals whose values did not decode when the code received them in this
	// task: at most MaxUnread entries, several of them for one name if there is room. The entries
	// of a name are in the order of its events. Earlier versions recorded one of each name, without
	// its event.
	SetAside []Unread `cbor:"10,keyasint,omitempty"`
	// FailedUpdate is the accepted update whose handler made the task fail, or empty if none did or
	// that is not known.
	FailedUpdate string `cbor:"11,keyasint,omitempty"`
}

// MaxUnread is for how many names a task records unread signals.
const MaxUnread = 10

// Rules number the changes in how the engine treats the same code and the same events. The numbers
// are stored and never change their meaning.
type Rules uint8

const (
	// FirstRules are those of versions that recorded none.
	FirstRules Rules = 0
	// StopAtReturn runs no code after the workflow's function has returned. The handlers
	// of accepted updates run before all else in the task that cancels the run.
	StopAtReturn Rules = 1
	// SetSignalsAside lets code that receives a signal whose value does not decode continue with
	// the next one. Before, it got an error.
	SetSignalsAside Rules = 2

	// CloseAfterSplits delays the close of a run that was asked to end until no code of it waits
	// for the next task because this one is full. Before, the commands that such code was about to
	// record were lost, including the outcomes of accepted updates.
	CloseAfterSplits Rules = 3

	// CloseInNextTask ends a full task before it closes the run. Before, such a task failed.
	CloseInNextTask Rules = 4

	// SplitSideEffects lets the next task record a side effect whose value no longer fits into a
	// task. Before, the task failed. Also, a child or a signal to another workflow that waited for
	// the next task while the run was reset gets a new id. Before, it kept the id that the old run
	// had given it, and was taken for the old run's.
	SplitSideEffects Rules = 5

	// NamesOfBinding fails the task of code that handles a signal, a query or an update, or
	// publishes on a topic, that its binding does not name. Before, code handled every name.
	NamesOfBinding Rules = 6

	// CurrentRules are those of new tasks.
	CurrentRules = NamesOfBinding
)

// Unread are the signals of one name that the code has not received.
type Unread struct {
	Name string `cbor:"1,keyasint" json:"name"`
	// Count is how many there are, and EventID the first of them, or 0 if that is not known.
	Count   int   `cbor:"2,keyasint" json:"count"`
	EventID int64 `cbor:"3,keyasint,omitempty" json:"eventId,omitempty"`
}

// Reset is the origin of a run that continues from an earlier point of another one.
type Reset struct {
	// BaseRunID is the run that was reset.
	BaseRunID RunID `cbor:"1,keyasint"`
	// RequestID identifies a reset that is sent again.
	RequestID string `cbor:"2,keyasint,omitempty"`
	// Build is the build that the new run is pinned to, or empty if the newest build runs it.
	Build string `cbor:"3,keyasint,omitempty"`
	// Topics say where the topics of the run go on, sorted by name: behind the items of the run
	// that was reset, so that no offset is used twice.
	Topics []TopicOffset `cbor:"4,keyasint,omitempty"`
}

// Commit is what one workflow task adds to a run, stored as one item.
type Commit struct {
	// ID is the name that its writer gave it.
	ID CommitID
	// RunID is the run's unique id.
	RunID RunID
	// Slot is its place in the run's log, 0 for the first. It is part of the item's key, and not of
	// its body.
	Slot uint32
	// FirstEventID is the id of its first event: the next event id of the commit before it.
	FirstEventID int64
	// Copied are the commits of another run that a reset has copied, in order. They come before the
	// commit's own events, and have its ID, RunID, Slot and Status.
	Copied []*Commit
	// Time is when its task started, by the writer's clock, and never before the previous commit's.
	// All its events have this time.
	Time Timestamp
	// Status is the run's state after it.
	Status Status
	// Pending is what it leaves undone.
	Pending Pending
	// Task is its workflow task, or nil.
	Task *Task
	// InputEvents are the events that the task delivered to the code.
	InputEvents []Event
	// Commands are the events that the code's commands became, in the order in which it issued
	// them.
	Commands []Event
	// CausationIDs are the causation ids of the messages that triggered it; empty if a request did.
	CausationIDs []CausationID
	// Expires is when the store may delete a void run. In other runs an earlier version of Weft set
	// it, on each commit of a run with a deadline. Further commits of such a run repeat it, and the
	// store itself does not delete them. 0 is never.
	Expires Timestamp
	// Beside is the number of the run that the same put opened. Only a void run has it, and only if
	// a start put it.
	Beside uint32
}

// taskEvents is how many ids a workflow task reserves: scheduled, started, and its end.
const taskEvents = 3

// FirstInputEventID returns the id of the task's first input event: the first event that is not
// copied.
func (c *Commit) FirstInputEventID() int64 {
	if n := len(c.Copied); n > 0 {
		return c.Copied[n-1].NextEventID()
	}
	return c.FirstEventID
}

// Copy adds a copy of another run's commit, before the commit's own events.
func (c *Commit) Copy(part *Commit) {
	c.Copied = append(c.Copied, &Commit{
		ID: c.ID, RunID: c.RunID, Slot: c.Slot, FirstEventID: c.FirstInputEventID(), Time: part.Time, Status: c.Status,
		Task: part.Task, InputEvents: part.InputEvents, Commands: part.Commands,
	})
}

// Parts returns the commits that it consists of: those that were copied, and itself.
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

// FromReset reports whether a reset made the commit. All commits of one reset are in one put, and
// share an ID.
func (c *Commit) FromReset() bool {
	return len(c.Copied) > 0 || c.Task != nil && c.Task.Reset != nil
}

// Deferred reports whether the commit keeps the input events of a task, and leaves the task itself
// to a message.
func (c *Commit) Deferred() bool {
	return c.Pending == PendingTask && c.Task == nil && len(c.InputEvents) > 0 && len(c.Copied) == 0 && !c.Publishes() && !c.Subscribes()
}

// Publishes reports whether the commit only has items that an activity has published.
func (c *Commit) Publishes() bool {
	return c.Task == nil && len(c.InputEvents) == 1 && len(c.Copied) == 0 && c.InputEvents[0].Type() == TypeActivityItemsPublished
}

// Opens returns the commit's event that opens a run, or nil.
func (c *Commit) Opens() *WorkflowExecutionStarted {
	inputEvents := c.InputEvents
	if len(c.Copied) > 0 {
		inputEvents = c.Copied[0].InputEvents
	}
	if len(inputEvents) == 0 {
		return nil
	}
	started, _ := inputEvents[0].Attributes.(*WorkflowExecutionStarted)
	return started
}

// NextRun returns the run that continues this one and that the same put opens, or empty.
func (c *Commit) NextRun() RunID { return NextRun(c.last()) }

// OpenedWith returns the run that was opened in the put in which the commit closed its own, whether
// it continues this run or not, or empty.
func (c *Commit) OpenedWith() RunID { return OpenedWith(c.last()) }

// last returns the commit's last event, or nil if it has none.
func (c *Commit) last() Attributes {
	switch {
	case len(c.Commands) > 0:
		return c.Commands[len(c.Commands)-1].Attributes
	case len(c.InputEvents) > 0:
		return c.InputEvents[len(c.InputEvents)-1].Attributes
	}
	return nil
}

// PartOfReset reports whether a reset made the commit, and put others of the same run after it.
func (c *Commit) PartOfReset() bool {
	return len(c.Copied) > 0 && (c.Task == nil || c.Task.Reset == nil)
}

// TaskScheduledID returns the id of the folded WorkflowTaskScheduled event, or 0 if the commit has
// no task.
func (c *Commit) TaskScheduledID() int64 {
	if c.Task == nil {
		return 0
	}
	return c.FirstInputEventID() + int64(len(c.InputEvents))
}

// FirstCommandID returns the id of the first command event.
func (c *Commit) FirstCommandID() int64 {
	id := c.FirstInputEventID() + int64(len(c.InputEvents))
	if c.Task != nil {
		id += taskEvents
	}
	return id
}

// NextEventID returns the id of the first event of the next commit.
func (c *Commit) NextEventID() int64 { return c.FirstCommandID() + int64(len(c.Commands)) }

// Fence reports whether the commit is a fence: it has no event and changes nothing.
func (c *Commit) Fence() bool {
	return c.Task == nil && len(c.InputEvents) == 0 && len(c.Commands) == 0 && len(c.Copied) == 0
}

// Failed reports whether the commit's task failed, so that its input events still wait to be
// processed.
func (c *Commit) Failed() bool { return c.Task != nil && c.Task.Failure != nil }

// Batches returns how many batches of events the commit has: its own events are one, and those of
// each copied commit.
func (c *Commit) Batches() int {
	n, last := 0, c.NextEventID() // a part without events, such as a fence, begins with it
	for i := len(c.Copied); i >= 0; i-- {
		first := c.FirstInputEventID()
		if i < len(c.Copied) {
			first = c.Copied[i].FirstEventID
		}
		if first != last {
			n++
		}
		last = first
	}
	return n
}

// Numbered is an event with the id and the time that its place gives it.
type Numbered struct {
	ID   int64
	Time Timestamp
	Event
}

// Events returns the commit's events with their ids, including the folded ones of its task.
func (c *Commit) Events() []Numbered {
	events := make([]Numbered, 0, c.NextEventID()-c.FirstEventID)
	for part := range c.Parts() {
		add := func(e Event) {
			events = append(events, Numbered{ID: c.FirstEventID + int64(len(events)), Time: part.Time, Event: e})
		}
		for _, e := range part.InputEvents {
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
	end := Event{&WorkflowTaskCompleted{ScheduledEventID: scheduled, StartedEventID: scheduled + 1, Build: c.Task.Build, Rules: c.Task.Rules}}
	if c.Task.Failure != nil {
		failed := &WorkflowTaskFailed{
			ScheduledEventID: scheduled, StartedEventID: scheduled + 1, Build: c.Task.Build, Failure: c.Task.Failure,
		}
		if c.Task.Reset != nil {
			failed.BaseRunID, failed.Topics = c.Task.Reset.BaseRunID, c.Task.Reset.Topics
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
