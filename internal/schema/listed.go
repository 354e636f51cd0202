package schema

import "time"

// ListedWorkflow is a run in a list. Its state is that of its last row, which may be slightly
// behind the log.
type ListedWorkflow struct {
	WorkflowSummary
	// State is StateStuck if the tasks of the run fail. It is absent otherwise: a description has
	// the other states.
	State RunState `json:"state,omitempty"`
	// Stuck says since when, and why; absent if the tasks do not fail.
	Stuck *ListedStuck `json:"stuck,omitempty"`
	// CloseReason says in a word why the run closed, as that of a Description.
	CloseReason string `json:"closeReason,omitempty"`
	// ParentWorkflowID is the workflow that started the run as its child.
	ParentWorkflowID string `json:"parentWorkflowId,omitempty"`
}

// ListedStuck says since when, and why, the tasks of a run fail.
type ListedStuck struct {
	Since time.Time `json:"since"`
	// FailureType is the type of the first failure, or its kind.
	FailureType string `json:"failureType"`
}
