package command

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// EndActivity ends an attempt at an activity from outside: with a result, or with a failure.
type EndActivity struct {
	token   string
	result  history.Payload
	failure *failure.Failure
}

// Token returns the token that names the attempt. It is not empty. The parser does not check
// whether this deployment signed it.
func (e *EndActivity) Token() string { return e.token }

// Result returns the result.
func (e *EndActivity) Result() history.Payload { return e.result }

// Failure returns how the attempt failed; nil if it succeeded.
func (e *EndActivity) Failure() *failure.Failure { return e.failure }

// CompleteActivity parses the success of an attempt.
func (p *Parser) CompleteActivity(r *schema.CompleteActivityRequest) (*EndActivity, error) {
	result, err := p.payload(r.Result)
	if err == nil {
		err = checkToken(r.Token)
	}
	return orNone(&EndActivity{token: r.Token, result: result}, err)
}

// maxErrorText bounds the type and message of an error from outside, in bytes, together, so that
// package failure does not cut them.
const maxErrorText = 20 << 10

// FailActivity parses the failure of an attempt.
func (p *Parser) FailActivity(r *schema.FailActivityRequest) (*EndActivity, error) {
	if err := checkError(r.Type, r.Message, r.Details); err != nil {
		return nil, err
	}
	f := &failure.Failure{Kind: failure.KindApplication, Type: r.Type, Message: r.Message, NonRetryable: r.NonRetryable, Details: r.Details}
	return orNone(&EndActivity{token: r.Token, failure: f}, checkToken(r.Token))
}

// checkError refuses an error from outside that is too large to be recorded.
func checkError(typ, message string, details []byte) error {
	switch {
	case len(message)+len(typ) > maxErrorText:
		return refusal.TooLarge.New("type and message have %d bytes: give at most %d", len(message)+len(typ), maxErrorText)
	case len(details) > failure.MaxDetails:
		return refusal.TooLarge.New("the details of the error have %d bytes: give at most %d", len(details), failure.MaxDetails)
	}
	return nil
}

// Heartbeat reports that an attempt at an activity is alive.
type Heartbeat struct {
	token   string
	details []byte
}

// Token returns the token that names the attempt. It is not empty.
func (h *Heartbeat) Token() string { return h.token }

// Details returns what the next attempt gets if this one fails.
func (h *Heartbeat) Details() []byte { return h.details }

// MaxDetails is the most bytes that the details of a heartbeat may have.
const MaxDetails = 16 << 10

// Heartbeat parses a heartbeat.
func (p *Parser) Heartbeat(r *schema.HeartbeatActivityRequest) (*Heartbeat, error) {
	if len(r.Details) > MaxDetails {
		return nil, refusal.TooLarge.New("the details of a heartbeat have %d bytes: give at most %d", len(r.Details), MaxDetails)
	}
	return orNone(&Heartbeat{r.Token, r.Details}, checkToken(r.Token))
}

func checkToken(token string) error {
	if token == "" {
		return refusal.Invalid.New("there is no token: give the one that the activity got from activity.Token")
	}
	return nil
}
