// Package refusal says why a request is refused. Package executor carries requests out and returns
// refusals, but knows no HTTP. Package api has the status and the problem document of each kind,
// and package httpapi answers with them.
package refusal

import (
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// Kind is a kind of refusal. errors.Is finds the kind of a refusal, and the condition that it
// stands for.
type Kind string

// The kinds of refusal. The names are those of the types of problem documents.
const (
	// Invalid is a request that is wrong in itself.
	Invalid Kind = "invalid"
	// Unauthorized is a request without the token that the local server demands.
	Unauthorized Kind = "unauthorized"
	// Forbidden is a request of a web page that the local server does not allow, or to a host name
	// that is not the server's.
	Forbidden Kind = "forbidden"
	// NotFound is a workflow, run, update or query that does not exist, or a run that has closed.
	NotFound Kind = "not-found"
	// MethodNotAllowed is a method that a path does not have.
	MethodNotAllowed Kind = "method-not-allowed"
	// NotAcceptable is a request for a kind of answer that there is not here.
	NotAcceptable Kind = "not-acceptable"
	// AlreadyOpen is a start of a workflow id that has an open run.
	AlreadyOpen Kind = "already-open"
	// ClosedRecently is a run that closed too recently to be deleted.
	ClosedRecently Kind = "closed-recently"
	// AlreadyUsed is a start that the id reuse policy forbids.
	AlreadyUsed Kind = "already-used"
	// NotReady is a run whose workflow task fails.
	NotReady Kind = "not-ready"
	// OtherBuild is a run that only another build may run, if that build cannot be reached.
	OtherBuild Kind = "other-build"
	// ActivityEnded is a report of an attempt at an activity that no run waits for any more.
	ActivityEnded Kind = "activity-ended"
	// Paused is a request that needs the code of a run which is paused.
	Paused Kind = "paused"
	// NothingToDo is a request to retry what does not wait for a retry, to resume a run that is not
	// paused, or to pause one that has not begun.
	NothingToDo Kind = "nothing-to-do"
	// UpdateLimit is a run that has accepted as many updates as it may.
	UpdateLimit Kind = "update-limit"
	// TooLarge is a body or a payload beyond the limit.
	TooLarge Kind = "too-large"
	// QueryFailed is a query whose handler returned an error.
	QueryFailed Kind = "query-failed"
	// UpdatesInFlight is a run with as many unfinished updates as it may have.
	UpdatesInFlight Kind = "updates-in-flight"
	// Busy is a request that lost too many races, or found the service overloaded: it did nothing.
	Busy Kind = "busy"
	// OutcomeUnknown is a request that may have been carried out, or not: send it again with the
	// same id.
	OutcomeUnknown Kind = "outcome-unknown"
	// NotServing is a local server that cannot write for now.
	NotServing Kind = "not-serving"
	// Internal is a defect of the server.
	Internal Kind = "internal"
)

// about describes a kind: its title, and the condition that callers branch on; nil if there is
// none.
type about struct {
	title     string
	condition *failure.Error
}

var kinds = map[Kind]about{
	Invalid:          {"The request is invalid", failure.ErrInvalid},
	Unauthorized:     {"A token is needed", failure.ErrUnauthorized},
	Forbidden:        {"Not allowed here", failure.ErrForbidden},
	NotFound:         {"Not found", failure.ErrNotFound},
	MethodNotAllowed: {"Method not allowed", nil},
	NotAcceptable:    {"There is no such answer here", nil},
	AlreadyOpen:      {"A run of this workflow is open", failure.ErrAlreadyStarted},
	ClosedRecently:   {"The run has closed too recently", failure.ErrClosedRecently},
	AlreadyUsed:      {"This workflow id has been used", failure.ErrAlreadyStarted},
	NotReady:         {"The run's code fails", failure.ErrNotReady},
	OtherBuild:       {"Another build has to do this", failure.ErrOtherBuild},
	ActivityEnded:    {"The attempt at the activity has ended", failure.ErrActivityEnded},
	Paused:           {"The run is paused", failure.ErrPaused},
	NothingToDo:      {"There is nothing to do", failure.ErrNothingToDo},
	UpdateLimit:      {"The run has accepted as many updates as it may", failure.ErrUpdateLimit},
	TooLarge:         {"Too large", failure.ErrTooLarge},
	QueryFailed:      {"The query's handler returned an error", failure.ErrQueryFailed},
	UpdatesInFlight:  {"Too many updates of this run are in flight", failure.ErrUpdatesInFlight},
	Busy:             {"Busy", failure.ErrBusy},
	OutcomeUnknown:   {"The outcome is not known", failure.ErrOutcomeUnknown},
	NotServing:       {"The server takes no writes", nil},
	Internal:         {"Internal error", nil},
}

// Cause is what a request failed by. It is for operators: no answer has it.
type Cause string

// The causes.
const (
	// ByStore is a store that refuses, throttles or does not answer.
	ByStore Cause = "store"
	// ByQueue is a queue that does so.
	ByQueue Cause = "queue"
	// ByContention is other requests and messages to the same workflow.
	ByContention Cause = "contention"
	// ByCode is workflow code that fails or hangs.
	ByCode Cause = "code"
	// ByBuild is another build that could not be reached.
	ByBuild Cause = "build"
	// ByDefect is a defect of the server or of its data.
	ByDefect Cause = "defect"
	// ByCaller is a caller that gave less than a second, which was over.
	ByCaller Cause = "caller"
)

// Title returns the title of the kind.
func (k Kind) Title() string { return kinds[k].title }

// Error returns the title. A kind is an error, so that errors.Is can look for it.
func (k Kind) Error() string { return k.Title() }

// Is reports whether target is the condition that the kind stands for.
func (k Kind) Is(target error) bool {
	condition := kinds[k].condition
	return condition != nil && condition.Is(target)
}

// New returns a refusal of this kind with a detail. Its cause is ByCode for NotReady and ByDefect
// for Internal; the other kinds have none: see By.
func (k Kind) New(format string, args ...any) *Error {
	return &Error{Kind: k, Detail: fmt.Sprintf(format, args...), Cause: causes[k]}
}

// causes are the causes of the kinds that have only one.
var causes = map[Kind]Cause{NotReady: ByCode, Internal: ByDefect}

// Error refuses a request.
type Error struct {
	Kind Kind
	// Detail says what is wrong here and what to do about it.
	Detail string
	// Failure is the failure of the code that the request ran; nil if there is none.
	Failure *failure.Failure
	// At is the place in the request that is wrong, as in "input.quantity"; empty if there is none.
	At string
	// Known are the names that exist, if the request has one that does not.
	Known []string
	// Cause is what the request failed by; empty if it is the caller's to change, or is not known.
	Cause Cause
}

// By returns the refusal with a cause.
func (e *Error) By(c Cause) *Error {
	n := *e
	n.Cause = c
	return &n
}

// CauseOf returns the cause of the refusal that an error is; empty if it has none.
func CauseOf(err error) Cause {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Cause
	}
	return ""
}

// AtPlaceOf returns the refusal with the place of an error in the request. at is the place if the
// error has none.
func (e *Error) AtPlaceOf(err error, at string) *Error {
	n := *e
	n.At = PlaceOf(err, at)
	return &n
}

// PlaceOf returns the place of an error in the request, or at if the error has none.
func PlaceOf(err error, at string) string {
	var placed interface{ Place() string }
	if errors.As(err, &placed) {
		return placed.Place()
	}
	return at
}

// Knowing returns the refusal with the names that exist.
func (e *Error) Knowing(names []string) *Error {
	n := *e
	n.Known = names
	return &n
}

// With returns the refusal with the failure of the code that the request ran.
func (e *Error) With(f *failure.Failure) *Error {
	n := *e
	n.Failure = f
	return &n
}

// Error returns the title of the kind and the detail.
func (e *Error) Error() string {
	if e.Detail == "" {
		return e.Kind.Title()
	}
	return e.Kind.Title() + ": " + e.Detail
}

// Is reports whether target is the kind, or the condition that the kind stands for.
func (e *Error) Is(target error) bool { return target == e.Kind || e.Kind.Is(target) }

// Unwrap returns the failure of the code that the request ran, as an error.
func (e *Error) Unwrap() error { return e.Failure.Err() }
