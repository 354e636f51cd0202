package turn

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// deadDelay is how long a message waits that comes back from the dead letters.
const deadDelay = 5 * time.Minute

// HandleDead sends a message again that was received too often. That may mean that nothing was ever begun: receives that no
// function got count as well. So nothing ends because of it, and whoever gets the message again finds out how far it came. An
// activity that ends its process each time is tried again for as long as its retry policy and its time-outs say, with this delay
// after each round of receives. Where HandleDead returns nil the message is to be deleted. Otherwise it is delivered again.
func (s *Service) HandleDead(ctx context.Context, m *engine.Message) error {
	ctx, ended := s.metered(ctx)
	defer ended()
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	s.Observed().Observe(ctx, &observe.DeadLetter{WorkflowID: m.WorkflowID, RunID: m.RunID, Kind: m.Kind.String()})
	s.options.Logger.ErrorContext(ctx, "a message was received too often",
		"workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID, "attempt", m.Attempt, "firstSent", m.Sent.Time())
	if m.Kind != engine.RunActivity || m.Look == 0 {
		return s.outbox.SendLater(ctx, m, deadDelay)
	}
	found := false
	err := s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, m)
		found = err == nil && place == inLog
		if !found {
			return err
		}
		if !run.Needed(m) {
			return t.repair(ctx, run, m)
		}
		return t.replace(ctx, run, newWork(run, Delivery{Message: m}, t.now()), later(m, t.now().Add(deadDelay)))
	})
	waits := errors.Is(err, errOther) || errors.Is(err, errBegun)
	if found && !waits || err != nil && !waits {
		return err // while the attempt cannot be claimed it stays where it is: each delivery would send a copy
	}
	return s.outbox.SendLater(ctx, m, deadDelay)
}
