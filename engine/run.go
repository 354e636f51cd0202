package engine

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Run is what is known of one run: its log so far and its state. It belongs to one reader: it is
// never shared while it can change.
type Run struct {
	WorkflowID string
	// Number is its number among the runs of the workflow, 1 for the first.
	Number uint32
	// Log are its commits, by slot. Commits that Trim has dropped are nil.
	Log   []*history.Commit
	State *State

	sizes []int32 // of the commits, as they are stored
	kept  int64   // the sizes of those that Trim has not dropped
	// outlines are those of the commits that Trim has dropped, from the second one on, and batches
	// is how many batches of events they have, with the first one.
	outlines []outline
	batches  uint32
	// tail is the last commit that is no fence, or nil.
	tail *history.Commit
	// causationIDs has the slots of the commits that each causation id has caused; nil in a run
	// that has few commits.
	causationIDs map[history.CausationID][]uint32
	counting     outbox // of the commit that is counted
}

// NewRun returns a run without commits.
func NewRun(workflowID string, number uint32) *Run {
	return &Run{WorkflowID: workflowID, Number: number, State: NewState()}
}

// copied returns a copy of a run of which Trim has dropped nothing. It shares the commits, which
// never change.
func (r *Run) copied() *Run {
	c := NewRun(r.WorkflowID, r.Number)
	for _, commit := range r.Log {
		_ = c.Append(commit, 0) // the run itself has accepted it
	}
	c.State.Bytes, c.State.Counts = r.State.Bytes, r.State.Counts
	return c
}

// Append adds the next commit of the log; size is its stored size. It returns an error if the
// commit does not fit.
func (r *Run) Append(c *history.Commit, size int) error {
	if err := r.State.checkNext(c); err != nil {
		return err // what is counted of a commit needs those before it
	}
	counts, row := r.State.Counts, r.rowBytes(c)
	counts.countArrival(r, c)
	if err := r.State.Apply(c, size); err != nil {
		return err
	}
	if r.Log, r.sizes, r.kept = append(r.Log, c), append(r.sizes, int32(size)), r.kept+int64(size); c.Slot == 0 {
		r.batches = uint32(c.Batches())
	}
	counts.countCommit(r, c, size, row)
	r.State.Counts = counts
	if !c.Fence() {
		r.tail = c
	}
	if r.causationIDs != nil {
		r.indexCausationIDsOf(c)
	}
	return nil
}

// Accepts returns an error if a commit cannot be the run's next: it does not follow the last one,
// or resolves something that is not pending.
func (r *Run) Accepts(c *history.Commit) error {
	s := r.State
	if c.Slot != s.NextSlot || c.FirstEventID != s.NextEventID || s.Status.Closed() {
		return corrupt("slot %d does not follow the log", c.Slot)
	}
	for _, e := range c.InputEvents {
		started, ok := e.Attributes.(*history.ChildWorkflowExecutionStarted)
		if !s.pending(history.ResolutionOf(e.Attributes)) || ok && !s.awaitsStart(started.InitiatedEventID) {
			return corrupt("%s resolves nothing that is pending", e.Type())
		}
		if a, ok := e.Attributes.(*history.ActivityItemsPublished); ok {
			if p := s.Activities[a.ScheduledEventID]; p == nil || !p.Publishing.Follows(a.Execution, a.Attempt, a.Batch) {
				return corrupt("a batch of activity %d is out of turn", a.ScheduledEventID)
			}
		}
	}
	return nil
}

// Void reports whether the run was never started: its start was fenced off.
func (r *Run) Void() bool { return r.State.Status == history.Void }

// Writer is the writer's part of a commit: nothing in the engine reads a clock or creates ids.
type Writer struct {
	// Now is the writer's clock.
	Now history.Timestamp
	// Commit is the id for the commit, used for this attempt alone.
	Commit history.CommitID
	// Build is the build of the code that runs.
	Build string
	// CausationIDs are the causation ids of the messages that triggered it; empty for a request.
	CausationIDs []history.CausationID
	// RunID is the id of a run that is started, and NextRunID of the one that continues this one,
	// if the code continues as new.
	RunID, NextRunID history.RunID
	// Retention is how long a run that is opened is kept after it has closed.
	Retention time.Duration
	// NextTime returns the first moment after another one that a cron expression names, or 0.
	NextTime func(cron string, after history.Timestamp) history.Timestamp
	// Options bounds and tunes what is accepted.
	Options Options
}

// Options are the settings of the engine that every writer of a deployment shares.
type Options struct {
	// Limits bounds updates.
	Limits Limits
	// SuggestAfterEvents and SuggestAfterBytes are the length and the size of a history from which
	// SuggestContinueAsNew is set.
	SuggestAfterEvents int64
	SuggestAfterBytes  int64
	// MaxPayload is the largest payload of runs that are opened, in bytes. The constant of this
	// name is the minimum.
	MaxPayload int
	// MaxCommit is the largest commit, in bytes: a task that writes more continues in another. 0 is
	// no limit. MaxStarts is the same for the number of things that a task starts; 0 is 5,000.
	MaxCommit, MaxStarts int
	// MaxConditions is how many conditions a new task may evaluate while its code waits: a task
	// that evaluates more fails. 0 is 100 million. A replay has no limit.
	MaxConditions int
	// Chain records each activity that a task starts as one that the process which ran the activity
	// before it may run too, if its author did not set ActivityCall.Queued. False leaves that to
	// the authors.
	Chain bool
	// TaskQueues are the task queues of the deployment, besides the default one. A task whose code
	// starts an activity on another one fails.
	TaskQueues []string
}

// Largest returns the largest payload, as the event that opens a run records it: 0 for the constant
// MaxPayload.
func (o *Options) Largest() int {
	if o.MaxPayload <= MaxPayload {
		return 0
	}
	return o.MaxPayload
}

// draft returns the next commit of a writer, without what its task adds.
func (r *Run) draft(w *Writer, inputEvents []history.Event) *history.Commit {
	s, inputEvents := r.State, r.numbered(inputEvents)
	c := &history.Commit{
		ID: w.Commit, RunID: s.RunID, Slot: s.NextSlot, FirstEventID: s.NextEventID, Time: max(w.Now, s.LastTime),
		Status: s.Status, Pending: s.Pending, InputEvents: inputEvents, CausationIDs: w.CausationIDs, Expires: s.Expires,
	}
	if r.State.NextSlot == 0 {
		c.RunID = w.RunID
	}
	for _, e := range inputEvents {
		c.Time = max(c.Time, r.earliest(e))
	}
	return c
}

// Hold returns a commit of a run whose code is not run yet: it waits for its start delay, or for a
// message that runs it. The first task gets its input events.
func (r *Run) Hold(w *Writer, inputEvents []history.Event) *history.Commit {
	c := r.draft(w, inputEvents)
	c.Pending = history.PendingStart
	return c
}

// Defer returns the commit that keeps the input events of a task and leaves the task itself to a
// message, which it schedules: the two together are too large for one commit.
func (r *Run) Defer(w *Writer, inputEvents []history.Event) *history.Commit {
	c := r.draft(w, inputEvents)
	c.Pending = history.PendingTask
	return c
}

// earliest returns the first moment at which an event can have happened. A timer never fires, by
// the clock that workflow code reads, before the time that the code gave, however much the clocks
// of two writers differ.
func (r *Run) earliest(e history.Event) history.Timestamp {
	if t := r.State.Timers[history.ResolutionOf(e.Attributes).Timer]; t != nil {
		return t.FireAt
	}
	return 0
}

func (r *Run) started(inputEvents []history.Event) *history.WorkflowExecutionStarted {
	if r.State.Started != nil {
		return r.State.Started
	}
	return (&history.Commit{InputEvents: inputEvents}).Opens()
}

// End returns the commit that closes an open run from outside, without running any code: e is a
// WorkflowExecutionTerminated or a WorkflowExecutionTimedOut event.
func (r *Run) End(w *Writer, e history.Event) *history.Commit {
	c := r.draft(w, []history.Event{e})
	c.Status, c.Pending = history.Terminated, history.PendingNone
	if e.Type() == history.TypeWorkflowExecutionTimedOut {
		c.Status = history.TimedOut
	}
	return c
}

// Fence returns a commit that only occupies the next slot, so that no put of another commit can
// land there. It repeats the pending work of the commit before it. In the first slot it makes a
// void run.
func (r *Run) Fence(w *Writer) *history.Commit {
	c := r.draft(w, nil)
	if r.State.NextSlot == 0 {
		c.Status = history.Void
	}
	return c
}

// Pinned returns the build that the run is pinned to after next, or empty if the newest build runs
// it.
func (r *Run) Pinned(next *history.Commit) string {
	build := r.State.Pinned
	if started := next.Opens(); started != nil {
		build = started.Build
	}
	if next.FromReset() {
		return build // the build that pinned it before is in the history, and no longer applies
	}
	for _, e := range next.InputEvents {
		if moved, ok := e.Attributes.(*history.WorkflowExecutionOptionsUpdated); ok {
			build = moved.Build
		}
	}
	return build
}

// Move returns the commit that assigns the run to a build from now on, without running any code:
// for a run whose first task still waits.
func (r *Run) Move(w *Writer, e history.Event) *history.Commit { return r.draft(w, []history.Event{e}) }

// failedBefore reports whether the last commit, fences skipped, is that of a speculative task that
// failed in the same way: recording it again would add nothing.
func (r *Run) failedBefore(f *failure.Failure) bool {
	c := r.tail
	return c != nil && c.Failed() && c.Task.Kind == history.Speculative && c.Task.Failure.Same(f)
}
