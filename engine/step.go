package engine

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Task is what a workflow task brings to a run.
type Task struct {
	// Brought are durable events.
	Brought []history.Event
	// Updates are requests to deliver.
	Updates []UpdateRequest
	// Attempt is the number of a transient attempt, for a task that brings nothing and retries one that failed.
	Attempt int
}

// Transition is what a step comes to. Nothing of it holds until its commit is in the log.
type Transition struct {
	// Commit is what to put next; nil where nothing is to be written.
	Commit *history.Commit
	// Updates are the verdicts on the task's requests, in their order.
	Updates []UpdateResult
	// Failure says that the task failed, and why. The commit, if there is one, records it.
	Failure *failure.Failure
	// Unfinished names the update handlers that run while the commit closes the run.
	Unfinished []string
}

// CatchUp replays what the instance has not seen of the run's log. An error is a failure of the task that wanted it.
func (r *Run) CatchUp(in *Instance) error {
	for in.slot < r.State.NextSlot {
		if err := in.Replay(r.Log[in.slot]); err != nil {
			return err
		}
	}
	return nil
}

// Step runs a workflow task: it brings the instance up to the log, runs the code, and says what to commit.
//
//	normal       brings events: always commits; where the code fails, what it brought and the failure, together
//	transient    retries one that failed: commits when it succeeds
//	speculative  brings only updates: commits where one was accepted or code issued a command; where the code fails,
//	             once, what it failed of
//
// Unless the transition's commit lands, the instance must be closed: it is ahead of the log.
func (r *Run) Step(in *Instance, w *Writer, task Task) *Transition {
	kind := r.kind(task)
	c := r.draft(w, task.Brought)
	c.Pending = history.PendingNone
	c.Task = &history.Task{
		Kind: kind, Attempt: max(task.Attempt, 1), Build: w.Build, HistoryBytes: r.State.Bytes,
		SuggestContinueAsNew: r.suggest(&w.Options),
	}
	result, err := r.activate(in, w, c, task)
	if err != nil {
		return r.fail(c, failure.FromError(err), task)
	}
	t := &Transition{Updates: result.Updates, Unfinished: result.Unfinished}
	if kind == history.Speculative && !result.Accepted() && (len(result.Commands) == 0 || r.State.Pending == history.PendingStart) {
		return t
	}
	c.Commands, c.Status = result.Commands, result.Status
	t.Commit = c
	return t
}

func (r *Run) kind(task Task) history.TaskKind {
	switch {
	case len(task.Brought) > 0:
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
	in.updates.inFlight, in.updates.accepted = r.State.UpdatesInFlight, len(r.State.Updates)
	return in.Activate(&Activation{
		FirstEventID: c.FirstEventID, Time: c.Time, Brought: task.Brought, Updates: task.Updates, Limits: w.Options.Limits,
		HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew,
	})
}

func (r *Run) suggest(o *Options) bool {
	return o.SuggestAfterEvents > 0 && r.State.NextEventID > o.SuggestAfterEvents ||
		o.SuggestAfterBytes > 0 && r.State.Bytes > o.SuggestAfterBytes
}

// fail is what a task comes to whose code failed. The run is untouched: it goes on when mended code is deployed.
func (r *Run) fail(c *history.Commit, f *failure.Failure, task Task) *Transition {
	t := &Transition{Failure: f, Updates: make([]UpdateResult, len(task.Updates))}
	c.Task.Failure = f
	switch c.Task.Kind {
	case history.Normal:
		// What it brought and the failure are one commit, with a message that carries the retries. An activity never
		// runs again because workflow code failed.
		c.Pending = history.PendingRetry
		t.Commit = c
	case history.Transient:
		// The one failure stands in the log already.
	case history.Speculative:
		// Authors must see the failure. There is nothing to retry: the requests are only here.
		c.Pending = r.State.Pending
		if len(task.Updates) == 1 && !r.failedBefore(f) {
			t.Commit = c
		}
	}
	return t
}
