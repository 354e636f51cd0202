package engine

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrResetTooLarge is what Run.Reset returns where one put cannot hold what the new run begins with.
var ErrResetTooLarge = errors.New("the history before that task, and what came after it, are larger than one write may be")

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

// parts are what the run's commits consist of, without those that have no events.
func (r *Run) parts() iter.Seq[*history.Commit] {
	return func(yield func(*history.Commit) bool) {
		for _, c := range r.Log {
			for part := range c.Parts() {
				empty := part.Task == nil && len(part.Brought) == 0 && len(part.Commands) == 0
				if !empty && !yield(part) {
					return
				}
			}
		}
	}
}

// Tasks are the workflow tasks of a run, in order, by what their commits have: Task, TaskScheduledID. It can be reset to
// each of them.
func (r *Run) Tasks() (tasks []*history.Commit) {
	for part := range r.parts() {
		if part.Task != nil {
			tasks = append(tasks, part)
		}
	}
	return tasks
}

// Reset returns the first commits of the run that goes on from an earlier task of this one. They are put at once, with
// what closes this run if it is open. Nothing rests on this run afterwards: its history up to the task is copied.
//
//	this run      ▪ 1 ▪ 2 ▪ 3 ▪ 4 ▪ 5
//	                        ▲ EventID
//	the new run   ▪ 1 ▪ 2 ▪ 3   what task 3 brought, its failure, which marks the reset, then the updates and signals
//	                            of 3 to 5; a normal task follows
//
// Activities and timers that were pending at the task are so again. An error says what is wrong with the request.
func (r *Run) Reset(w *Writer, o *Reset) ([]*history.Commit, error) {
	parts := slices.Collect(r.parts())
	at := slices.IndexFunc(parts, func(p *history.Commit) bool {
		return p.Task != nil && p.TaskScheduledID() <= o.EventID && o.EventID < p.FirstCommandID()
	})
	if at < 0 {
		return nil, fmt.Errorf("event %d is not one of a workflow task: give the id of a WorkflowTaskScheduled, WorkflowTaskStarted, WorkflowTaskCompleted or WorkflowTaskFailed event", o.EventID)
	}
	now := max(w.Now, r.State.LastTime)
	commits, err := r.copies(w, o, now, parts[:at])
	if err != nil {
		return nil, err
	}
	last := commits[len(commits)-1]
	last.Pending = history.PendingTask
	last.Brought = r.renamed(w, parts[at].Brought)
	last.Task = &history.Task{
		Attempt: 1, Build: w.Build, HistoryBytes: r.State.Bytes,
		Failure: &failure.Failure{Kind: failure.KindReset, Message: resetText(o.Reason)},
		Reset:   &history.Reset{BaseRunID: r.State.RunID, RequestID: o.RequestID, Build: r.resetBuild(w)},
	}
	last.Commands = o.readmitted(parts, at)
	return commits, o.fits(commits)
}

func resetText(reason string) string {
	if reason == "" {
		return "the run was reset to this task"
	}
	return "the run was reset to this task: " + reason
}

// copies puts copies of parts into as few commits as hold them.
func (r *Run) copies(w *Writer, o *Reset, now history.Timestamp, parts []*history.Commit) ([]*history.Commit, error) {
	var commits []*history.Commit
	size, next := 0, int64(1)
	add := func() *history.Commit {
		c := &history.Commit{ID: w.Commit, RunID: w.RunID, Slot: uint32(len(commits)), FirstEventID: next, Time: now}
		commits, size = append(commits, c), 0
		return c
	}
	c := add()
	for _, part := range parts {
		copied := &history.Commit{Time: part.Time, Task: part.Task, Brought: r.renamed(w, part.Brought), Commands: part.Commands}
		body, err := history.Encode(copied)
		if err != nil {
			return nil, err
		}
		if size += len(body); size > o.MaxCommit*3/4 && len(c.Copied) > 0 { // the first commit has the start, however large that is
			c = add()
			size = len(body)
		}
		c.Copy(copied)
		next = c.FirstBroughtID()
	}
	return commits, nil
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
func (r *Run) renamed(w *Writer, brought []history.Event) []history.Event {
	opens := (&history.Commit{Brought: brought}).Opens()
	if opens == nil {
		return brought
	}
	return append([]history.Event{history.Of(r.reopens(w, opens))}, brought[1:]...)
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

// readmitted are the events by which a reset brings what came to the run after what the task at brought: its signals, and
// the updates that it accepted, whatever became of them.
func (o *Reset) readmitted(parts []*history.Commit, at int) (events []history.Event) {
	var came []history.Event
	admitted := map[int64]bool{}
	for i, part := range parts {
		if i > at {
			came = append(came, part.Brought...)
		}
		if i >= at {
			came = append(came, part.Commands...)
		}
		for j, e := range part.Commands {
			admitted[part.FirstCommandID()+int64(j)] = e.Type() == history.TypeWorkflowExecutionUpdateAdmitted
		}
	}
	for _, e := range came {
		switch a := e.Attributes.(type) {
		case *history.WorkflowExecutionSignaled:
			if !o.LeaveSignals {
				events = append(events, e)
			}
		case *history.WorkflowExecutionUpdateAdmitted:
			events = o.admit(events, a)
		case *history.WorkflowExecutionUpdateAccepted:
			if !admitted[a.SequencingEventID] { // one that an earlier reset has brought is there as that
				events = o.admit(events, &history.WorkflowExecutionUpdateAdmitted{UpdateID: a.UpdateID, UpdateName: a.UpdateName, Input: a.Input})
			}
		}
	}
	return events
}

// admit adds an update. It takes the place of one with its id that an earlier reset had brought, and that was refused then:
// its id was free again.
func (o *Reset) admit(events []history.Event, a *history.WorkflowExecutionUpdateAdmitted) []history.Event {
	if o.LeaveUpdates {
		return events
	}
	events = slices.DeleteFunc(events, func(e history.Event) bool {
		before, ok := e.Attributes.(*history.WorkflowExecutionUpdateAdmitted)
		return ok && before.UpdateID == a.UpdateID
	})
	return append(events, history.Of(a))
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
