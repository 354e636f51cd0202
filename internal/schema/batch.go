package schema

import (
	"encoding/json"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// BatchAction is what a batch does with each run.
type BatchAction struct {
	// Kind is cancel, terminate, signal, reset, delete, retry, pause, resume or move. A retry is of
	// the failed task of a stuck run, and of each activity that backs off.
	Kind string `json:"kind"`
	// Reason is for readers of the histories, at most 1 KiB.
	Reason string `json:"reason,omitempty"`
	// SignalName is the name of the signal that is sent, and Input its input, at most 16 KiB.
	SignalName string          `json:"signalName,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	// To is the task that a run is reset to: firstTask or lastTask. Exclude is what a reset leaves
	// out: updates, signals.
	To      string   `json:"to,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
	// Build is the build whose first task a run is reset to, or the one that it is moved to; if
	// absent, a move is to the build that runs the batch. Unpin lets the newest build run it.
	Build string `json:"build,omitempty"`
	Unpin bool   `json:"unpin,omitempty"`
}

// StartBatchRequest starts a batch.
type StartBatchRequest struct {
	// BatchID is chosen by the caller; if absent, it is the RequestID, or one is generated.
	BatchID string `json:"batchId,omitempty"`
	// Filter selects the runs, as in a list, without ORDER BY.
	Filter string `json:"filter"`
	// Action is what is done with each run. A dry run needs none.
	Action *BatchAction `json:"action,omitempty"`
	// DryRun does nothing with the runs, and counts them by type and status.
	DryRun bool `json:"dryRun,omitempty"`
	// Rate is how many runs are acted on in a second, 0.01 to 1000; 0 is no limit.
	Rate float64 `json:"rate,omitempty"`
	// MostRuns stops a batch that matches more runs; if absent, 10000. It does not bound a dry run.
	MostRuns int `json:"mostRuns,omitempty"`
	// Unknown is allow if the filter may have names that no run has; if absent, they are refused.
	Unknown string `json:"unknown,omitempty"`
	// RequestID identifies the request if it is sent again; if absent, one is generated.
	RequestID string `json:"requestId,omitempty"`
}

// StartBatchResponse names the batch.
type StartBatchResponse struct {
	BatchID string `json:"batchId"`
}

// StopBatchRequest stops a batch.
type StopBatchRequest struct {
	Reason    string `json:"reason,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// BatchRateRequest changes the rate of a batch.
type BatchRateRequest struct {
	// Rate is as in StartBatchRequest.
	Rate      float64 `json:"rate"`
	RequestID string  `json:"requestId,omitempty"`
}

// BatchListResponse is a page of the list of batches.
type BatchListResponse struct {
	Batches       []BatchSummary `json:"batches"`
	NextPageToken string         `json:"nextPageToken,omitempty"`
}

// BatchSummary is a batch in a list.
type BatchSummary struct {
	BatchID string `json:"batchId"`
	// Status is that of the batch's workflow.
	Status history.Status `json:"status"`
	// State is running, stopped or completed; or, if its workflow was ended in another way, failed,
	// canceled, terminated or timedOut. A batch that is stopping is running here.
	State string `json:"state"`
	// Refused and Failed count the runs that a batch which has ended could not act on.
	Refused int `json:"refused,omitempty"`
	Failed  int `json:"failed,omitempty"`
	// Kind is that of its action; empty if it is a dry run without one. Filter is at most the first
	// 200 bytes of its filter.
	Kind      string     `json:"kind,omitempty"`
	DryRun    bool       `json:"dryRun,omitempty"`
	Filter    string     `json:"filter,omitempty"`
	StartedAt time.Time  `json:"startedAt"`
	ClosedAt  *time.Time `json:"closedAt,omitempty"`
}

// BatchDescription describes a batch.
type BatchDescription struct {
	BatchID string `json:"batchId"`
	// State is running, stopping, stopped or completed; or, if its workflow was ended in another
	// way, failed, canceled, terminated or timedOut.
	State string `json:"state"`
	// Reason is why it was stopped.
	Reason   string       `json:"reason,omitempty"`
	Filter   string       `json:"filter"`
	Action   *BatchAction `json:"action,omitempty"`
	DryRun   bool         `json:"dryRun,omitempty"`
	Rate     float64      `json:"rate,omitempty"`
	MostRuns int          `json:"mostRuns"`

	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	// Steps is how many steps it has taken.
	Steps int `json:"steps"`
	// Listed says that the list of runs has ended: no more will match.
	Listed bool        `json:"listed"`
	Counts BatchCounts `json:"counts"`
	// Groups are the counts of a dry run by type and status.
	Groups []BatchGroup `json:"groups,omitempty"`
	// Problems are the last 20 runs that were not acted on, the latest last.
	Problems []BatchProblem `json:"problems,omitempty"`
}

// BatchCounts counts the runs of a batch. What is matched and in no other count is still to be
// done.
type BatchCounts struct {
	// Matched are the runs that were found so far.
	Matched int `json:"matched"`
	// Done were acted on. With those that count as Already there was nothing to do.
	Done    int `json:"done"`
	Already int `json:"already"`
	// Refused are runs that the action is not possible for, Failed those that it failed for.
	Refused int `json:"refused"`
	Failed  int `json:"failed"`
}

// BatchGroup counts the runs of a type that have a status. A group without a type counts the runs
// of all groups beyond 200.
type BatchGroup struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Count  int    `json:"count"`
}

// BatchProblem is why a run was not acted on.
type BatchProblem struct {
	WorkflowID string        `json:"workflowId"`
	RunID      history.RunID `json:"runId"`
	// Refused says that the action is not possible for the run; otherwise it has failed.
	Refused bool   `json:"refused,omitempty"`
	Reason  string `json:"reason"`
}
