package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// deadDelay is how long a message waits that comes back from the dead letters.
const deadDelay = 5 * time.Minute

// HandleDead does what is left to do for a message that was received too often. Nothing that died strands its run: an
// activity is resolved as failed, and anything else is sent again, later. Where it returns nil the message is to be
// deleted.
func (s *Service) HandleDead(ctx context.Context, m *engine.Message) error {
	ctx, ended := s.metered(ctx)
	defer ended()
	ctx, cancel := s.world.WithTimeout(ctx, s.options.SoftLimit)
	defer cancel()
	s.Observed().Observe(ctx, &observe.DeadLetter{WorkflowID: m.WorkflowID, RunID: m.RunID, Kind: m.Kind.String()})
	s.options.Logger.ErrorContext(ctx, "a message was received too often", "workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID)
	if m.Kind != engine.RunActivity {
		return s.sendAgain(ctx, m, deadDelay)
	}
	buried := false
	err := s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, m)
		buried = err == nil && place != notYet
		if err != nil || place != inLog {
			return err
		}
		if !run.Needed(m) {
			return t.repair(ctx, run, m)
		}
		w := &work{delivery: Delivery{Message: m}, activity: run.State.Activities[m.EventID], number: m.Attempt}
		f := &failure.Failure{
			Kind:    failure.KindApplication,
			Type:    "DeadLetter",
			Message: fmt.Sprintf("activity %s could not be carried out: its message was received too often without coming to an end", w.activity.ActivityType),
		}
		return t.resolve(ctx, run, w, history.Of(&history.ActivityTaskFailed{ScheduledEventID: m.EventID, Failure: f, Attempt: m.Attempt}))
	})
	if err != nil || buried {
		return err
	}
	if s.now().Sub(m.Sent) < s.options.Grace {
		return s.sendAgain(ctx, m, deadDelay)
	}
	fenced, err := s.fence(ctx, m)
	if err == nil && !fenced {
		return s.sendAgain(ctx, m, deadDelay) // what stands in the slot now decides
	}
	return err
}

// sendAgain sends a copy of a message that has been delivered before, for after a delay.
func (s *Service) sendAgain(ctx context.Context, m *engine.Message, delay time.Duration) error {
	again := *m
	again.Again = true
	return s.sendLater(ctx, &again, delay)
}
