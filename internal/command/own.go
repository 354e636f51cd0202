package command

import (
	"strings"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/notify/stored"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// isProbe reports whether a workflow is the probe.
func isProbe(workflowID string) bool { return strings.HasPrefix(workflowID, history.ProbeWorkflow+":") }

// IsDelivery reports whether a workflow delivers a notification.
func IsDelivery(workflowID string) bool { return strings.HasPrefix(workflowID, stored.IDPrefix) }

// CheckReceiver refuses what callers may not send to the probe and to the workflows that deliver
// notifications: updates, signals, pauses and results by hand. A probe that takes the updates of
// callers does not fail when the deployment does, and one that is paused fails without end. A
// delivery that is paused never fails.
//
// Batches and schedules take all of this: see their routes.
func CheckReceiver(workflowID string) error {
	if isProbe(workflowID) || IsDelivery(workflowID) {
		return refusal.Invalid.New("workflow %q is one of Weft's own: only Weft sends it updates and signals, and nobody pauses, pins or resets it, or ends its activities by hand; resume, cancel or terminate it", workflowID)
	}
	return nil
}

// receiver is Target for a request that CheckReceiver may refuse.
func (p *Parser) receiver(workflowID string, runID history.RunID) (Target, error) {
	t, err := p.Target(workflowID, runID)
	if err == nil {
		err = CheckReceiver(workflowID)
	}
	return orNone(t, err)
}
