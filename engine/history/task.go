package history

import "github.com/seed-41655fb1/weft/engine/failure"

// WorkflowTaskScheduled is the first of the three folded events of a workflow task. It is derived
// from the commit's header for readers of the history, and never stored.
type WorkflowTaskScheduled struct {
	Kind    TaskKind `json:"kind"`
	Attempt int      `json:"attempt"`
}

// WorkflowTaskStarted is the second of the folded events of a workflow task.
type WorkflowTaskStarted struct {
	ScheduledEventID int64 `json:"scheduledEventId"`
	// HistoryLength is the number of events up to and including this one.
	HistoryLength int64 `json:"historyLength"`
	// HistoryBytes is the stored size of the run before this commit.
	HistoryBytes         int64 `json:"historySizeBytes"`
	SuggestContinueAsNew bool  `json:"suggestContinueAsNew"`
}

// WorkflowTaskCompleted is the third of the folded events of a workflow task whose code ran to
// where it waits.
type WorkflowTaskCompleted struct {
	ScheduledEventID int64  `json:"scheduledEventId"`
	StartedEventID   int64  `json:"startedEventId"`
	Build            string `json:"build,omitempty"`
	// Rules are the rules of the engine that the code ran by. A replay of the history follows them.
	Rules Rules `json:"rules,omitempty"`
}

// WorkflowTaskFailed is the third of the folded events of a workflow task whose code failed: the
// task failed, not the run.
type WorkflowTaskFailed struct {
	ScheduledEventID int64            `json:"scheduledEventId"`
	StartedEventID   int64            `json:"startedEventId"`
	Build            string           `json:"build,omitempty"`
	Failure          *failure.Failure `json:"failure"`
	// BaseRunID is the run that was reset, if the failure is a reset.
	BaseRunID RunID `json:"baseRunId,omitempty"`
	// Topics say where the topics of the run that was reset go on.
	Topics []TopicOffset `json:"topics,omitempty"`
}

// Type returns TypeWorkflowTaskScheduled.
func (*WorkflowTaskScheduled) Type() Type  { return TypeWorkflowTaskScheduled }
func (*WorkflowTaskScheduled) isTaskStep() {}

// Type returns TypeWorkflowTaskStarted.
func (*WorkflowTaskStarted) Type() Type  { return TypeWorkflowTaskStarted }
func (*WorkflowTaskStarted) isTaskStep() {}

// Type returns TypeWorkflowTaskCompleted.
func (*WorkflowTaskCompleted) Type() Type  { return TypeWorkflowTaskCompleted }
func (*WorkflowTaskCompleted) isTaskStep() {}

// Type returns TypeWorkflowTaskFailed.
func (*WorkflowTaskFailed) Type() Type  { return TypeWorkflowTaskFailed }
func (*WorkflowTaskFailed) isTaskStep() {}
