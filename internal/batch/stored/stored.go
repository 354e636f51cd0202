// Package stored has the forms in which batches are stored: the input of the workflow of a batch,
// that of its activity, and the inputs and results of its updates and its query. A history keeps
// them, so they outlive the version of Weft that wrote them, and the HTTP API may change without
// them. Package httpapi converts between its own structs and these.
package stored

import (
	"encoding/json"
	"time"
)

// A batch is one of Weft's own workflows. WorkflowType is its type, and StepType that of its
// activity. Its id is IDPrefix followed by the batch's id.
const (
	WorkflowType = "weft.batch"
	StepType     = "weft.batch.step"
	IDPrefix     = "weft.batch:"
)

// The updates and the query of a batch, and the field of its memo.
const (
	UpdateStop    = "weft.stop"
	UpdateRate    = "weft.rate"
	QueryDescribe = "weft.describe"
	MemoField     = "batch"
)

// DefaultMostRuns is how many runs a batch may match if its request does not say.
const DefaultMostRuns = 10_000

// Kind says what a batch does with each run.
type Kind string

// The kinds of actions.
const (
	Cancel    Kind = "cancel"
	Terminate Kind = "terminate"
	Signal    Kind = "signal"
	Reset     Kind = "reset"
	Delete    Kind = "delete"
	Retry     Kind = "retry"
	Pause     Kind = "pause"
	Resume    Kind = "resume"
	Move      Kind = "move"
)

// Kinds are all kinds of actions.
var Kinds = []Kind{Cancel, Terminate, Signal, Reset, Delete, Retry, Pause, Resume, Move}

// RunsCode reports whether the action runs the code of the run, so that only a program that has the
// code may carry it out.
func (k Kind) RunsCode() bool {
	return k == Cancel || k == Signal || k == Reset || k == Retry || k == Resume || k == Move
}

// Action is what a batch does with each run.
type Action struct {
	Kind Kind `json:"kind"`
	// Reason is for readers of the histories.
	Reason string `json:"reason,omitempty"`
	// Signal is the name of the signal that is sent, and Input its input.
	Signal string          `json:"signal,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	// To is the task that a run is reset to: firstTask or lastTask. Exclude is what a reset leaves
	// out.
	To      string   `json:"to,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Build is the build whose first task a run is reset to, or that a run is moved to. Unpin lets
	// the newest build run it.
	Build string `json:"build,omitempty"`
	Unpin bool   `json:"unpin,omitempty"`
}

// Input is what a batch is started with.
type Input struct {
	ID string `json:"id"`
	// Key is what the ids of the batch's requests begin with: no other batch has it.
	Key    string `json:"key"`
	Filter string `json:"filter"`
	// Action is what is done with each run. A dry run does nothing, and needs none.
	Action *Action `json:"action,omitempty"`
	DryRun bool    `json:"dryRun,omitempty"`
	// Rate is how many runs are acted on in a second; 0 is as many as eight at once can be.
	Rate float64 `json:"rate,omitempty"`
	// MostRuns ends a batch that matches more runs.
	MostRuns int `json:"mostRuns"`
}

// State is the input of the workflow of a batch: what it was started with, and what it keeps from
// run to run.
type State struct {
	Input
	// Begun is when the batch was started: it acts on runs that had started by then, also after it
	// was reset. Inputs that earlier versions stored do not have it; their first task says when.
	Begun time.Time `json:"begun,omitzero"`
	Steps int       `json:"steps,omitempty"`
	// Place is where the list goes on; empty is its beginning. Ended says that it has ended.
	Place string `json:"place,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	// Left are runs that the list has returned and that are still to be acted on.
	Left     []Run     `json:"left,omitempty"`
	Counts   Counts    `json:"counts"`
	Groups   []Group   `json:"groups,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Counts counts the runs of a batch.
type Counts struct {
	// Matched are those that the list has returned.
	Matched int `json:"matched"`
	// Done are those that were acted on. Already are those with which there was nothing to do.
	Done    int `json:"done,omitempty"`
	Already int `json:"already,omitempty"`
	// Refused are those that the action is not possible for, and Failed those that it failed for.
	Refused int `json:"refused,omitempty"`
	Failed  int `json:"failed,omitempty"`
}

// Add adds the runs of a step to those of a batch.
func (c *Counts) Add(more Counts) {
	c.Matched += more.Matched
	c.Done += more.Done
	c.Already += more.Already
	c.Refused += more.Refused
	c.Failed += more.Failed
}

// Settled returns how many runs have an outcome.
func (c Counts) Settled() int { return c.Done + c.Already + c.Refused + c.Failed }

// Run is a run that a batch acts on.
type Run struct {
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	Type       string `json:"type"`
	// Tries is how often it was tried.
	Tries int `json:"tries,omitempty"`
}

// Group counts the runs of a type and a status that a dry run has matched.
type Group struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Count  int    `json:"count"`
}

// Problem is why a run was not acted on.
type Problem struct {
	WorkflowID string `json:"workflowId"`
	RunID      string `json:"runId"`
	// Refused says that the action is not possible for the run. Otherwise it has failed.
	Refused bool   `json:"refused,omitempty"`
	Reason  string `json:"reason"`
}

// Step is the input of the activity.
type Step struct {
	Batch  string `json:"batch"`
	Key    string `json:"key"`
	Filter string `json:"filter"`
	// Before selects the runs that started before.
	Before time.Time `json:"before"`
	Action *Action   `json:"action,omitempty"`
	Rate   float64   `json:"rate,omitempty"`
	// Room is how many more runs may be matched.
	Room  int    `json:"room"`
	Place string `json:"place,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	Left  []Run  `json:"left,omitempty"`
}

// Stepped is the result of the activity.
type Stepped struct {
	Place string `json:"place,omitempty"`
	Ended bool   `json:"ended,omitempty"`
	Left  []Run  `json:"left,omitempty"`
	// Over says that more runs match than may.
	Over     bool      `json:"over,omitempty"`
	Counts   Counts    `json:"counts"`
	Groups   []Group   `json:"groups,omitempty"`
	Problems []Problem `json:"problems,omitempty"`
}

// Stop is the input of the update that stops a batch.
type Stop struct {
	Reason string `json:"reason,omitempty"`
}

// Rate is the input of the update that changes the rate of a batch.
type Rate struct {
	Rate float64 `json:"rate"`
}

// The phases of a batch.
const (
	PhaseRunning   = "running"
	PhaseStopping  = "stopping"
	PhaseStopped   = "stopped"
	PhaseCompleted = "completed"
)

// Description describes a batch. It is the result of its query, and of its workflow.
type Description struct {
	State
	Phase string `json:"phase"`
	// Reason is why it was stopped.
	Reason string `json:"reason,omitempty"`
	// EndedAt is when it ended; absent until then.
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// Memo is what the list shows of a batch.
type Memo struct {
	Kind   Kind   `json:"kind,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
	Filter string `json:"filter"`
	// Phase is how the batch ended; empty until then. Refused and Failed are as in Counts.
	Phase   string `json:"phase,omitempty"`
	Refused int    `json:"refused,omitempty"`
	Failed  int    `json:"failed,omitempty"`
}
