package history

// WorkflowExecutionPaused pauses the run: its code does not run until it is resumed, and no further
// attempt at an activity begins. What arrives meanwhile is recorded, and waits.
type WorkflowExecutionPaused struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// RequestID identifies the request when it is sent again.
	RequestID string `cbor:"2,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type returns TypeWorkflowExecutionPaused.
func (*WorkflowExecutionPaused) Type() Type { return TypeWorkflowExecutionPaused }
func (*WorkflowExecutionPaused) isArrival() {}

// WorkflowExecutionUnpaused resumes the run. Its task gets what has arrived since the pause.
type WorkflowExecutionUnpaused struct {
	Reason string `cbor:"1,keyasint,omitempty" json:"reason,omitempty"`
	// RequestID identifies the request when it is sent again.
	RequestID string `cbor:"2,keyasint,omitempty" json:"requestId,omitempty"`
}

// Type returns TypeWorkflowExecutionUnpaused.
func (*WorkflowExecutionUnpaused) Type() Type { return TypeWorkflowExecutionUnpaused }
func (*WorkflowExecutionUnpaused) isArrival() {}
