package failure

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Error is an application error: what workflow or activity code returns when it wants its caller to be able to tell
// the error apart, to forbid further attempts, or to attach data.
type Error struct {
	// Type is the name under which errors.Is recognises the error.
	Type string
	// Message is the text.
	Message string
	// NonRetryable ends the retries of the activity that returned it.
	NonRetryable bool
	// Details is data of the error's own, encoded as JSON; nil where it has none.
	Details []byte
	// Cause is what it wraps; nil where it wraps nothing.
	Cause error
}

// New returns an application error that errors.Is recognises by its type wherever it travels.
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

// With returns a copy of the error that has details: a value that JSON can hold, of at most 64 KiB as JSON. Whoever meets the error
// reads them with workflow.DetailsOf. A value that JSON cannot hold is left out, and the message says so.
func (e *Error) With(details any) *Error {
	with := *e
	data, err := json.Marshal(details)
	if err != nil {
		with.Message = fmt.Sprintf("%s (its details are missing: %v)", e.Error(), err)
	}
	with.Details = data
	return &with
}

// maxChain bounds how many application errors of a chain are looked at: one may run in a circle.
const maxChain = 100

// DecodeDetails reads the details of the first error in err's chain that is of this one's type into v, and reports whether there
// are any that v can hold.
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

// Error is the message.
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
	t, ok := target.(*Error)
	return ok && e.Type != "" && e.Type == t.Type
}

// TimeoutError says that a limit of time passed.
type TimeoutError struct {
	// Limit is the limit that passed: StartToClose, ScheduleToClose, RunTimeout, ExecutionTimeout or another.
	Limit string
	// Message says of what.
	Message string
	// Cause is the last failure before the limit passed; nil where there was none.
	Cause error
}

// Error is the message.
func (e *TimeoutError) Error() string { return e.Message }

// Is reports whether target is a TimeoutError of the same limit, or ErrTimeout.
func (e *TimeoutError) Is(target error) bool {
	t, ok := target.(*TimeoutError)
	return ok && (t.Limit == "" || t.Limit == e.Limit)
}

// Unwrap returns the last failure before the limit passed.
func (e *TimeoutError) Unwrap() error { return e.Cause }

// CanceledError is what a blocking call returns when its context was canceled, and how a canceled run ends.
type CanceledError struct {
	// Reason is what the caller who asked for it gave.
	Reason string
}

// Error names the reason.
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

// PanicError is code that panicked.
type PanicError struct {
	// Message is the value that it panicked with, as text.
	Message string
	// Stack is the stack of the code that panicked.
	Stack string
}

// Error is the value that the code panicked with.
func (e *PanicError) Error() string { return "panic: " + e.Message }

// ActivityError says which activity failed; errors.Is and errors.As look through it at why.
type ActivityError struct {
	// ActivityType is the activity's type.
	ActivityType string
	// EventID is the id of its ActivityTaskScheduled event.
	EventID int64
	// Cause is why it failed.
	Cause error
}

// Error names the activity and the cause.
func (e *ActivityError) Error() string {
	return fmt.Sprintf("activity %s failed: %v", e.ActivityType, e.Cause)
}

// Unwrap returns why it failed.
func (e *ActivityError) Unwrap() error { return e.Cause }

// ChildWorkflowError says which child workflow failed, or could not be started; errors.Is and errors.As look through it
// at why.
type ChildWorkflowError struct {
	// WorkflowType and WorkflowID are those of the child.
	WorkflowType, WorkflowID string
	// RunID is the child's first run; empty where it was not started.
	RunID string
	// EventID is the id of its StartChildWorkflowExecutionInitiated event; 0 where there is none.
	EventID int64
	// Cause is why it failed.
	Cause error
}

// Error names the child and the cause.
func (e *ChildWorkflowError) Error() string {
	return fmt.Sprintf("child workflow %s failed: %v", e.WorkflowType, e.Cause)
}

// Unwrap returns why it failed.
func (e *ChildWorkflowError) Unwrap() error { return e.Cause }

// OtherError is a failure of a kind that has no Go type of its own: a task that fails, a run that was terminated, an
// update whose run closed.
type OtherError struct {
	// Kind says which.
	Kind Kind
	// Message is the text.
	Message string
	// Stack is where, for those that have one.
	Stack string
	// EventID is the event at which it happened, for those that have one.
	EventID int64
	// Cause is what it wraps.
	Cause error
}

// Error is the message.
func (e *OtherError) Error() string {
	if e.Message == "" {
		return e.Kind.String()
	}
	return e.Message
}

// Unwrap returns what it wraps.
func (e *OtherError) Unwrap() error { return e.Cause }

// Is reports whether target is an OtherError of the same kind.
func (e *OtherError) Is(target error) bool {
	t, ok := target.(*OtherError)
	return ok && e.Kind == t.Kind
}
