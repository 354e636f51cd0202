package starts

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// LookForSignal reads whether a signal has arrived at a run, or at the one that it continues.
func LookForSignal(ctx context.Context, t *session.Session, run *engine.Run, requestID string) (bool, error) {
	if run.State.Signaled(requestID) {
		return true, nil
	}
	before, err := t.View.Before(ctx, run)
	return before != nil && before.State.Signaled(requestID), err
}
