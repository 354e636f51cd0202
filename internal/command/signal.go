package command

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Signal sends a signal to a run, or to one that it starts.
type Signal struct {
	Target
	event history.WorkflowExecutionSignaled
	start *Start
}

// Event returns the event that records the signal.
func (s *Signal) Event() history.WorkflowExecutionSignaled { return s.event }

// Start returns the start of a run for the signal if none is open; if it is nil, the signal is
// refused then.
func (s *Signal) Start() *Start { return s.start }

// Signal parses a signal.
func (p *Parser) Signal(workflowID string, runID history.RunID, name string, r *schema.SignalRequest) (*Signal, error) {
	t, err := p.receiver(workflowID, runID)
	if err != nil {
		return nil, err
	}
	if err := engine.CheckName("signal's name", name); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	requestID, err := p.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	input, err := p.payload(r.Input)
	if err != nil {
		return nil, err
	}
	s := &Signal{Target: t, event: history.WorkflowExecutionSignaled{SignalName: name, Input: input, RequestID: requestID}}
	if r.Start == nil {
		return s, nil
	}
	if ConflictPolicy(r.Start.IDConflictPolicy) == ConflictFail {
		return nil, refusal.Invalid.New("a signal with a start goes to the run that is open: give the idConflictPolicy %s or %s, or none", string(UseExisting), string(TerminateExisting))
	}
	if s.start, err = p.withStart(t, r.Start, r.RequestID); err != nil {
		return nil, err
	}
	return s, nil
}

// End cancels or terminates a run.
type End struct {
	Target
	reason string
}

// Reason returns the reason.
func (e End) Reason() string { return e.reason }

// End parses a cancellation or a termination.
func (p *Parser) End(workflowID string, runID history.RunID, reason string) (End, error) {
	t, err := p.Target(workflowID, runID)
	if err == nil {
		err = checkReason(reason)
	}
	return orNone(End{t, reason}, err)
}

// Query asks a query of a run.
type Query struct {
	Target
	name  string
	input history.Payload
}

// Name returns the name of the query.
func (q *Query) Name() string { return q.name }

// Input returns its input.
func (q *Query) Input() history.Payload { return q.input }

// Query parses a query.
func (p *Parser) Query(workflowID string, runID history.RunID, name string, r *schema.QueryRequest) (*Query, error) {
	if err := engine.CheckName("query's name", name); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	input, err := p.payload(r.Input)
	if err != nil {
		return nil, err
	}
	t, err := p.Target(workflowID, runID)
	if err != nil {
		return nil, err
	}
	return &Query{t, name, input}, nil
}
