package command

import (
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Pause pauses or resumes a run.
type Pause struct {
	Target
	requestID, reason string
}

// RequestID returns the id of the request.
func (p Pause) RequestID() string { return p.requestID }

// Reason returns the reason.
func (p Pause) Reason() string { return p.reason }

// Pause parses the request that pauses a run.
func (p *Parser) Pause(workflowID string, runID history.RunID, r *schema.PauseRequest) (Pause, error) {
	t, err := p.receiver(workflowID, runID)
	if err != nil {
		return Pause{}, err
	}
	return p.pause(t, r)
}

// Resume parses the request that resumes a run.
func (p *Parser) Resume(workflowID string, runID history.RunID, r *schema.PauseRequest) (Pause, error) {
	t, err := p.Target(workflowID, runID)
	if err != nil {
		return Pause{}, err
	}
	return p.pause(t, r)
}

func (p *Parser) pause(t Target, r *schema.PauseRequest) (Pause, error) {
	if err := checkReason(r.Reason); err != nil {
		return Pause{}, err
	}
	id, err := p.requestID(r.RequestID)
	return orNone(Pause{t, id, r.Reason}, err)
}
