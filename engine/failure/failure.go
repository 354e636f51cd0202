// Package failure converts errors: to a [Failure] in history and on the wire, and back to a Go
// error on the other side. So errors.Is and errors.As work in a workflow on the error of an
// activity, and in a client on the error of a workflow.
//
//	activity returns err ── FromError ──▶ Failure (history, HTTP) ── Err ──▶ *ActivityError wrapping the same chain
//
// A sentinel is compared by its type name, the only part of it that is sent:
//
//	var ErrDeclined = failure.New("declined", "the card was declined")
//	errors.Is(err, ErrDeclined) // true in the workflow and in the client, too
package failure

import "context"

// Kind says what sort of failure a Failure is. The numbers are stored in histories and never change
// their meaning.
type Kind uint8

// The kinds of failure.
const (
	// KindApplication is an error that workflow or activity code returned.
	KindApplication Kind = 1
	// KindTimeout is a limit of time that passed; Failure.Timeout says which.
	KindTimeout Kind = 2
	// KindCanceled is work that ended because its context was canceled.
	KindCanceled Kind = 3
	// KindTerminated is a run that was ended from outside without running its code.
	KindTerminated Kind = 4
	// KindPanic is code that panicked; Failure.Stack says where.
	KindPanic Kind = 5
	// KindActivity says which activity failed; its Cause says why.
	KindActivity Kind = 6
	// KindNonDeterminism is workflow code that did something else on replay than history records.
	KindNonDeterminism Kind = 7
	// KindMisuse is workflow code that made a call which is not allowed at that place, for example
	// a command in a validator.
	KindMisuse Kind = 8
	// KindDeadlock is workflow code that blocked on something that is not the engine's.
	KindDeadlock Kind = 9
	// KindRunClosed is an accepted update whose run closed before its handler finished.
	KindRunClosed Kind = 10
	// KindUnregistered is a workflow or activity type that this build does not have.
	KindUnregistered Kind = 11
	// KindReset is a workflow task to which a run was reset: it did not run.
	KindReset Kind = 12
	// KindChild says which child workflow failed; its Cause says why.
	KindChild Kind = 13
)

var kindNames = map[Kind]string{
	KindApplication: "application", KindTimeout: "timeout", KindCanceled: "canceled", KindTerminated: "terminated",
	KindPanic: "panic", KindActivity: "activity", KindNonDeterminism: "nonDeterminism", KindMisuse: "misuse",
	KindDeadlock: "deadlock", KindRunClosed: "runClosed", KindUnregistered: "unregistered",
	KindReset: "reset", KindChild: "childWorkflow",
}

// String returns the name that the HTTP API uses.
func (k Kind) String() string {
	if name, ok := kindNames[k]; ok {
		return name
	}
	return "unknown"
}

// MarshalText writes the name that the HTTP API uses.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote. An unknown name becomes the zero Kind.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = 0
	for kind, name := range kindNames {
		if name == string(text) {
			*k = kind
		}
	}
	return nil
}

// The limits of time that a KindTimeout failure can name.
const (
	StartToClose    = "startToClose"
	ScheduleToClose = "scheduleToClose"
	ScheduleToStart = "scheduleToStart"
	Heartbeat       = "heartbeat"
	RunTimeout      = "run"
	// ExecutionTimeout limits a chain of runs.
	ExecutionTimeout = "execution"
)

// Failure is an error as it is stored in history and sent to clients. The CBOR keys never change
// their meaning.
type Failure struct {
	Kind Kind `cbor:"1,keyasint" json:"kind"`
	// Type is the name under which errors.Is recognises an application error; empty for errors
	// without one.
	Type string `cbor:"2,keyasint,omitempty" json:"type,omitempty"`
	// Message is the text of the error, including its causes if the error's own text includes them.
	Message string `cbor:"3,keyasint,omitempty" json:"message,omitempty"`
	// NonRetryable ends the retries of an activity that returned this.
	NonRetryable bool `cbor:"4,keyasint,omitempty" json:"nonRetryable,omitempty"`
	// Stack is the stack of the code that panicked or blocked.
	Stack string `cbor:"5,keyasint,omitempty" json:"stack,omitempty"`
	// Timeout names the limit that passed, if Kind is KindTimeout.
	Timeout string `cbor:"6,keyasint,omitempty" json:"timeout,omitempty"`
	// ActivityType is the type of the activity that failed, if Kind is KindActivity.
	ActivityType string `cbor:"7,keyasint,omitempty" json:"activityType,omitempty"`
	// EventID is the event at which it happened: the ActivityTaskScheduled event of an activity
	// that failed, the StartChildWorkflowExecutionInitiated event of a child, the first event that
	// differs in a non-determinism failure.
	EventID int64 `cbor:"8,keyasint,omitempty" json:"eventId,omitempty"`
	// Details is an application error's own data, encoded, or nil.
	Details []byte `cbor:"9,keyasint,omitempty" json:"details,omitempty"`
	// Cause is what this failure wraps.
	Cause *Failure `cbor:"10,keyasint,omitempty" json:"cause,omitempty"`
	// WorkflowType, WorkflowID and RunID are those of the child that failed, if Kind is KindChild.
	// RunID is empty if the child was not started.
	WorkflowType string `cbor:"11,keyasint,omitempty" json:"workflowType,omitempty"`
	WorkflowID   string `cbor:"12,keyasint,omitempty" json:"workflowId,omitempty"`
	RunID        string `cbor:"13,keyasint,omitempty" json:"runId,omitempty"`
	// OfRuntime says that the Go runtime itself panicked in this process, for example because an
	// index is out of range. The message then holds no payload. It is neither stored nor sent.
	OfRuntime bool `cbor:"-" json:"-"`
}

// Same reports whether two failures describe the same thing. It ignores stacks, which differ from
// run to run.
func (f *Failure) Same(g *Failure) bool {
	if f == nil || g == nil {
		return f == g
	}
	return f.Kind == g.Kind && f.Type == g.Type && f.Message == g.Message && f.Timeout == g.Timeout &&
		f.ActivityType == g.ActivityType && f.WorkflowType == g.WorkflowType && f.WorkflowID == g.WorkflowID &&
		f.RunID == g.RunID && f.EventID == g.EventID && f.Cause.Same(g.Cause)
}

// Uncancel turns the end of a context in the chain into an error like any other. It is for an
// activity that was not asked to end: the context is one of its own, such as that of a call which
// it canceled.
func (f *Failure) Uncancel() {
	for ; f != nil; f = f.Cause {
		if f.Kind == KindCanceled && f.Message == "" {
			f.Kind, f.Message = KindApplication, context.Canceled.Error()
		}
	}
}

// Retryable reports whether an activity that failed like this may be retried: nothing in the chain
// forbids it, and no type in the chain is among those that the retry policy names.
func (f *Failure) Retryable(nonRetryableTypes []string) bool {
	timedOut := false // code that returns because its time is over says that its context was canceled
	for ; f != nil; f = f.Cause {
		timedOut = timedOut || f.Kind == KindTimeout
		if f.NonRetryable || f.Kind == KindCanceled && !timedOut || f.Kind == KindTerminated {
			return false
		}
		for _, t := range nonRetryableTypes {
			if f.Type == t {
				return false
			}
		}
	}
	return true
}
