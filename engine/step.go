package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Task is the input of a workflow task.
type Task struct {
	// InputEvents are durable events.
	InputEvents []history.Event
	// Updates are requests to deliver.
	Updates []UpdateRequest
	// Attempt is the number of a transient attempt, for a task that has no input and retries a
	// failed one.
	Attempt int
	// CheckSignals refuses signals among InputEvents whose values the code is known not to decode.
	CheckSignals bool
	// First is set for the first task of a run that was held: its input events are in the log
	// already.
	First bool
	// Confirm lets a speculative task without updates commit although it changes nothing, unless
	// the run waits for its first task. The commit says that the code works: it ends the streak of
	// a run that has refused updates.
	Confirm bool
}

// Transition is the result of a step. It takes effect only when its commit is in the log.
type Transition struct {
	// Commit is the next commit to put, or nil if nothing is to be written.
	Commit *history.Commit
	// Updates are the verdicts on the task's requests, in their order.
	Updates []UpdateResult
	// Failure is why the task failed, or nil. The commit, if there is one, records it.
	Failure *failure.Failure
	// Task is the header of the task, even if nothing is to be written; nil if no code ran.
	Task *history.Task
	// Unfinished names the update handlers that run while the commit closes the run.
	Unfinished []string
	// Locals are the local activities that have to run before the task can continue, with Resume.
	// Only Task is set besides: nothing is to be written yet.
	Locals []*LocalActivity
	// Refused is why a signal of the task is refused: a RefusedSignal. Only Task is set besides,
	// and nothing is to be written.
	Refused error
	// Unhandled are the names of signals of the task that the code does not receive, and of which
	// none was unread before.
	Unhandled []string
	// SetAside are the signals that the code has set aside in the task.
	SetAside []SetAside
	// Unchanged is set if only code ran that may only read: the instance is at the end of the log,
	// and good for the next task.
	Unchanged bool
	// Blamed is the id of the update whose code, or code that it has started, has made the task
	// fail; empty if that is not known.
	Blamed string
	// Impure says which validators or query handlers a check has found to change state, and how
	// that shows, without payloads; empty if it has found none.
	Impure string
	// Next are the opening events of a run that continues this one: its start, the subscriptions to
	// the end of this one, and the signals that the code has not received. The put that lands the
	// commit opens it, or neither is there. NextRunID is its id.
	Next      []history.Event
	NextRunID history.RunID

	begun *begun // if there are Locals
}

// ClosedBefore reports whether the run closed before the code reached a request of the task, by its
// index.
func (t *Transition) ClosedBefore(i int) bool {
	return t.Failure == nil && t.Commit != nil && t.Commit.Status.Closed() && t.Updates[i].Verdict == Unanswered
}

// Left reports whether the code, which did not fail, reached no request: the workflow's function
// had returned before.
func (t *Transition) Left() bool {
	return t.Failure == nil && !slices.ContainsFunc(t.Updates, func(u UpdateResult) bool { return u.Verdict != Unanswered })
}

// begun is a task that waits for local activities.
type begun struct {
	writer *Writer
	task   Task
	commit *history.Commit
}

// CatchUp replays the part of the run's log that the instance has not seen. It returns an error
// that fails the next task. A caller that has trimmed the run replays the dropped commits before,
// and may ignore the errors of that: CatchUp returns them.
func (r *Run) CatchUp(in *Instance) error {
	for in.slot < r.State.NextSlot {
		switch {
		case in.failed != nil:
			return in.failed
		case r.Lacks(in.slot) > 0:
			return cmp.Or(in.s.Err(), fmt.Errorf("engine: the commit in slot %d was dropped, and not replayed", in.slot))
		}
		if err := in.Replay(r.Log[in.slot]); err != nil {
			return err
		}
	}
	return nil
}

// Step runs a workflow task: it brings the instance up to the log, runs the code, and returns what
// to commit.
//
//	normal       has input events. It always commits: if the code fails, the input events and the failure together.
//	transient    retries a failed task. It commits when it succeeds.
//	speculative  has only updates, or none. It commits if one was accepted, code issued a command, or the task is to
//	             Confirm. If the code refuses its only update by failing, it commits the failure once.
//
// Unless the transition's commit lands, the instance must be closed: it is ahead of the log. An
// instance that is Unchanged stays.
func (r *Run) Step(in *Instance, w *Writer, task Task) *Transition {
	b := &begun{w, task, r.begin(w, task)}
	result, err := r.activate(in, w, b.commit, task)
	blamed := r.blame(in, b.commit, err)
	return r.checked(in, b, blamed, r.became(b, result, err))
}

// blame returns the update whose code has made a task fail with an error, and records it if it is
// accepted already.
func (r *Run) blame(in *Instance, c *history.Commit, err error) string {
	if err == nil {
		return ""
	}
	id := in.blamed()
	if u := r.State.Updates[id]; u != nil && u.Completed == nil {
		c.Task.FailedUpdate = id
	}
	return id
}

// checked returns a transition with the update that is blamed for it, or another one that refuses a
// signal of its task. The code may have begun to receive the signal only in this task.
func (r *Run) checked(in *Instance, b *begun, blamed string, t *Transition) *Transition {
	t.Blamed = blamed
	if b.task.CheckSignals {
		if err := in.refuse(b.task.InputEvents); err != nil {
			return &Transition{Refused: err, Task: b.commit.Task}
		}
	}
	return t
}

// Resume continues a task that waits for local activities. results are the outcomes of those that
// the transition lists.
func (r *Run) Resume(in *Instance, t *Transition, results []LocalResult) *Transition {
	result, err := in.Resume(results)
	blamed := r.blame(in, t.begun.commit, err)
	return r.checked(in, t.begun, blamed, r.became(t.begun, result, err))
}

// became returns the transition of a task so far.
func (r *Run) became(b *begun, result *Result, err error) *Transition {
	w, c, task := b.writer, b.commit, b.task
	if err != nil {
		return r.fail(c, failure.FromError(err), task)
	}
	if len(result.Locals) > 0 {
		return &Transition{Locals: result.Locals, Task: c.Task, begun: b}
	}
	t := &Transition{Updates: result.Updates, Unfinished: result.Unfinished, Task: c.Task}
	held := r.State.Pending == history.PendingStart // its first task does what the code did here
	writes := result.Accepted() || !held && (len(result.Commands) > 0 || task.Confirm)
	if c.Task.Kind == history.Speculative && !writes {
		if result.retract != nil {
			result.retract()
			t.Unchanged = true
		}
		return t
	}
	c.Commands, c.Status = result.Commands, result.Status
	c.Task.Unread, t.SetAside = result.Left, result.SetAside
	c.Task.SetAside = records(t.SetAside)
	for _, name := range result.Unhandled {
		if r.State.Unread[name] == nil {
			t.Unhandled = append(t.Unhandled, name)
		}
	}
	t.Commit = c
	if c.Status.Closed() {
		r.follow(w, t, result.Unread)
	}
	return t
}

// Fail returns the transition of a task whose code did not return: it blocks on something that is
// not the engine's, or called runtime.Goexit.
func (r *Run) Fail(w *Writer, task Task, f *failure.Failure) *Transition {
	return r.fail(r.begin(w, task), f, task)
}

// begin returns the commit of a task before its code has run.
func (r *Run) begin(w *Writer, task Task) *history.Commit {
	c := r.draft(w, task.InputEvents)
	for _, e := range task.InputEvents {
		if t := r.State.Timers[history.ResolutionOf(e.Attributes).Timer]; t != nil {
			c.Time = max(c.Time, t.FireAt) // no timer fires early
		}
	}
	c.Pending = history.PendingNone
	c.Task = &history.Task{
		Kind: r.kind(task), Attempt: max(task.Attempt, 1), Build: w.Build, Rules: history.CurrentRules, HistoryBytes: r.State.Bytes,
		SuggestContinueAsNew: r.suggest(&w.Options),
	}
	if c.Task.Kind == history.Transient {
		c.Task.Attempt = max(task.Attempt, r.State.LastTask.Task.Attempt+1)
	}
	return c
}

func (r *Run) kind(task Task) history.TaskKind {
	switch {
	case len(task.InputEvents) > 0, task.First, r.State.Pending == history.PendingTask:
		return history.Normal
	case r.State.Pending == history.PendingRetry:
		return history.Transient
	}
	return history.Speculative
}

func (r *Run) activate(in *Instance, w *Writer, c *history.Commit, task Task) (*Result, error) {
	if err := r.CatchUp(in); err != nil {
		return nil, err
	}
	in.updates.inFlight, in.updates.bytes, in.updates.accepted = r.State.UpdatesInFlight, r.State.UpdateBytesInFlight, len(r.State.Updates)
	result, err := in.Activate(&Activation{
		FirstEventID: c.FirstEventID, Time: c.Time, InputEvents: c.InputEvents, Updates: task.Updates, Limits: w.Options.Limits, Rules: c.Task.Rules,
		MaxBytes: w.Options.MaxCommit, MaxStarts: w.Options.MaxStarts, MaxConditions: w.Options.MaxConditions, Chain: w.Options.Chain,
		HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew, NextRunID: w.NextRunID,
	})
	if err == nil {
		err = w.Options.routed(result.Commands)
	}
	return result, err
}

// suggest reports whether SuggestContinueAsNew is set: the history has become long, or nine tenths
// of the updates that it may accept have been accepted, or its topics have many items.
func (r *Run) suggest(o *Options) bool {
	most := o.Limits.UpdatesInTotal
	return most > 0 && 10*len(r.State.Updates) >= 9*most ||
		o.SuggestAfterEvents > 0 && r.State.NextEventID > o.SuggestAfterEvents ||
		o.SuggestAfterBytes > 0 && r.State.Bytes > o.SuggestAfterBytes || r.State.Topics.long()
}

// fail returns the transition of a task whose code failed. The run is untouched: it continues when
// fixed code is deployed.
func (r *Run) fail(c *history.Commit, f *failure.Failure, task Task) *Transition {
	t := &Transition{Failure: f, Task: c.Task, Updates: make([]UpdateResult, len(task.Updates))}
	c.Task.Failure = f
	switch c.Task.Kind {
	case history.Normal:
		// The input events and the failure are one commit, with a message for the retries. An
		// activity never runs again because workflow code failed.
		c.Pending = history.PendingRetry
		t.Commit = c
	case history.Transient:
		// The same failure is in the log already.
	case history.Speculative:
		// Authors must see the failure. There is nothing to retry: only this task has the requests.
		c.Pending = r.State.Pending
		if len(task.Updates) == 1 && !r.failedBefore(f) {
			t.Commit = c
		}
	}
	return t
}

// NotReady returns why a run takes no new updates or queries: its task has failed under this build
// already, and would again. It returns nil if the run is well, or if another build has not tried
// yet.
func (r *Run) NotReady(build string) *failure.Failure {
	if f := r.State.Stuck(); f != nil && r.State.LastTask.Task.Build == build {
		return f
	}
	return nil
}

// Query sends a query to the code of a run, in the state at the end of the log. It runs the input
// events of a failed task, or of a start delay, first: the instance must then be closed. Otherwise
// the instance is at the end of the log, and stays good. An error that is not a QueryError says
// that the code fails, and the instance must be closed.
func (r *Run) Query(in *Instance, w *Writer, name string, input history.Payload) (history.Payload, error) {
	if err := r.Ready(in, w); err != nil {
		return nil, err
	}
	return in.Query(name, input)
}

// Ready brings the code of a run to where it answers queries. It returns an error if the code
// fails.
func (r *Run) Ready(in *Instance, w *Writer) error {
	if r.State.AtRest() {
		return r.CatchUp(in)
	}
	return r.Step(in, w, Task{}).Failure.Err()
}
