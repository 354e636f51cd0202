package schema

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// RunState says, in a word, what an open run does. The first of these that holds is its state.
type RunState string

// The states of open runs.
const (
	// StateStuck is a run whose last workflow task failed. It is retried, and the code goes no
	// further; or it had only updates, and the code waits as before.
	StateStuck RunState = "stuck"
	// StatePaused is a run whose code does not run until it is resumed.
	StatePaused RunState = "paused"
	// StateDelayed is a run whose first task waits for its start delay, or for the next moment of
	// its cron expression.
	StateDelayed RunState = "delayed"
	// StateRunnable is a run with a workflow task that has not run yet.
	StateRunnable RunState = "runnable"
	// StateRetrying is a run with an activity that has failed and that is tried again.
	StateRetrying RunState = "retrying"
	// StateWaiting is any other open run: its code waits.
	StateWaiting RunState = "waiting"
)

// Waits is where the code of a run waits, and for what.
type Waits struct {
	WorkflowID string         `json:"workflowId"`
	RunID      history.RunID  `json:"runId"`
	Status     history.Status `json:"status"`
	// State is absent if the run has closed.
	State RunState `json:"state,omitempty"`
	// AtEventID is the last event that the code has seen. It is not the last event of a run that is
	// stuck, or whose replay has stopped.
	AtEventID int64 `json:"atEventId"`
	// BeforeTask says that the events after AtEventID wait for a workflow task that has failed or
	// has not run yet. Coroutines are those before that task: what they wait for may have come.
	BeforeTask bool `json:"beforeTask,omitempty"`
	// BuildOfTask is the build that ran the last workflow task, and BuildHere the build whose code
	// says where it waits.
	BuildOfTask string `json:"buildOfTask,omitempty"`
	BuildHere   string `json:"buildHere,omitempty"`
	// Coroutines are those that wait, the oldest first. It is empty if the code has not begun, or
	// if the run has closed.
	Coroutines []Coroutine `json:"coroutines"`
	// More is how many further coroutines wait.
	More int `json:"more,omitempty"`
	// UpdateHandlers are the names of the updates that the code handles, in their order: 100 at
	// most. Each can let it continue.
	UpdateHandlers []string `json:"updateHandlers,omitempty"`
	// QueryHandlers are the names of the queries that the code answers, and Signals those of the
	// signals that it has received or waits for, each in their order: 100 at most. It may receive
	// other signals later.
	QueryHandlers []string `json:"queryHandlers,omitempty"`
	Signals       []string `json:"signals,omitempty"`
	// Stopped is why the code could not be replayed to the end of the log; absent if it could. The
	// coroutines are those that are left then, and their event ids what the code says.
	Stopped *failure.Failure `json:"stopped,omitempty"`
}

// Coroutine is a coroutine that waits, or several that wait at the same place for the same kinds of
// things.
type Coroutine struct {
	// Name is main, update NAME, or coroutine.
	Name string `json:"name"`
	// UpdateID is the update whose handler it belongs to; absent for others.
	UpdateID string `json:"updateId,omitempty"`
	// Count is how many coroutines these are.
	Count int `json:"count"`
	// At are the frames of the author's code, the innermost first.
	At []Place `json:"at"`
	// Call is the function of package workflow or activity in which it waits.
	Call string `json:"call,omitempty"`
	// WaitsFor is what it waits for: each of these can let it continue.
	WaitsFor []WaitsFor `json:"waitsFor"`
	// More is how many further things it waits for.
	More int `json:"more,omitempty"`
}

// Place is a place in code.
type Place struct {
	// Place is the folder, the file and the line: order/order.go:41.
	Place    string `json:"place"`
	Function string `json:"function"`
}

// WaitsFor is one thing that code waits for.
type WaitsFor struct {
	// Kind is the name of an engine.WaitKind.
	Kind string `json:"kind"`
	// EventID is the event that scheduled, started or initiated it; absent if there is none.
	EventID int64 `json:"eventId,omitempty"`
	// Name is that of a signal; empty if the code waits for signals of all names. Unread is how
	// many of them have arrived that the code has not received, because it is stuck.
	Name   string `json:"name,omitempty"`
	Unread int    `json:"unread,omitempty"`
	// FireAt is when a timer is due, or the next attempt at a local activity.
	FireAt *time.Time `json:"fireAt,omitempty"`
	// Type is that of an activity or a child.
	Type string `json:"type,omitempty"`
	// Attempt is the attempt that runs, or the next one. LastFailure, NextAttemptAt and Held are as
	// in PendingActivity.
	Attempt       int              `json:"attempt,omitempty"`
	LastFailure   *failure.Failure `json:"lastFailure,omitempty"`
	NextAttemptAt *time.Time       `json:"nextAttemptAt,omitempty"`
	Held          string           `json:"held,omitempty"`
	// WorkflowID is that of a child, or of the workflow that a request goes to.
	WorkflowID string `json:"workflowId,omitempty"`
	// Status and State are those of a child, if the request asks for them: see PendingChild.
	Status *history.Status `json:"status,omitempty"`
	State  RunState        `json:"state,omitempty"`
	// Updates are those in flight, of code that waits for their handlers: 100 at most.
	Updates []UpdateInFlight `json:"updates,omitempty"`
}
