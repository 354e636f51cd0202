package failure

import (
	"slices"
	"strings"
)

// A condition that Weft itself reports has one value, and errors.Is matches it everywhere: in a
// refusal of the HTTP API, in workflow code, in an activity, and after it was sent between them.
// Packages client, workflow and activity export all of these values under the same names.
//
// An *Error among them is recognised by its type. Histories have NotFound, AlreadyStarted, Invalid
// and TooLarge; the types of conditions that only requests have begin with ownPrefix. NewForProgram
// refuses all of them.
var (
	// ErrCanceled matches every CanceledError.
	ErrCanceled = &CanceledError{}
	// ErrTimeout matches every TimeoutError.
	ErrTimeout = &TimeoutError{Message: "a limit of time passed"}
	// ErrTerminated matches the outcome of a terminated run.
	ErrTerminated = &OtherError{Kind: KindTerminated, Message: "terminated"}
	// ErrRunClosed matches the outcome of an accepted update whose run closed before its handler
	// finished.
	ErrRunClosed = &OtherError{Kind: KindRunClosed, Message: "the run closed before the update finished"}
	// ErrNotFound matches a request for a workflow, run, update or query that does not exist or has
	// ended, and a request of workflow code to a workflow that has no open run.
	ErrNotFound = condition("NotFound", "it does not exist, or is not open")
	// ErrAlreadyStarted matches the start of a run, a child or a schedule whose id is taken: a run
	// of the id is open, or the id reuse policy forbids another.
	ErrAlreadyStarted = condition("AlreadyStarted", "the id is taken")
	// ErrInvalid matches a request that is wrong in itself.
	ErrInvalid = condition("Invalid", "the request is invalid")
	// ErrTooLarge matches a request or a payload above a limit of size.
	ErrTooLarge = condition("TooLarge", "too large")
	// ErrRejected matches a refused update: nothing was written.
	ErrRejected = condition(ownPrefix+"Rejected", "the update was rejected")
	// ErrUnauthorized matches a request without a token that the local server accepts.
	ErrUnauthorized = condition(ownPrefix+"Unauthorized", "a token is needed")
	// ErrForbidden matches a request that is not allowed.
	ErrForbidden = condition(ownPrefix+"Forbidden", "not allowed")
	// ErrClosedRecently matches the deletion of a run that closed too recently.
	ErrClosedRecently = condition(ownPrefix+"ClosedRecently", "the run has closed too recently")
	// ErrNotReady matches a request to a run whose workflow task fails.
	ErrNotReady = condition(ownPrefix+"NotReady", "the run's code fails")
	// ErrOtherBuild matches a request to a run that only another build may run, if that build
	// cannot be reached.
	ErrOtherBuild = condition(ownPrefix+"OtherBuild", "another build has to do this")
	// ErrActivityEnded matches a report about an attempt at an activity that the workflow no longer
	// waits for.
	ErrActivityEnded = condition(ownPrefix+"ActivityEnded", "the attempt at the activity has ended")
	// ErrPaused matches a request that needs the code of a run which is paused.
	ErrPaused = condition(ownPrefix+"Paused", "the run is paused")
	// ErrNothingToDo matches a request to retry what does not wait for a retry, to resume a run
	// that is not paused, or to pause one that has not begun.
	ErrNothingToDo = condition(ownPrefix+"NothingToDo", "there is nothing to do")
	// ErrQueryFailed matches a query whose handler returned an error.
	ErrQueryFailed = condition(ownPrefix+"QueryFailed", "the query's handler returned an error")
	// ErrUpdateLimit matches an update of a run that has accepted as many as it may.
	ErrUpdateLimit = condition(ownPrefix+"UpdateLimit", "the run has accepted as many updates as it may")
	// ErrUpdatesInFlight matches an update of a run that has as many unfinished ones as it may.
	ErrUpdatesInFlight = condition(ownPrefix+"UpdatesInFlight", "too many updates of the run are in flight")
	// ErrBusy matches a request that was refused because of load. It did nothing.
	ErrBusy = condition(ownPrefix+"Busy", "busy")
	// ErrOutcomeUnknown matches a request that may have been carried out, or not.
	ErrOutcomeUnknown = condition(ownPrefix+"OutcomeUnknown", "the outcome is not known")
)

// ownPrefix begins the types that are Weft's own.
const ownPrefix = "weft."

// conditions are the application errors among them.
var conditions []*Error

// condition returns an application error that stands for a condition.
func condition(typ, message string) *Error {
	e := New(typ, message)
	conditions = append(conditions, e)
	return e
}

// isOwn reports whether a type of application errors is Weft's own.
func isOwn(typ string) bool {
	return strings.HasPrefix(typ, ownPrefix) || slices.ContainsFunc(conditions, func(c *Error) bool { return c.Type == typ })
}

// NewForProgram is New for the errors of programs. It panics for a type of Weft's own: errors.Is
// could not distinguish the program's error from Weft's.
func NewForProgram(typ, message string) *Error {
	if isOwn(typ) {
		panic("weft: the error type " + typ + " is Weft's own: give yours another name, as in \"order." + strings.TrimPrefix(typ, ownPrefix) + "\"")
	}
	return New(typ, message)
}

// typeOf returns the type under which errors.Is recognises err, which is no error of this package,
// on the other side: that of the condition that err's method Is matches, or the name of its Go
// type.
func typeOf(err error) string {
	if e, ok := err.(interface{ Is(target error) bool }); ok {
		for _, c := range conditions {
			if e.Is(c) {
				return c.Type
			}
		}
	}
	return typeName(err)
}
