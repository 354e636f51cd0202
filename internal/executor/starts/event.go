package starts

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// Event returns the event that a start opens its run with: what the request says, the caller's
// trace, and what the deployment fixes for the life of the run.
func Event(ctx context.Context, s *session.Process, c *command.Start) *history.WorkflowExecutionStarted {
	e := c.Event()
	if code := c.Code(); code != nil && code.Pinned {
		e.Build = s.Options.Build
	}
	e.TraceParent = s.Observed().TraceParent(ctx)
	e.MaxPayload, e.Retention = s.Options.Engine.Largest(), history.Duration(engine.RetentionOf(e.WorkflowType, s.Options.Retention))
	return &e
}

// OpeningEvents returns the events that a start opens its run with.
func OpeningEvents(started *history.WorkflowExecutionStarted, c *command.Start) []history.Event {
	return append([]history.Event{history.Of(started)}, c.Subscriptions()...)
}

// Subscribe adds the notifications that a start asks for to the open run that it uses. It does
// nothing if the run has them already: the start has opened the run, or is sent again.
func Subscribe(ctx context.Context, t *session.Session, run *engine.Run, c *command.Start) error {
	asked := c.Subscriptions()
	if len(asked) == 0 || run.State.SubscribedBy(c.RequestID()) {
		return nil
	}
	if len(run.State.Subscriptions)+len(asked) > engine.MaxSubscriptions {
		return refusal.Invalid.New("run %q of workflow %q has %d notifications of its end, and may have %d: leave notify out, and wait for the result", run.State.RunID, run.WorkflowID, len(run.State.Subscriptions), engine.MaxSubscriptions)
	}
	t.Code.Drop() // it has not seen the events
	return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.Subscribe(t.Writer(), asked)}}, nil)
}
