package workflow

import "github.com/seed-41655fb1/weft/engine/failure"

// Error is an application error: one that its receiver can tell apart by its type with errors.Is, wherever it travels.
type Error = failure.Error

// The errors that workflow code meets, for errors.As.
type (
	// ActivityError says which activity failed; it wraps why.
	ActivityError = failure.ActivityError
	// ChildWorkflowError says which child workflow failed, or could not be started; it wraps why.
	ChildWorkflowError = failure.ChildWorkflowError
	// TimeoutError says that a limit of time passed.
	TimeoutError = failure.TimeoutError
	// CanceledError is what blocking calls return when their context was canceled.
	CanceledError = failure.CanceledError
	// PanicError is an activity that panicked.
	PanicError = failure.PanicError
)

// ErrCanceled matches every *CanceledError in errors.Is.
var ErrCanceled error = failure.ErrCanceled

// What workflow code meets when it deals with other workflows.
var (
	// ErrAlreadyStarted matches a child that could not be started because its workflow id is taken.
	ErrAlreadyStarted error = failure.ErrAlreadyStarted
	// ErrNotFound matches a signal or a request to end that found no open run.
	ErrNotFound error = failure.ErrNotFound
	// ErrTerminated matches a child that was terminated.
	ErrTerminated error = failure.ErrTerminated
)

// NewError returns an application error. Declare those that callers branch on once, as variables: errors.Is compares
// their types, also in the client. Error.With attaches data.
func NewError(typ, message string) *Error { return failure.New(typ, message) }

// DetailsOf returns the details (Error.With) of an error that is, or wraps, one of the type of declared: in workflow code as in a
// client. ok is false where there is no such error, and where it has no details or none that are a T.
//
//	fee, ok := workflow.DetailsOf[Fee](err, ErrUndeclared)
func DetailsOf[T any](err error, declared *Error) (details T, ok bool) {
	var v T
	if !declared.DecodeDetails(err, &v) {
		return details, false
	}
	return v, true
}
