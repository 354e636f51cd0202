package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrResetTooLarge is returned by Run.Reset if one put cannot hold the first commits of the new
// run.
var ErrResetTooLarge = errors.New("the history before that task, and what came after it, are larger than one write may be")

// ErrNoTask is wrapped by what Run.Reset returns if the event is not one of a workflow task.
var ErrNoTask = errors.New("give the id of a WorkflowTaskScheduled, WorkflowTaskStarted, WorkflowTaskCompleted or WorkflowTaskFailed event")

// Reset describes a reset: another run continues from an earlier workflow task of this one.
type Reset struct {
	// EventID is one of the three events of the task that is to run anew.
	EventID int64
	// LeaveUpdates and LeaveSignals leave out the updates, or the signals, that came after the
	// task. Otherwise the new run gets them, in the order in which they came.
	LeaveUpdates, LeaveSignals bool
	// Reason is for readers of the history.
	Reason string
	// RequestID identifies the reset when it is sent again.
	RequestID string
	// MaxCommit is the largest commit, and MaxTotal the largest put, in bytes.
	MaxCommit, MaxTotal int
}

// parts returns the parts of commits, without those that have no events.
func parts(commits Commits) Commits {
	return func(yield func(*history.Commit, error) bool) {
		for c, err := range commits {
			if err != nil {
				yield(nil, err)
				return
			}
			for part := range c.Parts() {
				empty := part.Task == nil && len(part.InputEvents) == 0 && len(part.Commands) == 0
				if !empty && !yield(part, nil) {
					return
				}
			}
		}
	}
}

// Tasks returns the workflow tasks among commits of a run, in order, as commits with Task and
// TaskScheduledID. The run can be reset to each of them.
func Tasks(commits Commits) Commits {
	return func(yield func(*history.Commit, error) bool) {
		for part, err := range parts(commits) {
			if (err != nil || part.Task != nil) && !yield(part, err) {
				return
			}
		}
	}
}

// Reset returns the first commits of the run that continues from an earlier task of this one. They
// are in one put, with what closes this run if it is open. The new run does not depend on this run
// afterwards: its history up to the task is copied.
//
//	this run      ▪ 1 ▪ 2 ▪ 3 ▪ 4 ▪ 5
//	                        ▲ EventID
//	the new run   ▪ 1 ▪ 2 ▪ 3   the input events of task 3, its failure, which marks the reset, then the updates and
//	                            signals of 3 to 5; a normal task follows
//
// Activities and timers that were pending at the task are pending again. An error that wraps
// ErrNoTask or ErrResetTooLarge says what is wrong with the request. Any other error is an error of
// log, which has the run's commits. Reset keeps no more of them in memory than one put may have.
func (r *Run) Reset(w *Writer, o *Reset, log Commits) ([]*history.Commit, error) {
	to := &resetting{Reset: o, run: r, writer: w, now: max(w.Now, r.State.LastTime), admitted: map[int64]bool{}}
	to.open(1)
	for part, err := range parts(log) {
		if err == nil {
			err = to.take(part)
		}
		if err != nil {
			return nil, err
		}
	}
	if to.task == nil {
		return nil, fmt.Errorf("event %d is not one of a workflow task: %w", o.EventID, ErrNoTask)
	}
	last := to.last()
	last.Pending = history.PendingTask
	last.InputEvents = history.WithoutItems(r.renamed(w, to.task.InputEvents))
	last.Task = &history.Task{
		Attempt: 1, Build: w.Build, HistoryBytes: r.State.Bytes,
		Failure: &failure.Failure{Kind: failure.KindReset, Message: resetText(o.Reason)},
		Reset:   &history.Reset{BaseRunID: r.State.RunID, RequestID: o.RequestID, Build: r.resetBuild(w), Topics: r.State.withdrawn()},
	}
	last.Commands = to.readmitted
	return to.commits, o.fits(to.commits)
}

func resetText(reason string) string {
	if reason == "" {
		return "the run was reset to this task"
	}
	return "the run was reset to this task: " + reason
}

// resetting is a reset in progress. It takes the parts of the run's log, one after the other.
type resetting struct {
	*Reset
	run    *Run
	writer *Writer
	now    history.Timestamp
	// commits have copies of the parts before the task. size is about the size of the last one, and
	// total about that of all of them and of readmitted.
	commits     []*history.Commit
	size, total int
	task        *history.Commit // nil before the log has reached it
	// readmitted are the events that the reset delivers again: the signals that came to the run
	// after the task's input events, and the updates that it accepted then, whatever their outcome.
	// admitted has the ids of those that are updates of an earlier reset.
	readmitted []history.Event
	admitted   map[int64]bool
}

func (r *resetting) last() *history.Commit { return r.commits[len(r.commits)-1] }

// open opens another commit for copies, whose first event has this id.
func (r *resetting) open(first int64) {
	r.commits = append(r.commits, &history.Commit{
		ID: r.writer.Commit, RunID: r.writer.RunID, Slot: uint32(len(r.commits)), FirstEventID: first, Time: r.now,
	})
	r.size = 0
}

// take takes the next part.
func (r *resetting) take(part *history.Commit) error {
	for j, e := range part.Commands {
		if e.Type() == history.TypeWorkflowExecutionUpdateAdmitted {
			r.admitted[part.FirstCommandID()+int64(j)] = true
		}
	}
	switch {
	case r.task != nil:
		return r.readmit(part.InputEvents, part.Commands)
	case part.Task != nil && part.TaskScheduledID() <= r.EventID && r.EventID < part.FirstCommandID():
		r.task = part
		return r.readmit(part.Commands)
	}
	return r.copy(part)
}

// copy copies a part before the task.
func (r *resetting) copy(part *history.Commit) error {
	copied := &history.Commit{Time: part.Time, Task: part.Task, InputEvents: history.WithoutItems(r.run.renamed(r.writer, part.InputEvents)), Commands: history.WithoutItems(part.Commands)}
	body, err := history.Encode(copied)
	if err != nil {
		return err
	}
	if r.size += len(body); r.size > r.MaxCommit*3/4 && len(r.last().Copied) > 0 { // the first commit has the start, however large that is
		r.open(r.last().FirstInputEventID())
		r.size = len(body)
	}
	r.last().Copy(copied)
	return r.grow(len(body))
}

// grow adds to the size of the put. It returns an error if that is far too large, so that not all
// of a long log is kept. The size is not exact.
func (r *resetting) grow(n int) error {
	if r.total += n; r.total > 2*r.MaxTotal {
		return ErrResetTooLarge
	}
	return nil
}

// resetBuild returns the build that a reset's new run is pinned to: if this run is pinned, the
// build that resets it, which runs the code.
func (r *Run) resetBuild(w *Writer) string {
	if r.State.Pinned == "" {
		return ""
	}
	return w.Build
}

// renamed returns input events with the opening event of the new run. The new run has its whole
// time before it.
func (r *Run) renamed(w *Writer, inputEvents []history.Event) []history.Event {
	opens := (&history.Commit{InputEvents: inputEvents}).Opens()
	if opens == nil {
		return inputEvents
	}
	return append([]history.Event{history.Of(r.reopens(w, opens))}, inputEvents[1:]...)
}

// reopens returns the event that opened the run, as the new run has it.
func (r *Run) reopens(w *Writer, opens *history.WorkflowExecutionStarted) *history.WorkflowExecutionStarted {
	started := *opens
	started.Build, started.Retention = r.resetBuild(w), history.Duration(RetentionOf(started.WorkflowType, w.Retention))
	if started.OriginalRunID == "" {
		started.OriginalRunID = r.State.RunID
	}
	if started.FirstRunID == "" {
		started.FirstRunID = r.State.RunID
	}
	if started.ExecutionTimeout > 0 {
		started.ExecutionDeadline = max(w.Now, r.State.LastTime).Add(time.Duration(started.ExecutionTimeout))
	}
	return &started
}

// admit adds an update. It replaces one with the same id that an earlier reset had delivered, and
// that was refused then: its id was free again.
func (r *resetting) admit(a *history.WorkflowExecutionUpdateAdmitted) {
	if r.LeaveUpdates {
		return
	}
	r.readmitted = slices.DeleteFunc(r.readmitted, func(e history.Event) bool {
		before, ok := e.Attributes.(*history.WorkflowExecutionUpdateAdmitted)
		same := ok && before.UpdateID == a.UpdateID
		if same {
			r.total -= len(before.Input)
		}
		return same
	})
	r.readmitted = append(r.readmitted, history.Of(a))
	r.total += len(a.Input)
}

// fits returns an error if the commits of a reset are too large for a put.
func (o *Reset) fits(commits []*history.Commit) error {
	total := 0
	for _, c := range commits {
		body, err := history.Encode(c)
		if err != nil {
			return err
		}
		if total += len(body); len(body) > o.MaxCommit || total > o.MaxTotal {
			return ErrResetTooLarge
		}
	}
	return nil
}
