// Package problem has the answers to requests that are refused. The handler writes them, and the
// client reads them.
package problem

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Problem is a refusal of a request, as an RFC 9457 problem document and as a Go error.
type Problem struct {
	// Type distinguishes the kinds of refusal: it is problemType followed by a kind.
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	// Detail says what is wrong here and what to do about it.
	Detail string `json:"detail,omitempty"`
	// Failure is the failure of the code that the request ran, if any.
	Failure *failure.Failure `json:"failure,omitempty"`
	// At is the place in the request that is wrong, as in "input.items[3].sku"; empty if the
	// refusal is about no place.
	At string `json:"at,omitempty"`
	// Known are the names that exist, sorted, if the request has one that does not.
	Known []string `json:"known,omitempty"`
	// RetryAfter is how long to wait before the request is sent again; 0 if that will not help.
	RetryAfter time.Duration `json:"-"`
}

// problemType begins the type of each problem document.
const problemType = "urn:weft:problem:"

// statuses are the HTTP statuses of the kinds of refusal.
var statuses = map[refusal.Kind]int{
	refusal.Invalid:          http.StatusBadRequest,
	refusal.Unauthorized:     http.StatusUnauthorized,
	refusal.Forbidden:        http.StatusForbidden,
	refusal.NotFound:         http.StatusNotFound,
	refusal.MethodNotAllowed: http.StatusMethodNotAllowed,
	refusal.NotAcceptable:    http.StatusNotAcceptable,
	refusal.AlreadyOpen:      http.StatusConflict,
	refusal.ClosedRecently:   http.StatusConflict,
	refusal.AlreadyUsed:      http.StatusConflict,
	refusal.NotReady:         http.StatusConflict,
	refusal.OtherBuild:       http.StatusConflict,
	refusal.ActivityEnded:    http.StatusConflict,
	refusal.Paused:           http.StatusConflict,
	refusal.NothingToDo:      http.StatusConflict,
	refusal.UpdateLimit:      http.StatusConflict,
	refusal.TooLarge:         http.StatusRequestEntityTooLarge,
	refusal.QueryFailed:      http.StatusUnprocessableEntity,
	refusal.UpdatesInFlight:  http.StatusTooManyRequests,
	refusal.Busy:             http.StatusServiceUnavailable,
	refusal.OutcomeUnknown:   http.StatusServiceUnavailable,
	refusal.NotServing:       http.StatusServiceUnavailable,
	refusal.Internal:         http.StatusInternalServerError,
}

// retryAfter is how long clients wait before they repeat a request that is refused with 503 or 429.
const retryAfter = time.Second

// Of returns the problem document of a refusal.
func Of(r *refusal.Error) *Problem {
	p := &Problem{
		Type: problemType + string(r.Kind), Title: r.Kind.Title(), Status: statuses[r.Kind], Detail: r.Detail, Failure: r.Failure,
		At: r.At, Known: r.Known,
	}
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		p.RetryAfter = retryAfter
	}
	return p
}

// kind returns the kind of refusal of the problem document.
func (p *Problem) kind() refusal.Kind { return refusal.Kind(strings.TrimPrefix(p.Type, problemType)) }

// Error returns the title and the detail.
func (p *Problem) Error() string {
	if p.Detail == "" {
		return p.Title
	}
	return p.Title + ": " + p.Detail
}

// Is reports whether target is a problem of the same type, its kind of refusal, or the condition
// that the kind stands for.
func (p *Problem) Is(target error) bool {
	if t, ok := target.(*Problem); ok {
		return p.Type == t.Type
	}
	return target == p.kind() || p.kind().Is(target)
}

// WrongPath reports whether a refusal is of a path that no version of the API has: the address has
// something behind it that the server does not know.
func WrongPath(p *Problem) bool {
	path, nothing := strings.CutPrefix(p.Detail, "there is nothing at ")
	return nothing && p.kind() == refusal.NotFound && !strings.HasPrefix(path, "/v1/")
}

// ErrNotWeft matches an error of a client that has got an answer which is no refusal, and which
// Weft does not give: see NotWeft.
var ErrNotWeft = errors.New("weft: the answer is none of Weft")

// NotWeft reports whether an error is of an answer that Weft does not give: something else has
// answered, as at a mistyped address. what is what is wrong with the answer.
func NotWeft(err error) (what string, is bool) {
	var p *Problem
	switch {
	case errors.As(err, &p):
		return p.Detail, isForeign(p)
	case errors.Is(err, ErrNotWeft):
		return err.Error(), true
	}
	return "", false
}

// isForeign reports whether a refusal is none of Weft, and none of what lets callers in or limits
// requests. Weft's own defects have the status 500.
func isForeign(p *Problem) bool {
	switch p.Status {
	case http.StatusInternalServerError, http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge:
		return false
	}
	return p.kind() == refusal.Internal
}

// Unwrap returns the failure of the code that the request ran, as an error.
func (p *Problem) Unwrap() error { return p.Failure.Err() }
