package schema

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// RunsResponse is a page of the runs of a workflow, the latest first.
type RunsResponse struct {
	WorkflowID    string       `json:"workflowId"`
	Runs          []ChainedRun `json:"runs"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

// ChainedRun is a run of a workflow: how it began, and how it ended.
type ChainedRun struct {
	RunID     history.RunID  `json:"runId"`
	Type      string         `json:"type"`
	Status    history.Status `json:"status"`
	StartedAt time.Time      `json:"startedAt"`
	ClosedAt  *time.Time     `json:"closedAt,omitempty"`
	// CloseReason is why it closed, in a word, as in a Description.
	CloseReason string `json:"closeReason,omitempty"`
	// StartedBy is what opened the run: one of the constants below.
	StartedBy string `json:"startedBy"`
	// ContinuedFromRunID is the run that this one continues, and FirstRunID the first of the chain.
	// Both are empty in the first run.
	ContinuedFromRunID history.RunID `json:"continuedFromRunId,omitempty"`
	FirstRunID         history.RunID `json:"firstRunId,omitempty"`
	// ResetFromRunID is the run that was reset; empty if no reset opened this one.
	ResetFromRunID history.RunID `json:"resetFromRunId,omitempty"`
	// Attempt counts the attempts of a retry policy, from 1 on.
	Attempt      int    `json:"attempt"`
	CronSchedule string `json:"cronSchedule,omitempty"`
	// NewRunID is the run that continues this one, and ReplacedByRunID the one for which a start
	// has terminated it. Both are empty if there is none.
	NewRunID        history.RunID `json:"newRunId,omitempty"`
	ReplacedByRunID history.RunID `json:"replacedByRunId,omitempty"`
}

// What opens a run: a request, a parent, the code of the run before, the retry policy, the cron
// expression, or a reset.
const (
	ByStart         = "start"
	ByParent        = "parent"
	ByContinueAsNew = "continueAsNew"
	ByRetry         = "retry"
	ByCron          = "cron"
	ByReset         = "reset"
)
