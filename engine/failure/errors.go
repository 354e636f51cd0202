package failure

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an application error. Workflow or activity code returns it so that its caller can
// compare its type, to forbid further attempts, or to attach data.
type Error struct {
	// Type is the name under which errors.Is recognises the error.
	Type string
	// Message is the text.
	Message string
	// NonRetryable ends the retries of the activity that returned it.
	NonRetryable bool
	// Details is data of the error's own, encoded as JSON, or nil.
	Details []byte
	// Cause is the wrapped error, or nil.
	Cause error
}

// New returns an application error that errors.Is recognises by its type, wherever it is sent.
func New(typ, message string) *Error { return &Error{Type: typ, Message: message} }

// Newf is New with a formatted message. An operand of the verb %w becomes the cause.
func Newf(typ, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	return &Error{Type: typ, Message: wrapped.Error(), Cause: errors.Unwrap(wrapped)}
}

// Final returns a copy of the error that forbids further attempts.
func (e *Error) Final() *Error {
	final := *e
	final.NonRetryable = true
	return &final
}

// With returns a copy of the error with details: a value that JSON can hold, of at most 64 KiB as
// JSON. Its receiver reads them with workflow.DetailsOf. A value that JSON cannot hold is left out,
// and the message says so.
func (e *Error) With(details any) *Error {
	with := *e
	data, err := json.Marshal(details)
	if err != nil {
		with.Message = fmt.Sprintf("%s (its details are missing: %v)", e.Error(), err)
	}
	with.Details = data
	return &with
}

// maxChain bounds how many application errors of a chain are read: it may have a cycle.
const maxChain = 100

// DecodeDetails decodes the details of the first error in err's chain that has e's type into v. It
// returns false if there are none, or if v cannot hold them.
func (e *Error) DecodeDetails(err error, v any) bool {
	var found *Error
	for n := 0; n < maxChain && errors.As(err, &found); n++ {
		if found.Is(e) && len(found.Details) > 0 {
			return json.Unmarshal(found.Details, v) == nil
		}
		err = found.Unwrap()
	}
	return false
}

// Error returns the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Type
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an application error of the same, non-empty type.
func (e *Error) Is(target error) bool {
	d, ok := target.(Declared)
	if !ok || e.Type == "" {
		return false
	}
	t, _ := d.declared()
	return e.Type == t.Type
}

// TimeoutError says that a limit of time passed.
type TimeoutError struct {
	// Limit is the limit that passed: StartToClose, ScheduleToClose, RunTimeout, ExecutionTimeout
	// or another.
	Limit string
	// Message says what took too long.
	Message string
	// Cause is the last failure before the limit passed, or nil.
	Cause error
}

// Error returns the message.
func (e *TimeoutError) Error() string { return e.Message }

// Is reports whether target is a TimeoutError of the same limit, or ErrTimeout.
func (e *TimeoutError) Is(target error) bool {
	t, ok := target.(*TimeoutError)
	return ok && (t.Limit == "" || t.Limit == e.Limit)
}

// Unwrap returns the last failure before the limit passed.
func (e *TimeoutError) Unwrap() error { return e.Cause }

// CanceledError is returned by a blocking call whose context was canceled, and is how a canceled
// run ends.
type CanceledError struct {
	// Reason is the reason that the canceling caller gave.
	Reason string
}

// Error returns a message with the reason.
func (e *CanceledError) Error() string {
	if e.Reason == "" {
		return "canceled"
	}
	return "canceled: " + e.Reason
}

// Is reports whether target is a CanceledError, whatever its reason.
func (e *CanceledError) Is(target error) bool {
	_, ok := target.(*CanceledError)
	return ok
}

// PanicError reports code that panicked.
type PanicError struct {
	// Message is the value of the panic, as text.
	Message string
	// Stack is the stack of the code that panicked.
	Stack string

	ofRuntime bool // see Failure.OfRuntime
}

// Error returns a message with the value of the panic.
func (e *PanicError) Error() string { return "panic: " + e.Message }

// ActivityError says which activity failed. errors.Is and errors.As also match its cause.
type ActivityError struct {
	// ActivityType is the activity's type.
	ActivityType string
	// EventID is the id of its ActivityTaskScheduled event.
	EventID int64
	// Cause is why it failed.
	Cause error
}

// Error returns a message with the activity and the cause.
func (e *ActivityError) Error() string {
	return fmt.Sprintf("activity %s failed: %v", e.ActivityType, e.Cause)
}

// Unwrap returns why it failed.
func (e *ActivityError) Unwrap() error { return e.Cause }

// ChildWorkflowError says which child workflow failed, or could not be started. errors.Is and
// errors.As also match its cause.
type ChildWorkflowError struct {
	// WorkflowType and WorkflowID are those of the child.
	WorkflowType, WorkflowID string
	// RunID is the child's first run; empty if it was not started.
	RunID string
	// EventID is the id of its StartChildWorkflowExecutionInitiated event, or 0.
	EventID int64
	// Cause is why it failed.
	Cause error
}

// Error returns a message with the child and the cause.
func (e *ChildWorkflowError) Error() string {
	return fmt.Sprintf("child workflow %s failed: %v", e.WorkflowType, e.Cause)
}

// Unwrap returns why it failed.
func (e *ChildWorkflowError) Unwrap() error { return e.Cause }

// OtherError is a failure of a kind that has no Go type of its own: a failed task, a terminated
// run, an update whose run closed.
type OtherError struct {
	// Kind says which.
	Kind Kind
	// Message is the text.
	Message string
	// Stack is the stack of the code, for kinds that have one.
	Stack string
	// EventID is the event at which it happened, for kinds that have one.
	EventID int64
	// Cause is the wrapped error.
	Cause error
}

// Error returns the message.
func (e *OtherError) Error() string {
	if e.Message == "" {
		return e.Kind.String()
	}
	return e.Message
}

// Unwrap returns the wrapped error.
func (e *OtherError) Unwrap() error { return e.Cause }

// Is reports whether target is an OtherError of the same kind.
func (e *OtherError) Is(target error) bool {
	t, ok := target.(*OtherError)
	return ok && e.Kind == t.Kind
}
