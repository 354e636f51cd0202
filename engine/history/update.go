package history

import "github.com/seed-41655fb1/weft/engine/failure"

// WorkflowExecutionUpdateAdmitted is an update that a reset delivers to the new run: the old run
// had accepted it after the point of the reset. It has the whole request, which is validated anew.
type WorkflowExecutionUpdateAdmitted struct {
	UpdateID   string  `cbor:"1,keyasint" json:"updateId"`
	UpdateName string  `cbor:"2,keyasint" json:"updateName"`
	Input      Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
}

// Type returns TypeWorkflowExecutionUpdateAdmitted.
func (*WorkflowExecutionUpdateAdmitted) Type() Type { return TypeWorkflowExecutionUpdateAdmitted }
func (*WorkflowExecutionUpdateAdmitted) isArrival() {}

// WorkflowExecutionUpdateAccepted is an update whose validator agreed. It has the whole request,
// because no earlier event stores it and replay reads nothing but history. If a reset carried the
// update over, its WorkflowExecutionUpdateAdmitted event has the input, and this one has none.
type WorkflowExecutionUpdateAccepted struct {
	UpdateID   string  `cbor:"1,keyasint" json:"updateId"`
	UpdateName string  `cbor:"2,keyasint" json:"updateName"`
	Input      Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
	// SequencingEventID is the event after which the update was delivered to the code: the
	// WorkflowTaskScheduled event of the task that delivered it, or the
	// WorkflowExecutionUpdateAdmitted event of an update of a reset.
	SequencingEventID int64 `cbor:"4,keyasint" json:"sequencingEventId"`
}

// Type returns TypeWorkflowExecutionUpdateAccepted.
func (*WorkflowExecutionUpdateAccepted) Type() Type { return TypeWorkflowExecutionUpdateAccepted }
func (*WorkflowExecutionUpdateAccepted) isRecord()  {}

// WorkflowExecutionUpdateCompleted is the outcome of an accepted update: a result or a failure.
type WorkflowExecutionUpdateCompleted struct {
	UpdateID        string           `cbor:"1,keyasint" json:"updateId"`
	AcceptedEventID int64            `cbor:"2,keyasint" json:"acceptedEventId"`
	Result          Payload          `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
	Failure         *failure.Failure `cbor:"4,keyasint,omitempty" json:"failure,omitempty"`
}

// Type returns TypeWorkflowExecutionUpdateCompleted.
func (*WorkflowExecutionUpdateCompleted) Type() Type { return TypeWorkflowExecutionUpdateCompleted }
func (*WorkflowExecutionUpdateCompleted) isRecord()  {}

// WorkflowExecutionUpdateFailed is an accepted update that an operator has failed. Its handler runs
// no more.
type WorkflowExecutionUpdateFailed struct {
	UpdateID        string           `cbor:"1,keyasint" json:"updateId"`
	AcceptedEventID int64            `cbor:"2,keyasint" json:"acceptedEventId"`
	Failure         *failure.Failure `cbor:"3,keyasint" json:"failure"`
}

// Type returns TypeWorkflowExecutionUpdateFailed.
func (*WorkflowExecutionUpdateFailed) Type() Type { return TypeWorkflowExecutionUpdateFailed }
func (*WorkflowExecutionUpdateFailed) isArrival() {}
