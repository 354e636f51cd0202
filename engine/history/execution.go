package history

import "github.com/seed-41655fb1/weft/engine/failure"

// WorkflowExecutionStarted opens a run; it is the first event of its first commit.
type WorkflowExecutionStarted struct {
	WorkflowType string  `cbor:"1,keyasint" json:"workflowType"`
	Input        Payload `cbor:"2,keyasint,omitempty" json:"input,omitempty"`
	// RequestID recognises a start that is sent again; a run that continues another keeps its request id.
	RequestID string `cbor:"3,keyasint,omitempty" json:"requestId,omitempty"`
	// RunTimeout is how long the run may stay open, from the end of its start delay on; 0 is for ever.
	RunTimeout Duration `cbor:"4,keyasint,omitempty" json:"runTimeout,omitempty"`
	// StartDelay is how long the first task waits, unless something arrives before; 0 is not at all.
	StartDelay Duration `cbor:"5,keyasint,omitempty" json:"firstWorkflowTaskBackoff,omitempty"`
	// ContinuedFrom is the run that this one continues, and FirstRunID the first of such a chain; empty in a run that
	// somebody started.
	ContinuedFrom RunID `cbor:"6,keyasint,omitempty" json:"continuedExecutionRunId,omitempty"`
	FirstRunID    RunID `cbor:"7,keyasint,omitempty" json:"firstExecutionRunId,omitempty"`
	// TraceParent is the trace context that the workflow was started in, as a W3C traceparent header; empty where nobody
	// traced. A run that continues another keeps it. Nothing but traces depends on it.
	TraceParent string `cbor:"8,keyasint,omitempty" json:"traceParent,omitempty"`
	// OriginalRunID is the run in which this event was written first, where a reset has copied it; empty otherwise. Random
	// numbers follow from it, so that they are the same again.
	OriginalRunID RunID `cbor:"9,keyasint,omitempty" json:"originalExecutionRunId,omitempty"`
	// MaxPayload is the largest input or result of the run's code, in bytes, where it is more than usual: large payloads were
	// kept when the run was opened. It stands here because a replay has to decide as the first run did.
	MaxPayload int `cbor:"25,keyasint,omitempty" json:"maxPayloadBytes,omitempty"`
	// Retention is how long the run is kept after it has closed. It is fixed when the run opens: a run that continues another, or goes
	// on from it after a reset, gets that of the deployment which opens it. 0 is a run of an earlier version of Weft.
	Retention Duration `cbor:"26,keyasint,omitempty" json:"-"`
	// Quick counts the runs right before this one that continued as new within a second of their beginning, up to the number from which
	// StartDelay slows the chain down. 0 also stands in a run of an earlier version of Weft.
	Quick int `cbor:"27,keyasint,omitempty" json:"quickContinuations,omitempty"`
	// Header travels on to activities, children and the runs that follow.
	Header Header `cbor:"40,keyasint,omitempty" json:"header,omitempty"`
	// Memo and SearchAttributes are what the run begins with of what those see who list it. The run of code that continued as
	// new begins with what its predecessor had then.
	Memo             Memo             `cbor:"50,keyasint,omitempty" json:"memo,omitempty"`
	SearchAttributes SearchAttributes `cbor:"51,keyasint,omitempty" json:"searchAttributes,omitempty"`
	// Build is the build that the run is pinned to; empty where the newest runs it.
	Build string `cbor:"24,keyasint,omitempty" json:"build,omitempty"`
	// Parent is the run that waits for the outcome, where another run started this one as its child; nil otherwise. A run
	// that continues another keeps it.
	Parent *Parent `cbor:"30,keyasint,omitempty" json:"parent,omitempty"`
	// Retry says when another run follows one that failed or took too long; nil is never. Attempt counts those that follow each
	// other like that, from 2 on; 0 is the first.
	Retry   *RetryPolicy `cbor:"16,keyasint,omitempty" json:"retryPolicy,omitempty"`
	Attempt int          `cbor:"17,keyasint,omitempty" json:"attempt,omitempty"`
	// Cron says when another run follows, whatever became of this one; empty is never.
	Cron string `cbor:"18,keyasint,omitempty" json:"cronSchedule,omitempty"`
	// ExecutionTimeout is how long the whole chain of runs may take; 0 is for ever. ExecutionDeadline is when that is over; it
	// is 0 in the first run, where it follows from the time.
	ExecutionTimeout  Duration  `cbor:"19,keyasint,omitempty" json:"executionTimeout,omitempty"`
	ExecutionDeadline Timestamp `cbor:"20,keyasint,omitempty" json:"executionDeadline,omitzero"`
	// LastFailure is what the run before this one failed of; nil where it did not. LastResult is the result of the last run of
	// the chain that had one.
	LastFailure *failure.Failure `cbor:"21,keyasint,omitempty" json:"continuedFailure,omitempty"`
	LastResult  Payload          `cbor:"22,keyasint,omitempty" json:"lastCompletionResult,omitempty"`
}

// Type is TypeWorkflowExecutionStarted.
func (*WorkflowExecutionStarted) Type() Type { return TypeWorkflowExecutionStarted }
func (*WorkflowExecutionStarted) isArrival() {}

// NextRun is the run that goes on where an event closes its own; empty where none does.
func NextRun(closing Attributes) RunID { return EndOf(closing).Next }

// OpenedWith returns the run that was opened in the put in which an event closed its own run, whether it continues that run or
// not. It is empty if there is none.
func OpenedWith(closing Attributes) RunID {
	if a, ok := closing.(*WorkflowExecutionTerminated); ok && a.ReplacedBy != "" {
		return a.ReplacedBy
	}
	return NextRun(closing)
}

// WorkflowExecutionCompleted closes a run whose code returned a result.
type WorkflowExecutionCompleted struct {
	Result Payload `cbor:"1,keyasint,omitempty" json:"result,omitempty"`
	// NewRunID is the run that follows, by the cron expression; empty where none does.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
}

// Type is TypeWorkflowExecutionCompleted.
func (*WorkflowExecutionCompleted) Type() Type { return TypeWorkflowExecutionCompleted }
func (*WorkflowExecutionCompleted) isClosing() {}

// WorkflowExecutionFailed closes a run whose code returned an error.
type WorkflowExecutionFailed struct {
	Failure *failure.Failure `cbor:"1,keyasint" json:"failure"`
	// NewRunID is the run that follows, by the retry policy or the cron expression; empty where none does.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
}

// Type is TypeWorkflowExecutionFailed.
func (*WorkflowExecutionFailed) Type() Type { return TypeWorkflowExecutionFailed }
func (*WorkflowExecutionFailed) isClosing() {}

// WorkflowExecutionCanceled closes a run whose code returned that it was canceled, after it had been asked to be.
type WorkflowExecutionCanceled struct {
	Failure *failure.Failure `cbor:"1,keyasint,omitempty" json:"failure,omitempty"`
}

// Type is TypeWorkflowExecutionCanceled.
func (*WorkflowExecutionCanceled) Type() Type { return TypeWorkflowExecutionCanceled }
func (*WorkflowExecutionCanceled) isClosing() {}

// WorkflowExecutionTerminated closes a run from outside; its code is not asked.
type WorkflowExecutionTerminated struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// NewRunID is the run in which a reset goes on; empty where the run just ended.
	NewRunID RunID `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
	// ResetEventID is the first event that the new run does not have, where a reset ended this one: what was started before
	// it is the new run's.
	ResetEventID int64 `cbor:"3,keyasint,omitempty" json:"resetEventId,omitempty"`
	// RequestID is as in WorkflowExecutionCancelRequested.
	RequestID string `cbor:"4,keyasint,omitempty" json:"requestId,omitempty"`
	// ReplacedBy is the run that a start opened in the same put, with the idConflictPolicy terminateExisting; empty otherwise. It
	// does not continue this run. Commits of earlier versions do not name it.
	ReplacedBy RunID `cbor:"5,keyasint,omitempty" json:"replacedByRunId,omitempty"`
}

// Type is TypeWorkflowExecutionTerminated.
func (*WorkflowExecutionTerminated) Type() Type { return TypeWorkflowExecutionTerminated }
func (*WorkflowExecutionTerminated) isArrival() {}

// WorkflowExecutionTimedOut closes a run that was open for longer than its run timeout, or whose chain was for longer than its
// execution timeout: the other one is 0.
type WorkflowExecutionTimedOut struct {
	RunTimeout Duration `cbor:"1,keyasint,omitempty" json:"runTimeout,omitempty"`
	// NewRunID is the run that follows, by the retry policy or the cron expression; empty where none does.
	NewRunID         RunID    `cbor:"2,keyasint,omitempty" json:"newExecutionRunId,omitempty"`
	ExecutionTimeout Duration `cbor:"3,keyasint,omitempty" json:"executionTimeout,omitempty"`
}

// Type is TypeWorkflowExecutionTimedOut.
func (*WorkflowExecutionTimedOut) Type() Type { return TypeWorkflowExecutionTimedOut }
func (*WorkflowExecutionTimedOut) isArrival() {}

// WorkflowExecutionContinuedAsNew closes a run whose code goes on in another run, which the same put opened.
type WorkflowExecutionContinuedAsNew struct {
	NewRunID     RunID   `cbor:"1,keyasint" json:"newExecutionRunId"`
	WorkflowType string  `cbor:"2,keyasint" json:"workflowType"`
	Input        Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
}

// Type is TypeWorkflowExecutionContinuedAsNew.
func (*WorkflowExecutionContinuedAsNew) Type() Type { return TypeWorkflowExecutionContinuedAsNew }
func (*WorkflowExecutionContinuedAsNew) isClosing() {}

// WorkflowExecutionSignaled is a signal that arrived.
type WorkflowExecutionSignaled struct {
	SignalName string  `cbor:"1,keyasint" json:"signalName"`
	Input      Payload `cbor:"2,keyasint,omitempty" json:"input,omitempty"`
	// RequestID recognises a signal that is sent again.
	RequestID string `cbor:"3,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type is TypeWorkflowExecutionSignaled.
func (*WorkflowExecutionSignaled) Type() Type { return TypeWorkflowExecutionSignaled }
func (*WorkflowExecutionSignaled) isArrival() {}

// WorkflowExecutionOptionsUpdated moves the run to another build.
type WorkflowExecutionOptionsUpdated struct {
	// Build is the build that the run is pinned to from here on; empty where the newest runs it.
	Build string `cbor:"1,keyasint,omitempty" json:"build,omitempty"`
}

// Type is TypeWorkflowExecutionOptionsUpdated.
func (*WorkflowExecutionOptionsUpdated) Type() Type { return TypeWorkflowExecutionOptionsUpdated }
func (*WorkflowExecutionOptionsUpdated) isArrival() {}

// WorkflowExecutionCancelRequested asks the workflow's code to end: its context is canceled.
type WorkflowExecutionCancelRequested struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// RequestID recognises the request of another workflow's code when it comes again; empty where a caller has made it.
	RequestID string `cbor:"2,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type is TypeWorkflowExecutionCancelRequested.
func (*WorkflowExecutionCancelRequested) Type() Type { return TypeWorkflowExecutionCancelRequested }
func (*WorkflowExecutionCancelRequested) isArrival() {}
