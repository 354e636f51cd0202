package command

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// The tasks to reset to that have names, and what may be left out.
const (
	firstTask = "firstTask"
	lastTask  = "lastTask"

	excludeUpdates = "updates"
	excludeSignals = "signals"
)

// Reset opens a run that continues from an earlier task. Exactly one of an event, the last task,
// the first task and a build names the task.
type Reset struct {
	Target
	requestID, reason              string
	event                          int64
	last                           bool
	build                          string
	withoutUpdates, withoutSignals bool
}

// RequestID returns the id of the request.
func (r *Reset) RequestID() string { return r.requestID }

// Reason returns the reason.
func (r *Reset) Reason() string { return r.reason }

// Event returns the id of an event of the task; 0 if something else names the task.
func (r *Reset) Event() int64 { return r.event }

// Last reports whether the task is the last one.
func (r *Reset) Last() bool { return r.last }

// Build returns the build that ran the task first; empty if something else names the task.
func (r *Reset) Build() string { return r.build }

// WithoutUpdates reports whether the updates after the task are left out.
func (r *Reset) WithoutUpdates() bool { return r.withoutUpdates }

// WithoutSignals reports whether the signals after the task are left out.
func (r *Reset) WithoutSignals() bool { return r.withoutSignals }

// Reset parses a reset.
func (p *Parser) Reset(workflowID string, runID history.RunID, r *schema.ResetRequest) (*Reset, error) {
	t, err := p.Target(workflowID, runID)
	if err == nil && !IsDelivery(workflowID) { // one that was given up is delivered again
		err = CheckReceiver(workflowID)
	}
	if err != nil {
		return nil, err
	}
	if err := checkReason(r.Reason); err != nil {
		return nil, err
	}
	requestID, err := p.requestID(r.RequestID)
	if err != nil {
		return nil, err
	}
	if err := checkReset(r); err != nil {
		return nil, err
	}
	return &Reset{
		Target: t, requestID: requestID, reason: r.Reason, event: r.EventID, last: r.To == lastTask, build: r.Build,
		withoutUpdates: slices.Contains(r.Exclude, excludeUpdates), withoutSignals: slices.Contains(r.Exclude, excludeSignals),
	}, nil
}

func checkReset(r *schema.ResetRequest) error {
	given := 0
	for _, is := range []bool{r.EventID != 0, r.To != "", r.Build != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return refusal.Invalid.New("say what to reset to: give one of eventId, to, and build")
	}
	if r.To != "" && r.To != firstTask && r.To != lastTask {
		return refusal.Invalid.New("there is no task %q to reset to: give %s or %s", r.To, firstTask, lastTask)
	}
	for _, what := range r.Exclude {
		if what != excludeUpdates && what != excludeSignals {
			return refusal.Invalid.New("a reset cannot exclude %q: give %s or %s", what, excludeUpdates, excludeSignals)
		}
	}
	return nil
}

// Move moves a run to another build.
type Move struct {
	Target
	build string
	unpin bool
}

// Build returns the build that the request names; empty is the build that receives the request.
func (m Move) Build() string { return m.build }

// Unpin reports whether the newest build is to run it from then on.
func (m Move) Unpin() bool { return m.unpin }

// Move parses a move.
func (p *Parser) Move(workflowID string, runID history.RunID, r *schema.MoveRequest) (Move, error) {
	t, err := p.Target(workflowID, runID)
	if err == nil && r.Build != "" && r.Unpin {
		err = refusal.Invalid.New("a move to build %q cannot unpin the run: give either", r.Build)
	}
	if err == nil && !r.Unpin {
		err = CheckReceiver(workflowID)
	}
	return orNone(Move{t, r.Build, r.Unpin}, err)
}
