package observe

import (
	"log/slog"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Event is something that has happened. Its types are those of this file.
type Event interface {
	// measure calls add with what the event adds to metrics.
	measure(add func(*Metric, float64))
	// describe returns the event as a log line.
	describe() (what string, attrs []slog.Attr)
}

// Outcome is how something ended.
type Outcome string

// The outcomes of workflow tasks.
const (
	// Committed is a task whose commit is in the log.
	Committed Outcome = "committed"
	// Lost is a task whose commit came too late: another took its slot.
	Lost Outcome = "lost"
	// Discarded is a task that wrote nothing: its input was refused, or it failed again.
	Discarded Outcome = "discarded"
	// Unknown is a task whose commit may have landed.
	Unknown Outcome = "unknown"
	// Refused is a task whose commit a store or a queue refused.
	Refused Outcome = "refused"
)

// The outcomes of updates, besides Refused. A refused update has been seen by no validator.
const (
	Accepted Outcome = "accepted"
	Rejected Outcome = "rejected"
)

// The outcomes of attempts at activities.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	TimedOut  Outcome = "timedOut"
	// Pending is an attempt whose function has returned, and which goes on outside.
	Pending Outcome = "pending"
)

// Task is a workflow task that ran, and its outcome.
type Task struct {
	Run
	// Commit is the commit that the task wrote, or would have written.
	Commit history.CommitID
	// Trigger is the task's input: start, signal, activity, timer, update, cancel, or retry for a
	// task that failed before.
	Trigger string
	Kind    history.TaskKind
	// Attempt counts from 1.
	Attempt int
	// Events is how many events it added to the history.
	Events  int64
	Outcome Outcome
	// Failure is the kind of its failure; empty for one that did not fail.
	Failure string
	// Impure says which validators or query handlers a check has found to change state, and how it
	// found that, without payloads. A task that fails for this alone does not fail when it runs
	// again.
	Impure string
	// Blamed is the id of the accepted update whose code made the task fail, if that is known.
	Blamed string
	// Stuck says that it failed, and that the task had failed before.
	Stuck bool
	// Began and Ended are from the first line of code to the outcome; Ran is how long the code
	// took.
	Began, Ended time.Time
	Ran          time.Duration
}

// Update is an update that reached a run's code, or would have, and its verdict.
type Update struct {
	Run
	UpdateID, Name string
	Outcome        Outcome
	// Began is when it arrived, Ended when the verdict was known.
	Began, Ended time.Time
}

// Attempt is an attempt at an activity.
type Attempt struct {
	Run
	ActivityType string
	// EventID is the id of the event that scheduled the activity, and Commit the commit with that
	// event.
	EventID int64
	Commit  history.CommitID
	// Number counts from 1.
	Number  int
	Outcome Outcome
	// Failure is the kind of its failure; empty for one that completed.
	Failure      string
	Began, Ended time.Time
}

// Timer is a timer that has fired.
type Timer struct {
	Run
	// EventID is the id of the event that started it, and Commit the commit with that event.
	EventID int64
	Commit  history.CommitID
	// Began is when it was started.
	Began, Ended time.Time
}

// Closed is a run that has closed.
type Closed struct {
	Run
	Status history.Status
	// Events is how long its history is.
	Events       int64
	Began, Ended time.Time
}

// Reset is a run that continues from an earlier task of another.
type Reset struct {
	Run
	// Commit is the id that all commits of the reset share. The messages that they sent again
	// belong to it.
	Commit history.CommitID
	// From is the run that was reset.
	From history.RunID
	// At is the time of the reset.
	At time.Time
}

// Request is a request of the HTTP API. The handler creates it, and fills in how it ended.
type Request struct {
	// Method and Route are as in "GET" and "/v1/workflows/{id}".
	Method, Route string
	// Operation is what is asked for: start, signal, update, query, cancel, terminate; empty for
	// those that only look. Name is the name of the signal, the update or the query.
	Operation, Name string
	// InTrace says that the run's own trace has a span of the request. A start and an update always
	// have one.
	InTrace bool
	// Header returns a header of the request; it has the caller's trace context.
	Header func(name string) string
	Status int
	// Cause is what it failed by; empty if it did not fail, or nobody knows.
	Cause refusal.Cause
	// Slow says that it took longer than a request should.
	Slow bool
	// Left says that the caller had left, so that the answer reaches nobody.
	Left bool
	Cost meter.Cost
	// Began is when it arrived, and Ended when its answer was known.
	Began, Ended time.Time

	carried carried
}

// Took returns how long the request took, without the time for which it waited on purpose.
func (r *Request) Took() time.Duration { return r.Ended.Sub(r.Began) - r.waited() }

// Spent is what the handling of messages has cost.
type Spent struct{ meter.Cost }

// LostRace is a put that came too late: another commit took its slot.
type LostRace struct{ WorkflowID string }

// Hung is workflow code that does not return; its instance is abandoned.
type Hung struct{ WorkflowID string }

// Held is an attempt that may take longer than its function allows: its activity waits for another
// deployment.
type Held struct {
	Run
	ActivityType string
	EventID      int64
}

// Unhandled is a signal that no code of its run had asked for when it arrived. It waits.
type Unhandled struct {
	Run
	Signal string
}

// LateTimers are timers in the table that a sweep found overdue. Lag is the age of the earliest.
type LateTimers struct{ Lag time.Duration }

// LateCheck is a step of the slow check that failed, or whose walk takes too long.
type LateCheck struct{}

// ProbeFailed is a beat of the probe that failed, or before which the last one had not completed.
type ProbeFailed struct{}

// Returned are messages that were returned to their queue although they had been received often
// before.
type Returned struct{ Messages int }

// LettersLeft are the messages that a queue of dead letters has.
type LettersLeft struct {
	// Queue is the queue that they came from.
	Queue   string
	Letters int64
}

// DeadLetter is a message that was received too often.
type DeadLetter struct {
	WorkflowID string
	RunID      history.RunID
	// Kind is what the message asks for, as words.
	Kind string
}
