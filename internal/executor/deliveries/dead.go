package deliveries

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// deadDelay is how long a message waits that comes back from the dead letters.
const deadDelay = 5 * time.Minute

// HandleDead sends a message again that was received too often. That may mean that nothing was ever begun: receives that no
// function got count as well. So nothing ends because of it, and whoever gets the message again finds out how far it came. An
// activity that ends its process each time is tried again for as long as its retry policy and its time-outs say, with this delay
// after each round of receives. Where HandleDead returns nil the message is to be deleted. Otherwise it is delivered again.
func (s *Deliveries) HandleDead(ctx context.Context, m *engine.Message) error {
	ctx, ended := s.Metered(ctx)
	defer ended()
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	s.Observed().Observe(ctx, &observe.DeadLetter{WorkflowID: m.WorkflowID, RunID: m.RunID, Kind: m.Kind.String()})
	s.Options.Logger.ErrorContext(ctx, "a message was received too often",
		"workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID, "attempt", m.Attempt, "firstSent", m.Sent.Time())
	if m.Kind != engine.RunActivity || m.Look == 0 {
		return s.Outbox.SendLater(ctx, m, deadDelay)
	}
	found := false
	err := s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		found = err == nil && place == inbox.InLog
		if !found {
			return err
		}
		if !run.Needed(m) {
			return inbox.Repair(ctx, t, run, m)
		}
		return activities.Replace(ctx, t, run, activities.NewAttempt(run, inbox.Delivery{Message: m}, t.Timestamp()), activities.Later(m, t.Timestamp().Add(deadDelay)))
	})
	waits := errors.Is(err, activities.ErrOther) || errors.Is(err, activities.ErrBegun)
	if found && !waits || err != nil && !waits {
		return err // while the attempt cannot be claimed it stays where it is: each delivery would send a copy
	}
	return s.Outbox.SendLater(ctx, m, deadDelay)
}
