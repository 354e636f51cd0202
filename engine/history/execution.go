package history

import "github.com/seed-41655fb1/weft/engine/failure"

// WorkflowExecutionStarted opens a run; it is the first event of its first commit.
type WorkflowExecutionStarted struct {
	WorkflowType string  `cbor:"1,keyasint" json:"workflowType"`
	Input        Payload `cbor:"2,keyasint,omitempty" json:"input,omitempty"`
	// RequestID identifies a start that is sent again. A run that continues another keeps its
	// request id.
	RequestID string `cbor:"3,keyasint,omitempty" json:"requestId,omitempty"`
	// RunTimeout is how long the run may stay open, from the end of its start delay on; 0 is for
	// ever.
	RunTimeout Duration `cbor:"4,keyasint,omitempty" json:"runTimeout,omitempty"`
	// StartDelay delays the first task, unless an event arrives earlier; 0 is no delay.
	StartDelay Duration `cbor:"5,keyasint,omitempty" json:"firstWorkflowTaskBackoff,omitempty"`
	// ContinuedFrom is the run that this one continues, and FirstRunID the first of such a chain.
	// Both are empty in a run that a caller started.
	ContinuedFrom RunID `cbor:"6,keyasint,omitempty" json:"continuedExecutionRunId,omitempty"`
	FirstRunID    RunID `cbor:"7,keyasint,omitempty" json:"firstExecutionRunId,omitempty"`
	// TraceParent is the trace context that the workflow was started in, as a W3C traceparent
	// header; empty without a trace. A run that continues another keeps it. Nothing but traces
	// depends on it.
	TraceParent string `cbor:"8,keyasint,omitempty" json:"traceParent,omitempty"`
	// OriginalRunID is the run in which this event was first written, if a reset has copied it;
	// empty otherwise. Random numbers follow from it, so that they are the same again.
	OriginalRunID RunID `cbor:"9,keyasint,omitempty" json:"originalExecutionRunId,omitempty"`
	// MaxPayload is the largest input or result of the run's code, in bytes, if it is more than
	// usual: large payloads were enabled when the run was opened. It is recorded because a replay
	// has to decide as the first run did.
	MaxPayload int `cbor:"25,keyasint,omitempty" json:"maxPayloadBytes,omitempty"`
	// Retention is how long the run is kept after it has closed. It is fixed when the run opens: a
	// run that continues another, also after a reset, gets that of the deployment which opens it. 0
	// is a run of an earlier version of Weft.
	Retention Duration `cbor:"26,keyasint,omitempty" json:"-"`
	// Quick counts the runs right before this one that continued as new within a second of their
	// beginning, up to the number from which StartDelay slows the chain down. It is 0 in a run of
	// an earlier version of Weft.
	Quick int `cbor:"27,keyasint,omitempty" json:"quickContinuations,omitempty"`
	// Header is passed on to activities, children and the runs that follow.
	Header Header `cbor:"40,keyasint,omitempty" json:"header,omitempty"`
	// Memo and SearchAttributes are those that the run shows from its start. A run that continues
	// as new starts with those that its predecessor had then.
	Memo             Memo             `cbor:"50,keyasint,omitempty" json:"memo,omitempty"`
	SearchAttributes SearchAttributes `cbor:"51,keyasint,omitempty" json:"searchAttributes,omitempty"`
	// Topics say where the topics of the run before this one go on, sorted by name.
	Topics []TopicOffset `cbor:"52,keyasint,omitempty" json:"topics,omitempty"`
	// Build is the build that the run is pinned to, or empty if the newest build runs it.
	Build string `cbor:"24,keyasint,omitempty" json:"build,omitempty"`
	// Parent is the run that waits for the outcome, if another run started this one as its child,
	// or nil. A run that continues another keeps it.
	Parent *Parent `cbor:"30,keyasint,omitempty" json:"parent,omitempty"`
	// Retry says whether another run follows one that failed or took too long; nil is never.
	// Attempt counts runs that follow each other like that, from 2 on; 0 is the first.
	Retry   *RetryPolicy `cbor:"16,keyasint,omitempty" json:"retryPolicy,omitempty"`
	Attempt int          `cbor:"17,keyasint,omitempty" json:"attempt,omitempty"`
	// Cron says when another run follows, however this one ended; empty is never.
	Cron string `cbor:"18,keyasint,omitempty" json:"cronSchedule,omitempty"`
	// ExecutionTimeout is how long the whole chain of runs may take; 0 is for ever.
	// ExecutionDeadline is when that is over; it is 0 in the first run, whose deadline follows from
	// its time.
	ExecutionTimeout  Duration  `cbor:"19,keyasint,omitempty" json:"executionTimeout,omitempty"`
	ExecutionDeadline Timestamp `cbor:"20,keyasint,omitempty" json:"executionDeadline,omitzero"`
	// LastFailure is the failure of the run before this one, or nil. LastResult is the result of
	// the last run of the chain that had one.
	LastFailure *failure.Failure `cbor:"21,keyasint,omitempty" json:"continuedFailure,omitempty"`
	LastResult  Payload          `cbor:"22,keyasint,omitempty" json:"lastCompletionResult,omitempty"`
}

// Type returns TypeWorkflowExecutionStarted.
func (*WorkflowExecutionStarted) Type() Type { return TypeWorkflowExecutionStarted }
func (*WorkflowExecutionStarted) isArrival() {}

// NextRun returns the run that continues the one that an event closes, or empty.
func NextRun(closing Attributes) RunID { return EndOf(closing).Next }

// OpenedWith returns the run that was opened in the put in which an event closed its own run,
// whether it continues that run or not, or empty.
func OpenedWith(closing Attributes) RunID {
	if a, ok := closing.(*WorkflowExecutionTerminated); ok && a.ReplacedBy != "" {
		return a.ReplacedBy
	}
	return NextRun(closing)
}

// WorkflowExecutionCompleted closes a run whose code returned a result.
type WorkflowExecutionCompleted struct {
	Result Payload `cbor:"1,keyasint,omitempty" json:"result,omitempty"`
	// NewRunID is the run that follows, by the cron expression, or empty.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
}

// Type returns TypeWorkflowExecutionCompleted.
func (*WorkflowExecutionCompleted) Type() Type { return TypeWorkflowExecutionCompleted }
func (*WorkflowExecutionCompleted) isClosing() {}

// WorkflowExecutionFailed closes a run whose code returned an error.
type WorkflowExecutionFailed struct {
	Failure *failure.Failure `cbor:"1,keyasint" json:"failure"`
	// NewRunID is the run that follows, by the retry policy or the cron expression, or empty.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
}

// Type returns TypeWorkflowExecutionFailed.
func (*WorkflowExecutionFailed) Type() Type { return TypeWorkflowExecutionFailed }
func (*WorkflowExecutionFailed) isClosing() {}

// WorkflowExecutionCanceled closes a run whose code returned the cancellation, after the run had
// been asked to end.
type WorkflowExecutionCanceled struct {
	Failure *failure.Failure `cbor:"1,keyasint,omitempty" json:"failure,omitempty"`
}

// Type returns TypeWorkflowExecutionCanceled.
func (*WorkflowExecutionCanceled) Type() Type { return TypeWorkflowExecutionCanceled }
func (*WorkflowExecutionCanceled) isClosing() {}

// WorkflowExecutionTerminated closes a run from outside, without running its code.
type WorkflowExecutionTerminated struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// NewRunID is the run that continues this one after a reset, or empty.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
	// ResetEventID is the first event that the new run does not have, if a reset ended this one:
	// what was started before it belongs to the new run.
	ResetEventID int64 `cbor:"3,keyasint,omitempty" json:"resetEventId,omitempty"`
	// RequestID is as in WorkflowExecutionCancelRequested.
	RequestID string `cbor:"4,keyasint,omitempty" json:"requestId,omitempty"`
	// ReplacedBy is the run that a start opened in the same put, with the idConflictPolicy
	// terminateExisting; empty otherwise. It does not continue this run. Commits of earlier
	// versions do not name it.
	ReplacedBy RunID `cbor:"5,keyasint,omitempty" json:"replacedByRunId,omitempty"`
}

// Type returns TypeWorkflowExecutionTerminated.
func (*WorkflowExecutionTerminated) Type() Type { return TypeWorkflowExecutionTerminated }
func (*WorkflowExecutionTerminated) isArrival() {}

// WorkflowExecutionTimedOut closes a run that was open for longer than its run timeout, or whose
// chain was open for longer than its execution timeout. The field of the timeout that did not end
// it is 0.
type WorkflowExecutionTimedOut struct {
	RunTimeout Duration `cbor:"1,keyasint,omitempty" json:"runTimeout,omitempty"`
	// NewRunID is the run that follows, by the retry policy or the cron expression, or empty.
	NewRunID         RunID    `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
	ExecutionTimeout Duration `cbor:"3,keyasint,omitempty" json:"executionTimeout,omitempty"`
}

// Type returns TypeWorkflowExecutionTimedOut.
func (*WorkflowExecutionTimedOut) Type() Type { return TypeWorkflowExecutionTimedOut }
func (*WorkflowExecutionTimedOut) isArrival() {}

// WorkflowExecutionContinuedAsNew closes a run whose code continues in another run, which the same
// put opened.
type WorkflowExecutionContinuedAsNew struct {
	NewRunID     RunID   `cbor:"1,keyasint" json:"newExecutionRunId"`
	WorkflowType string  `cbor:"2,keyasint" json:"workflowType"`
	Input        Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
}

// Type returns TypeWorkflowExecutionContinuedAsNew.
func (*WorkflowExecutionContinuedAsNew) Type() Type { return TypeWorkflowExecutionContinuedAsNew }
func (*WorkflowExecutionContinuedAsNew) isClosing() {}

// WorkflowExecutionSignaled is a signal that arrived.
type WorkflowExecutionSignaled struct {
	SignalName string  `cbor:"1,keyasint" json:"signalName"`
	Input      Payload `cbor:"2,keyasint,omitempty" json:"input,omitempty"`
	// RequestID identifies a signal that is sent again.
	RequestID string `cbor:"3,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type returns TypeWorkflowExecutionSignaled.
func (*WorkflowExecutionSignaled) Type() Type { return TypeWorkflowExecutionSignaled }
func (*WorkflowExecutionSignaled) isArrival() {}

// WorkflowExecutionOptionsUpdated moves the run to another build.
type WorkflowExecutionOptionsUpdated struct {
	// Build is the build that the run is pinned to from here on, or empty if the newest build runs
	// it.
	Build string `cbor:"1,keyasint,omitempty" json:"build,omitempty"`
}

// Type returns TypeWorkflowExecutionOptionsUpdated.
func (*WorkflowExecutionOptionsUpdated) Type() Type { return TypeWorkflowExecutionOptionsUpdated }
func (*WorkflowExecutionOptionsUpdated) isArrival() {}

// WorkflowExecutionCancelRequested asks the workflow's code to end: its context is canceled.
type WorkflowExecutionCancelRequested struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// RequestID identifies the request of another workflow's code when it is redelivered; empty if
	// a caller made the request.
	RequestID string `cbor:"2,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type returns TypeWorkflowExecutionCancelRequested.
func (*WorkflowExecutionCancelRequested) Type() Type { return TypeWorkflowExecutionCancelRequested }
func (*WorkflowExecutionCancelRequested) isArrival() {}
