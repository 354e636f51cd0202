package history

import "github.com/seed-41655fb1/weft/engine/failure"

// SignalExternalWorkflowExecutionInitiated is a signal that workflow code sends to another workflow.
type SignalExternalWorkflowExecutionInitiated struct {
	WorkflowID string  `cbor:"1,keyasint" json:"workflowId"`
	SignalName string  `cbor:"2,keyasint" json:"signalName"`
	Input      Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
	// RequestID is that of the signal: its receiver knows it again.
	RequestID string `cbor:"4,keyasint" json:"requestId"`
	// ChildEventID is the StartChildWorkflowExecutionInitiated event of the child that it is meant for; 0 where it is for
	// whichever run of the workflow is open.
	ChildEventID int64 `cbor:"5,keyasint,omitempty" json:"childInitiatedEventId,omitempty"`
	// Oversize is the size in bytes of an input that was too large to be recorded: nothing is sent.
	Oversize int `cbor:"6,keyasint,omitempty" json:"inputTooLargeBytes,omitempty"`
}

// Type is TypeSignalExternalWorkflowExecutionInitiated.
func (*SignalExternalWorkflowExecutionInitiated) Type() Type {
	return TypeSignalExternalWorkflowExecutionInitiated
}
func (*SignalExternalWorkflowExecutionInitiated) isInitiation() {}

// SignalExternalWorkflowExecutionFailed is a signal that found no open run.
type SignalExternalWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
}

// Type is TypeSignalExternalWorkflowExecutionFailed.
func (*SignalExternalWorkflowExecutionFailed) Type() Type {
	return TypeSignalExternalWorkflowExecutionFailed
}
func (*SignalExternalWorkflowExecutionFailed) isNews() {}

// ExternalWorkflowExecutionSignaled is a signal that is in the history of the workflow that it was sent to.
type ExternalWorkflowExecutionSignaled struct {
	InitiatedEventID int64 `cbor:"1,keyasint" json:"initiatedEventId"`
}

// Type is TypeExternalWorkflowExecutionSignaled.
func (*ExternalWorkflowExecutionSignaled) Type() Type { return TypeExternalWorkflowExecutionSignaled }
func (*ExternalWorkflowExecutionSignaled) isNews()    {}

// RequestCancelExternalWorkflowExecutionInitiated is workflow code that asks another workflow to end.
type RequestCancelExternalWorkflowExecutionInitiated struct {
	WorkflowID string `cbor:"1,keyasint" json:"workflowId"`
	Reason     string `cbor:"2,keyasint,omitempty" json:"reason,omitempty"`
	// ChildEventID is as in a signal.
	ChildEventID int64 `cbor:"3,keyasint,omitempty" json:"childInitiatedEventId,omitempty"`
	// Terminate says that the workflow's code is not asked.
	Terminate bool `cbor:"4,keyasint,omitempty" json:"terminate,omitempty"`
}

// Type is TypeRequestCancelExternalWorkflowExecutionInitiated.
func (*RequestCancelExternalWorkflowExecutionInitiated) Type() Type {
	return TypeRequestCancelExternalWorkflowExecutionInitiated
}
func (*RequestCancelExternalWorkflowExecutionInitiated) isInitiation() {}

// RequestCancelExternalWorkflowExecutionFailed is a request to end that found no open run.
type RequestCancelExternalWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
}

// Type is TypeRequestCancelExternalWorkflowExecutionFailed.
func (*RequestCancelExternalWorkflowExecutionFailed) Type() Type {
	return TypeRequestCancelExternalWorkflowExecutionFailed
}
func (*RequestCancelExternalWorkflowExecutionFailed) isNews() {}

// ExternalWorkflowExecutionCancelRequested is a workflow that has been asked to end.
type ExternalWorkflowExecutionCancelRequested struct {
	InitiatedEventID int64 `cbor:"1,keyasint" json:"initiatedEventId"`
}

// Type is TypeExternalWorkflowExecutionCancelRequested.
func (*ExternalWorkflowExecutionCancelRequested) Type() Type {
	return TypeExternalWorkflowExecutionCancelRequested
}
func (*ExternalWorkflowExecutionCancelRequested) isNews() {}
