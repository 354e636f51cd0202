package starts

import (
	"context"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// Event returns the event that a start opens its run with: what the request says, the caller's
// trace, and what the deployment fixes for the life of the run.
func Event(ctx context.Context, s *session.Process, c *command.Start) *history.WorkflowExecutionStarted {
	e := c.Event()
	if code := c.Code(); code != nil && code.Pinned {
		e.Build = s.Options.Build
	}
	e.TraceParent = s.Observed().TraceParent(ctx)
	e.MaxPayload, e.Retention = s.Options.Engine.Largest(), history.Duration(s.Options.Retention)
	return &e
}
