package history

import "github.com/seed-41655fb1/weft/engine/failure"

// SignalExternalWorkflowExecutionInitiated is a signal that workflow code sends to another
// workflow.
type SignalExternalWorkflowExecutionInitiated struct {
	WorkflowID string  `cbor:"1,keyasint" json:"workflowId"`
	SignalName string  `cbor:"2,keyasint" json:"signalName"`
	Input      Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
	// RequestID is that of the signal: its receiver recognises it.
	RequestID string `cbor:"4,keyasint" json:"requestId"`
	// ChildEventID is the StartChildWorkflowExecutionInitiated event of the child that it is for,
	// or 0 if it is for the open run of the workflow.
	ChildEventID int64 `cbor:"5,keyasint,omitempty" json:"childInitiatedEventId,omitempty"`
	// Oversize is the size in bytes of an input that was too large to be recorded: nothing is sent.
	Oversize int `cbor:"6,keyasint,omitempty" json:"inputTooLargeBytes,omitempty"`
}

// Type returns TypeSignalExternalWorkflowExecutionInitiated.
func (*SignalExternalWorkflowExecutionInitiated) Type() Type {
	return TypeSignalExternalWorkflowExecutionInitiated
}
func (*SignalExternalWorkflowExecutionInitiated) isInitiation() {}

func (a *SignalExternalWorkflowExecutionInitiated) delivery() *Delivery {
	return &Delivery{
		WorkflowID: a.WorkflowID, ChildEventID: a.ChildEventID, RequestID: &a.RequestID, Bytes: len(a.Input), Oversize: a.Oversize,
		Arrives: func(string) Attributes {
			return &WorkflowExecutionSignaled{SignalName: a.SignalName, Input: a.Input, RequestID: a.RequestID}
		},
		Answer: func(initiated int64, f *failure.Failure) Attributes {
			if f != nil {
				return &SignalExternalWorkflowExecutionFailed{InitiatedEventID: initiated, Failure: f}
			}
			return &ExternalWorkflowExecutionSignaled{InitiatedEventID: initiated}
		},
	}
}

// SignalExternalWorkflowExecutionFailed is a signal that found no open run.
type SignalExternalWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
}

// Type returns TypeSignalExternalWorkflowExecutionFailed.
func (*SignalExternalWorkflowExecutionFailed) Type() Type {
	return TypeSignalExternalWorkflowExecutionFailed
}
func (*SignalExternalWorkflowExecutionFailed) isNews() {}

// ExternalWorkflowExecutionSignaled is a signal that its receiver has recorded.
type ExternalWorkflowExecutionSignaled struct {
	InitiatedEventID int64 `cbor:"1,keyasint" json:"initiatedEventId"`
}

// Type returns TypeExternalWorkflowExecutionSignaled.
func (*ExternalWorkflowExecutionSignaled) Type() Type { return TypeExternalWorkflowExecutionSignaled }
func (*ExternalWorkflowExecutionSignaled) isNews()    {}

// RequestCancelExternalWorkflowExecutionInitiated is a request of workflow code that another
// workflow end.
type RequestCancelExternalWorkflowExecutionInitiated struct {
	WorkflowID string `cbor:"1,keyasint" json:"workflowId"`
	Reason     string `cbor:"2,keyasint,omitempty" json:"reason,omitempty"`
	// ChildEventID is as in a signal.
	ChildEventID int64 `cbor:"3,keyasint,omitempty" json:"childInitiatedEventId,omitempty"`
	// Terminate is set if the workflow ends without running its code.
	Terminate bool `cbor:"4,keyasint,omitempty" json:"terminate,omitempty"`
}

// Type returns TypeRequestCancelExternalWorkflowExecutionInitiated.
func (*RequestCancelExternalWorkflowExecutionInitiated) Type() Type {
	return TypeRequestCancelExternalWorkflowExecutionInitiated
}
func (*RequestCancelExternalWorkflowExecutionInitiated) isInitiation() {}

func (a *RequestCancelExternalWorkflowExecutionInitiated) delivery() *Delivery {
	return &Delivery{
		WorkflowID: a.WorkflowID, ChildEventID: a.ChildEventID, Ends: true,
		Arrives: func(requestID string) Attributes {
			if a.Terminate {
				return &WorkflowExecutionTerminated{Reason: a.Reason, RequestID: requestID}
			}
			return &WorkflowExecutionCancelRequested{Reason: a.Reason, RequestID: requestID}
		},
		Answer: func(initiated int64, f *failure.Failure) Attributes {
			if f != nil {
				return &RequestCancelExternalWorkflowExecutionFailed{InitiatedEventID: initiated, Failure: f}
			}
			return &ExternalWorkflowExecutionCancelRequested{InitiatedEventID: initiated}
		},
	}
}

// RequestCancelExternalWorkflowExecutionFailed is a request to end that found no open run.
type RequestCancelExternalWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
}

// Type returns TypeRequestCancelExternalWorkflowExecutionFailed.
func (*RequestCancelExternalWorkflowExecutionFailed) Type() Type {
	return TypeRequestCancelExternalWorkflowExecutionFailed
}
func (*RequestCancelExternalWorkflowExecutionFailed) isNews() {}

// ExternalWorkflowExecutionCancelRequested is a workflow that has been asked to end.
type ExternalWorkflowExecutionCancelRequested struct {
	InitiatedEventID int64 `cbor:"1,keyasint" json:"initiatedEventId"`
}

// Type returns TypeExternalWorkflowExecutionCancelRequested.
func (*ExternalWorkflowExecutionCancelRequested) Type() Type {
	return TypeExternalWorkflowExecutionCancelRequested
}
func (*ExternalWorkflowExecutionCancelRequested) isNews() {}
