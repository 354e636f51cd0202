package workflow

import "github.com/seed-41655fb1/weft/engine/failure"

// Error is an application error. Its receiver compares its type with errors.Is, wherever it is
// sent.
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
	// PanicError reports an activity that panicked.
	PanicError = failure.PanicError
)

// The conditions that workflow code and callers branch on with errors.Is. Packages client and
// activity have the same values under the same names. An error that an activity returns can match
// any of them. docs/semantics.md lists them.
var (
	// ErrCanceled matches every *CanceledError.
	ErrCanceled error = failure.ErrCanceled
	// ErrTimeout matches every *TimeoutError.
	ErrTimeout error = failure.ErrTimeout
	// ErrTerminated matches the end of a terminated run, a child's too.
	ErrTerminated error = failure.ErrTerminated
	// ErrRunClosed matches the outcome of an accepted update whose run closed before its handler
	// finished.
	ErrRunClosed error = failure.ErrRunClosed
	// ErrNotFound matches a workflow, run, update, query or schedule that does not exist, and a
	// request that a run refuses because it has closed: a signal or a request to end from workflow
	// code, too.
	ErrNotFound error = failure.ErrNotFound
	// ErrAlreadyStarted matches a start, a child's too, whose workflow id is taken.
	ErrAlreadyStarted error = failure.ErrAlreadyStarted
	// ErrInvalid matches a name, an id or an option that is wrong in itself.
	ErrInvalid error = failure.ErrInvalid
	// ErrTooLarge matches a request or a payload above a limit of size.
	ErrTooLarge error = failure.ErrTooLarge
	// ErrRejected matches every *client.Rejected.
	ErrRejected error = failure.ErrRejected
	// ErrUnauthorized matches a request without a token that the server accepts.
	ErrUnauthorized error = failure.ErrUnauthorized
	// ErrForbidden matches a request that the server does not allow.
	ErrForbidden error = failure.ErrForbidden
	// ErrClosedRecently matches the deletion of a run that closed too recently.
	ErrClosedRecently error = failure.ErrClosedRecently
	// ErrNotReady matches a request to a run whose workflow task fails; the error wraps why.
	ErrNotReady error = failure.ErrNotReady
	// ErrOtherBuild matches a request to a run that only another build may run, if that build
	// cannot be reached.
	ErrOtherBuild error = failure.ErrOtherBuild
	// ErrActivityEnded matches a report about an attempt at an activity that has ended otherwise.
	ErrActivityEnded error = failure.ErrActivityEnded
	// ErrPaused matches a request that needs the code of a run which is paused.
	ErrPaused error = failure.ErrPaused
	// ErrNothingToDo matches a request to retry what does not wait for a retry, to resume a run
	// that is not paused, or to pause one that has not begun.
	ErrNothingToDo error = failure.ErrNothingToDo
	// ErrQueryFailed matches a query whose handler returned an error, which the error wraps.
	ErrQueryFailed error = failure.ErrQueryFailed
	// ErrUpdateLimit matches an update of a run that has accepted as many as it may.
	ErrUpdateLimit error = failure.ErrUpdateLimit
	// ErrUpdatesInFlight matches an update of a run that has as many unfinished ones as it may.
	ErrUpdatesInFlight error = failure.ErrUpdatesInFlight
	// ErrBusy matches a request that was refused because of load until its time was over. It did
	// nothing.
	ErrBusy error = failure.ErrBusy
	// ErrOutcomeUnknown matches a request that may have been carried out, or not.
	ErrOutcomeUnknown error = failure.ErrOutcomeUnknown
)

// NewError returns an application error. Declare those that callers branch on once, as variables:
// errors.Is compares their types, also in the client. Error.With attaches data. NewError panics for
// the types NotFound, AlreadyStarted, Invalid and TooLarge and those that begin with "weft.": they
// are Weft's own.
func NewError(typ, message string) *Error { return failure.NewForProgram(typ, message) }

// ErrorOf is an application error whose details are a D: With takes a D, and DetailsOf returns it.
type ErrorOf[D any] = failure.ErrorOf[D]

// NewErrorOf is NewError for an error whose details have a type:
//
//	var ErrUnknownSKU = workflow.NewErrorOf[SKU]("unknownSKU", "there is no such article")
//
//	return Total{}, ErrUnknownSKU.With(SKU{"unicorn"})
func NewErrorOf[D any](typ, message string) ErrorOf[D] { return failure.NewOf[D](typ, message) }

// DeclaredError is an error that an update can declare with Errors: an *Error or an ErrorOf.
type DeclaredError = failure.Declared

// DetailsOf returns the details (Error.With) of an error in err's chain that has the type of
// declared, in workflow code as in a client. ok is false if there is no such error, or if it has no
// details that are a T.
//
//	fee, ok := workflow.DetailsOf[Fee](err, ErrUndeclared)
func DetailsOf[T any](err error, declared *Error) (details T, ok bool) {
	var v T
	if !declared.DecodeDetails(err, &v) {
		return details, false
	}
	return v, true
}
