package engine

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// deadline returns when a run that was opened at this time times out; 0 is never. whole reports
// whether that is the execution timeout of its chain. In a run that a reset has opened, the start
// delay is over.
func deadline(started *history.WorkflowExecutionStarted, opened history.Timestamp, reset bool) (end history.Timestamp, whole bool) {
	if started.RunTimeout > 0 {
		end = opened.Add(time.Duration(started.RunTimeout))
		if !reset {
			end = end.Add(time.Duration(started.StartDelay))
		}
	}
	if last := executionDeadline(started, opened); last != 0 && (end == 0 || last <= end) {
		return last, true
	}
	return end, false
}

// Deadline returns when the run times out; 0 is never.
func (r *Run) Deadline() history.Timestamp {
	end, _ := deadline(r.State.Started, r.State.StartTime, r.State.Reset != nil)
	return end
}

// executionDeadline returns when the time of a whole chain is over; 0 is never. It counts from the
// end of the start delay of the chain's start.
func executionDeadline(started *history.WorkflowExecutionStarted, opened history.Timestamp) history.Timestamp {
	switch {
	case started.ExecutionDeadline != 0 || started.ExecutionTimeout == 0:
		return started.ExecutionDeadline
	case started.Cron == "":
		opened = opened.Add(time.Duration(started.StartDelay))
	}
	return opened.Add(time.Duration(started.ExecutionTimeout))
}

// Delayed returns the event that opens a run which is started now, with the delay until the first
// moment of its cron expression, if it has one.
func Delayed(started *history.WorkflowExecutionStarted, w *Writer) *history.WorkflowExecutionStarted {
	if started.Cron == "" || started.ContinuedFrom != "" {
		return started
	}
	delayed := *started
	delayed.StartDelay = delay(w.Now, w.NextTime(started.Cron, w.Now))
	return &delayed
}

// delay returns the start delay of a run that is opened now and begins at another moment. It is
// never zero, because a run without a delay would begin within the put that closes the run before
// it.
func delay(now, at history.Timestamp) history.Duration {
	return history.Duration(max(at.Sub(now), time.Millisecond))
}

// Waits reports whether an open run waits for its next attempt, or for the next moment of a cron
// expression. A run that was slowed down because its chain continues as new too fast does not wait
// in this sense: any event runs its first task at once.
func (r *Run) Waits() bool {
	started := r.State.Started
	return r.State.Pending == history.PendingStart && started.StartDelay > 0 && started.Quick == 0 && (started.ContinuedFrom != "" || started.Cron != "")
}

// Keep returns the commit of an event for a run that waits. No code runs. A signal waits with the
// run, and a request to end ends it.
func (r *Run) Keep(w *Writer, e history.Event) *history.Commit {
	c := r.Hold(w, []history.Event{e})
	if cancel, ok := e.Attributes.(*history.WorkflowExecutionCancelRequested); ok {
		f := failure.FromError(&failure.CanceledError{Reason: cancel.Reason})
		c.Commands, c.Status, c.Pending = []history.Event{history.Of(&history.WorkflowExecutionCanceled{Failure: f})}, history.Canceled, history.PendingNone
	}
	return c
}

// TimeOut returns the transition of an open run whose time is over. The run closes without running
// any code, and another run may follow.
func (r *Run) TimeOut(w *Writer) *Transition {
	started := r.State.Started
	end := &history.WorkflowExecutionTimedOut{RunTimeout: started.RunTimeout}
	_, whole := deadline(started, r.State.StartTime, r.State.Reset != nil)
	if whole {
		end = &history.WorkflowExecutionTimedOut{ExecutionTimeout: started.ExecutionTimeout}
	}
	t := &Transition{Commit: r.End(w, history.Of(end))}
	if !whole {
		r.follow(w, t, nil)
	}
	return t
}

// follow adds the run that follows one which the transition closes, if any does. One follows if the
// code continues as new, if the run failed and is retried, or if a cron expression names another
// moment. Once a run was asked to end, only a continue-as-new is followed.
func (r *Run) follow(w *Writer, t *Transition, unread []history.Event) {
	c := t.Commit
	started := r.started(c.InputEvents)
	next := *started
	next.ContinuedFrom, next.FirstRunID, next.OriginalRunID = c.RunID, cmp.Or(started.FirstRunID, c.RunID), ""
	next.ExecutionDeadline = executionDeadline(started, cmp.Or(r.State.StartTime, c.Time))
	next.StartDelay, next.Build, next.MaxPayload, next.Retention = 0, r.Pinned(c), w.Options.Largest(), history.Duration(RetentionOf(next.WorkflowType, w.Retention))
	next.Quick = 0
	next.Topics = r.topicsAfter(c)
	if at := r.nextTime(w, c, &next); at != 0 {
		next.StartDelay = delay(c.Time, at)
	} else if c.Status != history.ContinuedAsNew {
		return
	} else {
		r.slowDown(c, started, &next)
	}
	t.Next = slices.Concat([]history.Event{history.Of(&next)}, r.subscribed(c), unread)
	t.NextRunID = w.NextRunID
}

const (
	// quickRun is the shortest duration of a run that continues as new and counts as slow.
	quickRun = time.Second
	// quickRuns is how many quick runs may follow each other at once. Each run after them begins
	// quickRun after the beginning of the one before it.
	quickRuns = 10
)

// slowDown counts a quick run that continues as new, and delays the next one if quickRuns in a row
// were quick. Without it, a workflow that continues as new without end and without waiting would
// fill the disk. Only times in the log decide, so the same log has the same delay. A run that an
// event woke in its start delay began when it was opened.
func (r *Run) slowDown(c *history.Commit, started, next *history.WorkflowExecutionStarted) {
	begun := cmp.Or(r.State.StartTime, c.Time)
	if end := begun.Add(time.Duration(started.StartDelay)); r.State.Reset == nil && end <= c.Time {
		begun = end
	}
	earliest := begun.Add(quickRun)
	if c.Time >= earliest {
		return
	}
	if next.Quick = min(started.Quick+1, quickRuns); started.Quick >= quickRuns {
		next.StartDelay = delay(c.Time, earliest)
	}
}

// nextTime returns when the run begins that follows one which a commit closes, and fills in its
// start. 0 means at once if the code continues as new, and otherwise that no run follows.
func (r *Run) nextTime(w *Writer, c *history.Commit, next *history.WorkflowExecutionStarted) history.Timestamp {
	last := closing(c)
	if a, ok := last.(*history.WorkflowExecutionContinuedAsNew); ok {
		next.WorkflowType, next.Input, next.Attempt = a.WorkflowType, a.Input, 0
		visibility := r.Visibility(c)
		next.Memo, next.SearchAttributes = visibility.Memo, visibility.SearchAttributes
		return 0
	}
	var at history.Timestamp
	switch end := history.EndOf(last); end.Status { // after any other status, a caller ended the chain
	case history.Completed:
		if at = r.nextCron(w, c, next); at == 0 {
			return 0
		}
		next.LastFailure, next.LastResult = nil, end.Result
		if size := len(end.Result) + len(next.Input); size > max(next.MaxPayload, MaxPayload) {
			next.LastResult, next.LastFailure = nil, tooLarge("the result of the run before, with the workflow's input,", size, max(next.MaxPayload, MaxPayload))
		}
	case history.Failed, history.TimedOut:
		at = r.nextAttempt(w, c, next, end.Failure)
	}
	if at != 0 {
		history.SetNext(last, w.NextRunID)
	}
	return at
}

// closing returns the event by which a commit closes its run.
func closing(c *history.Commit) history.Attributes {
	if n := len(c.Commands); n > 0 {
		return c.Commands[n-1].Attributes
	}
	return c.InputEvents[len(c.InputEvents)-1].Attributes
}

// nextAttempt returns when the run begins that follows a failed one: by the retry policy, or else
// by the cron expression.
func (r *Run) nextAttempt(w *Writer, c *history.Commit, next *history.WorkflowExecutionStarted, f *failure.Failure) history.Timestamp {
	next.LastFailure = brief(f)
	if at := r.retriedAt(c, r.started(c.InputEvents), f); at != 0 {
		next.Attempt = max(next.Attempt, 1) + 1
		return at
	}
	return r.nextCron(w, c, next)
}

// retriedAt returns when the next attempt of a run begins that a commit closes with a failure; 0 if
// its retry policy lets none follow. It is the same for everybody who has the log.
func (r *Run) retriedAt(c *history.Commit, started *history.WorkflowExecutionStarted, f *failure.Failure) history.Timestamp {
	attempt, p := max(started.Attempt, 1), started.Retry
	if p == nil || r.ending(c) || !f.Retryable(p.NonRetryableTypes) || p.MaximumAttempts > 0 && attempt >= p.MaximumAttempts {
		return 0
	}
	at, last := c.Time.Add(backoff(*p, attempt)), executionDeadline(started, cmp.Or(r.State.StartTime, c.Time))
	if last != 0 && at >= last {
		return 0
	}
	return at
}

// nextCron returns the next moment that a cron expression names, if the chain has time until then.
func (r *Run) nextCron(w *Writer, c *history.Commit, next *history.WorkflowExecutionStarted) history.Timestamp {
	if next.Cron == "" || r.ending(c) {
		return 0
	}
	at := w.NextTime(next.Cron, c.Time)
	if next.ExecutionDeadline != 0 && at >= next.ExecutionDeadline {
		return 0
	}
	next.Attempt = 0
	return at
}

// ending reports whether the run was asked to end, also by the input events of a commit.
func (r *Run) ending(c *history.Commit) bool {
	for _, e := range c.InputEvents {
		if e.Type() == history.TypeWorkflowExecutionCancelRequested {
			return true
		}
	}
	return r.State.CancelRequested
}

// maxLastFailure is the largest failure, in bytes, that is passed to the run that follows: it is
// stored beside that run's input.
const maxLastFailure = 32 << 10

// brief returns a failure as the run that follows gets it. It cuts a large one after its beginning.
// The history of the failed run has the whole.
func brief(f *failure.Failure) *failure.Failure {
	if body, err := history.EncodeBody(f); err == nil && len(body) <= maxLastFailure {
		return f
	}
	return &failure.Failure{Kind: f.Kind, Type: f.Type, Message: strings.ToValidUTF8(f.Message[:min(len(f.Message), maxLastFailure/2)], ""), Timeout: f.Timeout}
}
