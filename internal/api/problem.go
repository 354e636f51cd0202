package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
)

// Problem is a refusal of a request, as an RFC 9457 problem document and as a Go error.
type Problem struct {
	// Type tells the kinds of refusal apart; see the variables below.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what is wrong here and what to do about it.
	Detail string `json:"detail,omitempty"`
	// Failure is the failure of the code that the request ran, where there is one.
	Failure *failure.Failure `json:"failure,omitempty"`
	// RetryAfter is how long to wait before the request is sent again; 0 where that will not help.
	RetryAfter time.Duration `json:"-"`
}

func kind(name string, status int, title string) *Problem {
	return &Problem{Type: "urn:weft:problem:" + name, Title: title, Status: status}
}

// The kinds of refusal. Each is matched by errors.Is, whatever its detail, and so is what conditions has for it.
var (
	// Invalid is a request that is wrong in itself.
	Invalid = kind("invalid", http.StatusBadRequest, "The request is invalid")
	// Unauthorized is a request without the token that the local server demands.
	Unauthorized = kind("unauthorized", http.StatusUnauthorized, "A token is needed")
	// Forbidden is a request of a web page that the local server does not know, or to a host name that is not the server's.
	Forbidden = kind("forbidden", http.StatusForbidden, "Not allowed here")
	// NotFound is a workflow, run, update or query that there is not, and a run that has closed.
	NotFound = kind("not-found", http.StatusNotFound, "Not found")
	// MethodNotAllowed is a method that a path does not have.
	MethodNotAllowed = kind("method-not-allowed", http.StatusMethodNotAllowed, "Method not allowed")
	// AlreadyOpen is a start of a workflow id that has an open run.
	AlreadyOpen = kind("already-open", http.StatusConflict, "A run of this workflow is open")
	// ClosedRecently is a run that closed too recently to be deleted.
	ClosedRecently = kind("closed-recently", http.StatusConflict, "The run has closed too recently")
	// AlreadyUsed is a start that the id reuse policy forbids.
	AlreadyUsed = kind("already-used", http.StatusConflict, "This workflow id has been used")
	// NotReady is a run whose workflow task fails.
	NotReady = kind("not-ready", http.StatusConflict, "The run's code fails")
	// OtherBuild is a run that another build alone may run, which cannot be reached.
	OtherBuild = kind("other-build", http.StatusConflict, "Another build has to do this")
	// ActivityEnded is something said of an attempt at an activity that nobody waits for any more.
	ActivityEnded = kind("activity-ended", http.StatusConflict, "The attempt at the activity has ended")
	// UpdateLimit is a run that has accepted as many updates as it may.
	UpdateLimit = kind("update-limit", http.StatusConflict, "The run has accepted as many updates as it may")
	// TooLarge is a body or a payload beyond the limit.
	TooLarge = kind("too-large", http.StatusRequestEntityTooLarge, "Too large")
	// QueryFailed is a query whose handler returned an error.
	QueryFailed = kind("query-failed", http.StatusUnprocessableEntity, "The query's handler returned an error")
	// UpdatesInFlight is a run with as many unfinished updates as it may have.
	UpdatesInFlight = kind("updates-in-flight", http.StatusTooManyRequests, "Too many updates of this run are in flight")
	// Busy is a request that lost too many races, or found the service overloaded: it did nothing.
	Busy = kind("busy", http.StatusServiceUnavailable, "Busy")
	// OutcomeUnknown is a request of which is not known whether it was carried out: send it again with the same id.
	OutcomeUnknown = kind("outcome-unknown", http.StatusServiceUnavailable, "The outcome is not known")
	// NotServing is a local server that cannot carry out what writes for now.
	NotServing = kind("not-serving", http.StatusServiceUnavailable, "The server takes no writes")
	// Internal is a defect of the server.
	Internal = kind("internal", http.StatusInternalServerError, "Internal error")
)

// retryAfter is how long clients wait before they repeat what is Busy, OutcomeUnknown or over a limit.
const retryAfter = time.Second

// New returns a problem of this kind with a detail.
func (p *Problem) New(format string, args ...any) *Problem {
	n := *p
	n.Detail = fmt.Sprintf(format, args...)
	if n.Status == http.StatusServiceUnavailable || n.Status == http.StatusTooManyRequests {
		n.RetryAfter = retryAfter
	}
	return &n
}

// With returns the problem with the failure of the code that the request ran.
func (p *Problem) With(f *failure.Failure) *Problem {
	n := *p
	n.Failure = f
	return &n
}

// Error is the title and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// Is reports whether target is a problem of the same kind, or the condition that the kind stands for.
func (p *Problem) Is(target error) bool {
	if t, ok := target.(*Problem); ok {
		return p.Type == t.Type
	}
	condition := conditions[p.Type]
	return condition != nil && condition.Is(target)
}

// conditions are those that the kinds of refusal stand for. A kind that is not here is one that no caller branches on.
var conditions = map[string]*failure.Error{
	Invalid.Type:         failure.ErrInvalid,
	Unauthorized.Type:    failure.ErrUnauthorized,
	Forbidden.Type:       failure.ErrForbidden,
	NotFound.Type:        failure.ErrNotFound,
	AlreadyOpen.Type:     failure.ErrAlreadyStarted,
	AlreadyUsed.Type:     failure.ErrAlreadyStarted,
	ClosedRecently.Type:  failure.ErrClosedRecently,
	NotReady.Type:        failure.ErrNotReady,
	OtherBuild.Type:      failure.ErrOtherBuild,
	ActivityEnded.Type:   failure.ErrActivityEnded,
	UpdateLimit.Type:     failure.ErrUpdateLimit,
	TooLarge.Type:        failure.ErrTooLarge,
	QueryFailed.Type:     failure.ErrQueryFailed,
	UpdatesInFlight.Type: failure.ErrUpdatesInFlight,
	Busy.Type:            failure.ErrBusy,
	OutcomeUnknown.Type:  failure.ErrOutcomeUnknown,
}

// Unwrap is the failure of the code that the request ran, as an error.
func (p *Problem) Unwrap() error { return p.Failure.Err() }
