package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrResetTooLarge is what Run.Reset returns where one put cannot hold what the new run begins with.
var ErrResetTooLarge = errors.New("the history before that task, and what came after it, are larger than one write may be")

// ErrNoTask is wrapped by what Run.Reset returns if the event is not one of a workflow task.
var ErrNoTask = errors.New("give the id of a WorkflowTaskScheduled, WorkflowTaskStarted, WorkflowTaskCompleted or WorkflowTaskFailed event")

// Reset is what a reset does: another run goes on from an earlier workflow task of this one.
type Reset struct {
	// EventID is one of the three events of the task that is to be run anew.
	EventID int64
	// LeaveUpdates and LeaveSignals leave out the updates, or the signals, that came after the task. Otherwise they are
	// brought to the new run, in the order in which they came.
	LeaveUpdates, LeaveSignals bool
	// Reason is for those who read the history.
	Reason string
	// RequestID recognises the reset when it is sent again.
	RequestID string
	// MaxCommit is the largest commit, and MaxTotal the largest put, in bytes.
	MaxCommit, MaxTotal int
}

// parts are what commits consist of, without those that have no events.
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

// Tasks are the workflow tasks among commits of a run, in order, by what their commits have: Task, TaskScheduledID. The run can be
// reset to each of them.
func Tasks(commits Commits) Commits {
	return func(yield func(*history.Commit, error) bool) {
		for part, err := range parts(commits) {
			if (err != nil || part.Task != nil) && !yield(part, err) {
				return
			}
		}
	}
}

// Reset returns the first commits of the run that goes on from an earlier task of this one. They are put at once, with
// what closes this run if it is open. Nothing rests on this run afterwards: its history up to the task is copied.
//
//	this run      ▪ 1 ▪ 2 ▪ 3 ▪ 4 ▪ 5
//	                        ▲ EventID
//	the new run   ▪ 1 ▪ 2 ▪ 3   what task 3 brought, its failure, which marks the reset, then the updates and signals
//	                            of 3 to 5; a normal task follows
//
// Activities and timers that were pending at the task are so again. An error that wraps ErrNoTask or ErrResetTooLarge says what is wrong
// with the request. Any other error is one of log, which is the run's commits. Reset keeps no more of them than one put may have.
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
	last.InputEvents = r.renamed(w, to.task.InputEvents)
	last.Task = &history.Task{
		Attempt: 1, Build: w.Build, HistoryBytes: r.State.Bytes,
		Failure: &failure.Failure{Kind: failure.KindReset, Message: resetText(o.Reason)},
		Reset:   &history.Reset{BaseRunID: r.State.RunID, RequestID: o.RequestID, Build: r.resetBuild(w)},
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

// resetting is a reset that takes the parts of the run's log, one after the other.
type resetting struct {
	*Reset
	run    *Run
	writer *Writer
	now    history.Timestamp
	// commits have copies of the parts before the task. size is about that of the last one, and total about that of all of them and of what
	// is readmitted.
	commits     []*history.Commit
	size, total int
	task        *history.Commit // nil before it has come
	// readmitted are the events by which the reset brings what came to the run after what the task brought: its signals, and the updates
	// that it accepted, whatever became of them. admitted has the events that are updates which an earlier reset has brought.
	readmitted []history.Event
	admitted   map[int64]bool
}

func (r *resetting) last() *history.Commit { return r.commits[len(r.commits)-1] }

// open opens another commit for copies, the first event of which has this id.
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
	copied := &history.Commit{Time: part.Time, Task: part.Task, InputEvents: r.run.renamed(r.writer, part.InputEvents), Commands: part.Commands}
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

// grow counts bytes of what the reset puts. It is not exact, and refuses what is too large by far, so that not all of a long log is kept.
func (r *resetting) grow(n int) error {
	if r.total += n; r.total > 2*r.MaxTotal {
		return ErrResetTooLarge
	}
	return nil
}

// resetBuild is the build that the run which a reset opens is pinned to: if this one is pinned, the one that resets it,
// which runs the code.
func (r *Run) resetBuild(w *Writer) string {
	if r.State.Pinned == "" {
		return ""
	}
	return w.Build
}

// renamed are events that were brought, with the one that opened the run as the new run has it. All its time is before it
// again.
func (r *Run) renamed(w *Writer, inputEvents []history.Event) []history.Event {
	opens := (&history.Commit{InputEvents: inputEvents}).Opens()
	if opens == nil {
		return inputEvents
	}
	return append([]history.Event{history.Of(r.reopens(w, opens))}, inputEvents[1:]...)
}

// reopens is the event that opened the run, as the new run has it.
func (r *Run) reopens(w *Writer, opens *history.WorkflowExecutionStarted) *history.WorkflowExecutionStarted {
	started := *opens
	started.Build, started.Retention = r.resetBuild(w), history.Duration(w.Retention)
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

// readmit brings what came to the run after what the task brought, among these events.
func (r *resetting) readmit(came ...[]history.Event) error {
	for _, e := range slices.Concat(came...) {
		switch a := e.Attributes.(type) {
		case *history.WorkflowExecutionSignaled:
			if !r.LeaveSignals {
				r.readmitted = append(r.readmitted, e)
				r.total += len(a.Input)
			}
		case *history.WorkflowExecutionUpdateAdmitted:
			r.admit(a)
		case *history.WorkflowExecutionUpdateAccepted:
			if !r.admitted[a.SequencingEventID] { // one that an earlier reset has brought is there as that
				r.admit(&history.WorkflowExecutionUpdateAdmitted{UpdateID: a.UpdateID, UpdateName: a.UpdateName, Input: a.Input})
			}
		case *history.WorkflowExecutionStarted, *history.WorkflowExecutionCancelRequested, *history.WorkflowExecutionUpdateFailed,
			*history.WorkflowExecutionOptionsUpdated, *history.WorkflowExecutionTerminated, *history.WorkflowExecutionTimedOut:
			// are this run's alone
		case history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // come from what the new run does anew
		}
	}
	return r.grow(0)
}

// admit adds an update. It takes the place of one with its id that an earlier reset had brought, and that was refused then:
// its id was free again.
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

// fits says whether the commits of a reset may be put.
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
