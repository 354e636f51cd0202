package problem_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/problem"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Each kind of refusal has exactly this problem document, which says when to send the request
// again.
func TestOf(t *testing.T) {
	t.Parallel()
	for kind, want := range map[refusal.Kind]string{
		refusal.Invalid:          `{"type":"urn:weft:problem:invalid","title":"The request is invalid","status":400,"detail":"why"}`,
		refusal.Unauthorized:     `{"type":"urn:weft:problem:unauthorized","title":"A token is needed","status":401,"detail":"why"}`,
		refusal.Forbidden:        `{"type":"urn:weft:problem:forbidden","title":"Not allowed here","status":403,"detail":"why"}`,
		refusal.NotFound:         `{"type":"urn:weft:problem:not-found","title":"Not found","status":404,"detail":"why"}`,
		refusal.MethodNotAllowed: `{"type":"urn:weft:problem:method-not-allowed","title":"Method not allowed","status":405,"detail":"why"}`,
		refusal.NotAcceptable:    `{"type":"urn:weft:problem:not-acceptable","title":"There is no such answer here","status":406,"detail":"why"}`,
		refusal.AlreadyOpen:      `{"type":"urn:weft:problem:already-open","title":"A run of this workflow is open","status":409,"detail":"why"}`,
		refusal.ClosedRecently:   `{"type":"urn:weft:problem:closed-recently","title":"The run has closed too recently","status":409,"detail":"why"}`,
		refusal.AlreadyUsed:      `{"type":"urn:weft:problem:already-used","title":"This workflow id has been used","status":409,"detail":"why"}`,
		refusal.NotReady:         `{"type":"urn:weft:problem:not-ready","title":"The run's code fails","status":409,"detail":"why"}`,
		refusal.OtherBuild:       `{"type":"urn:weft:problem:other-build","title":"Another build has to do this","status":409,"detail":"why"}`,
		refusal.ActivityEnded:    `{"type":"urn:weft:problem:activity-ended","title":"The attempt at the activity has ended","status":409,"detail":"why"}`,
		refusal.Paused:           `{"type":"urn:weft:problem:paused","title":"The run is paused","status":409,"detail":"why"}`,
		refusal.NothingToDo:      `{"type":"urn:weft:problem:nothing-to-do","title":"There is nothing to do","status":409,"detail":"why"}`,
		refusal.UpdateLimit:      `{"type":"urn:weft:problem:update-limit","title":"The run has accepted as many updates as it may","status":409,"detail":"why"}`,
		refusal.TooLarge:         `{"type":"urn:weft:problem:too-large","title":"Too large","status":413,"detail":"why"}`,
		refusal.QueryFailed:      `{"type":"urn:weft:problem:query-failed","title":"The query's handler returned an error","status":422,"detail":"why"}`,
		refusal.UpdatesInFlight:  `{"type":"urn:weft:problem:updates-in-flight","title":"Too many updates of this run are in flight","status":429,"detail":"why"}`,
		refusal.Busy:             `{"type":"urn:weft:problem:busy","title":"Busy","status":503,"detail":"why"}`,
		refusal.OutcomeUnknown:   `{"type":"urn:weft:problem:outcome-unknown","title":"The outcome is not known","status":503,"detail":"why"}`,
		refusal.NotServing:       `{"type":"urn:weft:problem:not-serving","title":"The server takes no writes","status":503,"detail":"why"}`,
		refusal.Internal:         `{"type":"urn:weft:problem:internal","title":"Internal error","status":500,"detail":"why"}`,
	} {
		refused := kind.New("%s", "why")
		p := problem.Of(refused)
		if got, err := json.Marshal(p); err != nil || string(got) != want {
			t.Errorf("%s: %v\n got %s\nwant %s", kind, err, got, want)
		}
		if p.Error() != refused.Error() || !errors.Is(p, kind) || !errors.Is(refused, kind) {
			t.Errorf("%s: %q and %q are not of its kind, or say different things", kind, p, refused)
		}
		if again := p.Status == 503 || p.Status == 429; again != (p.RetryAfter == time.Second) || !again && p.RetryAfter != 0 {
			t.Errorf("%s: status %d, to be sent again after %v", kind, p.Status, p.RetryAfter)
		}
	}
}

// The failure of the code that a request ran is part of the document, and of the error.
func TestOfFailure(t *testing.T) {
	t.Parallel()
	refused := refusal.NotReady.New("why").With(&failure.Failure{Kind: failure.KindApplication, Type: "Bad", Message: "it is bad"})
	p := problem.Of(refused)
	const want = `{"type":"urn:weft:problem:not-ready","title":"The run's code fails","status":409,"detail":"why",` +
		`"failure":{"kind":"application","type":"Bad","message":"it is bad"}}`
	if got, err := json.Marshal(p); err != nil || string(got) != want {
		t.Errorf("%v\n got %s\nwant %s", err, got, want)
	}
	for _, err := range []error{p, refused} {
		if !errors.Is(err, failure.NewForProgram("Bad", "")) || errors.Is(err, refusal.Busy) {
			t.Errorf("%v wraps %v", err, errors.Unwrap(err))
		}
	}
}
