package command

import (
	"strconv"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Activity is the activity of a run that a request is for.
type Activity struct {
	Target
	event int64
}

// Event returns the id of the event that scheduled the activity. It is positive.
func (a Activity) Event() int64 { return a.event }

// Activity parses the path of a request for an activity.
func (p *Parser) Activity(workflowID string, runID history.RunID, eventID string) (Activity, error) {
	t, err := p.Target(workflowID, runID)
	if err != nil {
		return Activity{}, err
	}
	event, err := strconv.ParseInt(eventID, 10, 64)
	if err != nil || event < 1 {
		return Activity{}, refusal.Invalid.New("%q is not the id of an event: give the eventId of a pending activity, which the run's description has", eventID)
	}
	return Activity{t, event}, nil
}

// ByHand ends an activity with what an operator says: a result, or a failure. The request names the
// run. If it were sent again after the run had continued as new, it would otherwise end an activity
// of the next run.
type ByHand struct {
	Activity
	result  history.Payload
	failure *failure.Failure
	reason  string
}

// Result returns the result.
func (b *ByHand) Result() history.Payload { return b.result }

// Failure returns how the activity fails; nil if it succeeds.
func (b *ByHand) Failure() *failure.Failure { return b.failure }

// Reason returns the reason. It is not empty.
func (b *ByHand) Reason() string { return b.reason }

// noReason is the reason in the history if the request has none.
const noReason = "no reason was given"

// CompleteByHand parses the request that ends an activity with a result.
func (p *Parser) CompleteByHand(workflowID string, runID history.RunID, eventID string, r *schema.CompleteByHandRequest) (*ByHand, error) {
	b, err := p.byHand(workflowID, runID, eventID, r.Reason)
	if err != nil {
		return nil, err
	}
	b.result, err = p.payload(r.Result)
	return orNone(b, err)
}

// FailByHand parses the request that ends an activity with an error.
func (p *Parser) FailByHand(workflowID string, runID history.RunID, eventID string, r *schema.FailByHandRequest) (*ByHand, error) {
	b, err := p.byHand(workflowID, runID, eventID, r.Reason)
	if err != nil {
		return nil, err
	}
	if err := checkError(r.Type, r.Message, r.Details); err != nil {
		return nil, err
	}
	b.failure = &failure.Failure{Kind: failure.KindApplication, Type: r.Type, Message: r.Message, NonRetryable: true, Details: r.Details}
	return b, nil
}

func (p *Parser) byHand(workflowID string, runID history.RunID, eventID, reason string) (*ByHand, error) {
	a, err := p.Activity(workflowID, runID, eventID)
	if err == nil {
		err = CheckReceiver(workflowID)
	}
	if err != nil {
		return nil, err
	}
	if runID == "" {
		return nil, refusal.Invalid.New("the runId is missing: say which run has the activity")
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	if reason == "" {
		reason = noReason
	}
	return &ByHand{Activity: a, reason: reason}, nil
}
