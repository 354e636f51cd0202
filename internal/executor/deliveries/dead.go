package deliveries

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// deadDelay is the delay of a message that returns from the dead letters.
const deadDelay = 5 * time.Minute

// HandleDead sends a message again that was received too often. That may mean that no handler ever
// began, because receives that reached no function count too. So nothing ends because of it, and
// the next handler finds out what was done. An activity that ends its process each time is retried
// for as long as its retry policy and its timeouts allow, with this delay after each round of
// receives. If HandleDead returns nil, the message may be deleted. Otherwise it is redelivered.
func (s *Deliveries) HandleDead(ctx context.Context, m *engine.Message) error {
	ctx, ended := s.Process.Metered(ctx)
	defer ended()
	ctx, cancel := s.Process.World.WithTimeout(ctx, s.Process.Options.SoftLimit)
	defer cancel()
	s.Process.Observed().Observe(ctx, &observe.DeadLetter{WorkflowID: m.WorkflowID, RunID: m.RunID, Kind: m.Kind.String()})
	s.Process.Options.Logger.ErrorContext(ctx, "a message was received too often",
		"workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID, "attempt", m.Attempt, "firstSent", m.Sent.Time())
	if m.Kind != engine.RunActivity || m.Look == 0 {
		return s.Process.Outbox.SendLater(ctx, m, deadDelay)
	}
	found := false
	err := s.Process.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		found = err == nil && place == inbox.InLog
		if !found {
			return err
		}
		if !run.Needed(m) {
			return inbox.Repair(ctx, t, run, m)
		}
		return activities.Replace(ctx, t, run, activities.NewAttempt(run, inbox.Delivery{Message: m}, t.Process.Timestamp()), activities.Later(m, t.Process.Timestamp().Add(deadDelay)))
	})
	if errors.Is(err, outcome.ErrDropped) {
		return activities.Dropped(context.WithoutCancel(ctx), s.Process, m)
	}
	waits := errors.Is(err, activities.ErrOther) || errors.Is(err, activities.ErrBegun)
	if found && !waits || err != nil && !waits {
		return err // without a claim the message stays: otherwise each delivery would send a copy
	}
	return s.Process.Outbox.SendLater(ctx, m, deadDelay)
}
