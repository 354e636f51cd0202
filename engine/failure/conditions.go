package failure

import "strings"

// A condition that Weft itself reports has one value, and errors.Is matches it wherever the condition is met: in a refusal of the HTTP
// API, in workflow code, in an activity, and after it has travelled between them. Packages client, workflow and activity export these
// values under the same names.
//
// An *Error among them is recognised by its type. Histories have NotFound, AlreadyStarted, Invalid and TooLarge; the types of conditions
// that only requests meet begin with ownPrefix. Declare refuses all of them.
var (
	// ErrCanceled matches every CanceledError.
	ErrCanceled = &CanceledError{}
	// ErrTimeout matches every TimeoutError.
	ErrTimeout = &TimeoutError{Message: "a limit of time passed"}
	// ErrTerminated matches the outcome of a run that was terminated.
	ErrTerminated = &OtherError{Kind: KindTerminated, Message: "terminated"}
	// ErrRunClosed matches the outcome of an accepted update whose run closed before its handler finished.
	ErrRunClosed = &OtherError{Kind: KindRunClosed, Message: "the run closed before the update finished"}
	// ErrNotFound matches a request for a workflow, run, update or query that does not exist or takes nothing any more, and what workflow
	// code sends to a workflow that has no open run.
	ErrNotFound = New("NotFound", "it does not exist, or is not open")
	// ErrAlreadyStarted matches the start of a run, a child or a schedule whose id is taken: a run of the id is open, or the id reuse
	// policy forbids another.
	ErrAlreadyStarted = New("AlreadyStarted", "the id is taken")
	// ErrInvalid matches a request that is wrong in itself.
	ErrInvalid = New("Invalid", "the request is invalid")
	// ErrTooLarge matches what is above a limit of size.
	ErrTooLarge = New("TooLarge", "too large")
	// ErrRejected matches an update that was refused: nothing was written.
	ErrRejected = New(ownPrefix+"Rejected", "the update was rejected")
	// ErrUnauthorized matches a request without a token that the local server takes.
	ErrUnauthorized = New(ownPrefix+"Unauthorized", "a token is needed")
	// ErrForbidden matches a request that is not allowed.
	ErrForbidden = New(ownPrefix+"Forbidden", "not allowed")
	// ErrClosedRecently matches the deletion of a run that closed too recently.
	ErrClosedRecently = New(ownPrefix+"ClosedRecently", "the run has closed too recently")
	// ErrNotReady matches a request to a run whose workflow task fails.
	ErrNotReady = New(ownPrefix+"NotReady", "the run's code fails")
	// ErrOtherBuild matches a request to a run that only another build may run, which cannot be reached.
	ErrOtherBuild = New(ownPrefix+"OtherBuild", "another build has to do this")
	// ErrActivityEnded matches what is reported of an attempt at an activity that nobody waits for any more.
	ErrActivityEnded = New(ownPrefix+"ActivityEnded", "the attempt at the activity has ended")
	// ErrQueryFailed matches a query whose handler returned an error.
	ErrQueryFailed = New(ownPrefix+"QueryFailed", "the query's handler returned an error")
	// ErrUpdateLimit matches an update of a run that has accepted as many as it may.
	ErrUpdateLimit = New(ownPrefix+"UpdateLimit", "the run has accepted as many updates as it may")
	// ErrUpdatesInFlight matches an update of a run that has as many unfinished ones as it may.
	ErrUpdatesInFlight = New(ownPrefix+"UpdatesInFlight", "too many updates of the run are in flight")
	// ErrBusy matches a request that was refused because of load. It did nothing.
	ErrBusy = New(ownPrefix+"Busy", "busy")
	// ErrOutcomeUnknown matches a request that may have been carried out, or not.
	ErrOutcomeUnknown = New(ownPrefix+"OutcomeUnknown", "the outcome is not known")
)

// ownPrefix begins the types that are Weft's own.
const ownPrefix = "weft."

// isOwn reports whether a type of application errors is Weft's own.
func isOwn(typ string) bool {
	switch typ {
	case ErrNotFound.Type, ErrAlreadyStarted.Type, ErrInvalid.Type, ErrTooLarge.Type:
		return true
	}
	return strings.HasPrefix(typ, ownPrefix)
}

// Declare is New for the errors of programs. It panics for a type that is Weft's own: errors.Is could not tell the program's error from
// Weft's.
func Declare(typ, message string) *Error {
	if isOwn(typ) {
		panic("weft: the error type " + typ + " is Weft's own: give yours another name, as in \"order." + strings.TrimPrefix(typ, ownPrefix) + "\"")
	}
	return New(typ, message)
}

// conditional is implemented by errors of other packages that stand for a condition, so that they travel as it.
type conditional interface {
	error
	// Condition returns the condition; nil where it is none.
	Condition() *Error
}

// conditionOf returns the type under which errors.Is recognises err, which is no error of this package, on the other side.
func conditionOf(err error) string {
	if c, ok := err.(conditional); ok {
		if condition := c.Condition(); condition != nil {
			return condition.Type
		}
	}
	return typeName(err)
}
