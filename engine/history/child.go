package history

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// ParentClosePolicy says what happens to an open child when its parent closes. The numbers are
// stored and never change their meaning.
type ParentClosePolicy uint8

const (
	// TerminateChild ends the child at once.
	TerminateChild ParentClosePolicy = 0
	// RequestCancelChild asks the child to end.
	RequestCancelChild ParentClosePolicy = 1
	// AbandonChild leaves the child alone; it is started even if its parent closes before that.
	AbandonChild ParentClosePolicy = 2
)

var closePolicyNames = [...]string{"terminate", "requestCancel", "abandon"}

// String returns the name that the HTTP API uses.
func (p ParentClosePolicy) String() string {
	if int(p) < len(closePolicyNames) {
		return closePolicyNames[p]
	}
	return "unknown"
}

// MarshalText writes the name that the HTTP API uses.
func (p ParentClosePolicy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what MarshalText wrote. An unknown name is an error that lists the known ones.
func (p *ParentClosePolicy) UnmarshalText(text []byte) error {
	i := slices.Index(closePolicyNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown parent close policy %q: use one of %s", text, strings.Join(closePolicyNames[:], ", "))
	}
	*p = ParentClosePolicy(i)
	return nil
}

// Parent is the run that started a run as its child, and the event by which it did.
type Parent struct {
	WorkflowID string `cbor:"1,keyasint" json:"workflowId"`
	RunID      RunID  `cbor:"2,keyasint" json:"runId"`
	// InitiatedEventID is the StartChildWorkflowExecutionInitiated event of the parent.
	InitiatedEventID int64 `cbor:"3,keyasint" json:"initiatedEventId"`
}

// StartChildWorkflowExecutionInitiated is a child that workflow code started. Its event id names the child.
type StartChildWorkflowExecutionInitiated struct {
	WorkflowType string  `cbor:"1,keyasint" json:"workflowType"`
	WorkflowID   string  `cbor:"2,keyasint" json:"workflowId"`
	Input        Payload `cbor:"3,keyasint,omitempty" json:"input,omitempty"`
	// RequestID is that of the child's start: it identifies the run that it has started, also after
	// a reset of the parent.
	RequestID string            `cbor:"4,keyasint" json:"requestId"`
	Policy    ParentClosePolicy `cbor:"5,keyasint,omitempty" json:"parentClosePolicy"`
	// IDReusePolicy is as in a start: empty for the default.
	IDReusePolicy string `cbor:"6,keyasint,omitempty" json:"idReusePolicy,omitempty"`
	// RunTimeout and StartDelay are as in a start.
	RunTimeout Duration `cbor:"7,keyasint,omitempty" json:"runTimeout,omitempty"`
	StartDelay Duration `cbor:"8,keyasint,omitempty" json:"startDelay,omitempty"`
	// Quiet says that no code waits for the start: ChildWorkflowExecutionStarted is recorded
	// together with the outcome.
	Quiet bool `cbor:"9,keyasint,omitempty" json:"quiet,omitempty"`
	// Header is that of the parent, with the fields that were added for this child.
	Header Header `cbor:"20,keyasint,omitempty" json:"header,omitempty"`
	// Memo and SearchAttributes are as in a start.
	Memo             Memo             `cbor:"50,keyasint,omitempty" json:"memo,omitempty"`
	SearchAttributes SearchAttributes `cbor:"51,keyasint,omitempty" json:"searchAttributes,omitempty"`
	// Oversize is the size in bytes of an input that was too large to be recorded: the start fails.
	Oversize int `cbor:"10,keyasint,omitempty" json:"inputTooLargeBytes,omitempty"`
	// Retry, Cron and ExecutionTimeout are as in a start: the outcome is that of the last run.
	Retry            *RetryPolicy `cbor:"16,keyasint,omitempty" json:"retryPolicy,omitempty"`
	Cron             string       `cbor:"17,keyasint,omitempty" json:"cronSchedule,omitempty"`
	ExecutionTimeout Duration     `cbor:"18,keyasint,omitempty" json:"executionTimeout,omitempty"`
}

// Type returns TypeStartChildWorkflowExecutionInitiated.
func (*StartChildWorkflowExecutionInitiated) Type() Type {
	return TypeStartChildWorkflowExecutionInitiated
}
func (*StartChildWorkflowExecutionInitiated) isInitiation() {}

// StartChildWorkflowExecutionFailed is a child that could not be started.
type StartChildWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
}

// Type returns TypeStartChildWorkflowExecutionFailed.
func (*StartChildWorkflowExecutionFailed) Type() Type { return TypeStartChildWorkflowExecutionFailed }
func (*StartChildWorkflowExecutionFailed) isNews()    {}

// ChildWorkflowExecutionStarted is a child whose run is open.
type ChildWorkflowExecutionStarted struct {
	InitiatedEventID int64 `cbor:"1,keyasint" json:"initiatedEventId"`
	// RunID is the child's first run: others may continue it.
	RunID RunID `cbor:"2,keyasint" json:"runId"`
}

// Type returns TypeChildWorkflowExecutionStarted.
func (*ChildWorkflowExecutionStarted) Type() Type { return TypeChildWorkflowExecutionStarted }
func (*ChildWorkflowExecutionStarted) isNews()    {}

// ChildWorkflowExecutionCompleted is the result of a child.
type ChildWorkflowExecutionCompleted struct {
	InitiatedEventID int64   `cbor:"1,keyasint" json:"initiatedEventId"`
	RunID            RunID   `cbor:"2,keyasint" json:"runId"`
	Result           Payload `cbor:"3,keyasint,omitempty" json:"result,omitempty"`
}

// Type returns TypeChildWorkflowExecutionCompleted.
func (*ChildWorkflowExecutionCompleted) Type() Type { return TypeChildWorkflowExecutionCompleted }
func (*ChildWorkflowExecutionCompleted) isNews()    {}

// ChildWorkflowExecutionFailed is a child whose code returned an error.
type ChildWorkflowExecutionFailed struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	RunID            RunID            `cbor:"2,keyasint" json:"runId"`
	Failure          *failure.Failure `cbor:"3,keyasint" json:"failure"`
}

// Type returns TypeChildWorkflowExecutionFailed.
func (*ChildWorkflowExecutionFailed) Type() Type { return TypeChildWorkflowExecutionFailed }
func (*ChildWorkflowExecutionFailed) isNews()    {}

// ChildWorkflowExecutionCanceled is a child that ended because it was asked to.
type ChildWorkflowExecutionCanceled struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	RunID            RunID            `cbor:"2,keyasint" json:"runId"`
	Failure          *failure.Failure `cbor:"3,keyasint,omitempty" json:"failure,omitempty"`
}

// Type returns TypeChildWorkflowExecutionCanceled.
func (*ChildWorkflowExecutionCanceled) Type() Type { return TypeChildWorkflowExecutionCanceled }
func (*ChildWorkflowExecutionCanceled) isNews()    {}

// ChildWorkflowExecutionTimedOut is a child that was open for longer than its run timeout.
type ChildWorkflowExecutionTimedOut struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	RunID            RunID            `cbor:"2,keyasint" json:"runId"`
	Failure          *failure.Failure `cbor:"3,keyasint" json:"failure"`
}

// Type returns TypeChildWorkflowExecutionTimedOut.
func (*ChildWorkflowExecutionTimedOut) Type() Type { return TypeChildWorkflowExecutionTimedOut }
func (*ChildWorkflowExecutionTimedOut) isNews()    {}

// ChildWorkflowExecutionTerminated is a child that was ended from outside, or that was deleted before its parent had its
// outcome.
type ChildWorkflowExecutionTerminated struct {
	InitiatedEventID int64            `cbor:"1,keyasint" json:"initiatedEventId"`
	RunID            RunID            `cbor:"2,keyasint" json:"runId"`
	Failure          *failure.Failure `cbor:"3,keyasint" json:"failure"`
}

// Type returns TypeChildWorkflowExecutionTerminated.
func (*ChildWorkflowExecutionTerminated) Type() Type { return TypeChildWorkflowExecutionTerminated }
func (*ChildWorkflowExecutionTerminated) isNews()    {}
