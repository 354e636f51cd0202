package schema

import "time"

// WorkflowSummary is a run in a list. Its state is that of its last row, which may be slightly
// behind the log.
type WorkflowSummary struct {
	WorkflowRun
	// State is StateStuck if the tasks of the run fail, and StatePaused if it is paused. It is
	// StateRetrying if FailingActivities has any. It is absent otherwise: a description has the
	// other states.
	State RunState `json:"state,omitempty"`
	// Stuck says since when, and why; absent if the tasks do not fail.
	Stuck *ListedStuck `json:"stuck,omitempty"`
	// Paused says since when; absent if the run is not paused.
	Paused *ListedPaused `json:"paused,omitempty"`
	// FailingActivities are the types of the pending activities of which an attempt has failed.
	// Only a list whose filter has Retrying or FailingActivity has them.
	FailingActivities []string `json:"failingActivities,omitempty"`
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

// ListedPaused says since when a run is paused. A description also has the reason, which a list
// does not keep.
type ListedPaused struct {
	Since time.Time `json:"since"`
}
