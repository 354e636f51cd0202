package deliveries

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// Sweep sends the messages of the store of timers that are due soon, and returns how many: see
// outbox.Outbox.Sweep.
func (s *Deliveries) Sweep(ctx context.Context) (sent int, err error) {
	ctx, ended := s.Process.Metered(ctx)
	defer ended()
	return s.Process.Outbox.Sweep(ctx)
}

// Park keeps a message for some minutes if its build is not deployed: see outbox.Outbox.Park.
func (s *Deliveries) Park(ctx context.Context, m *engine.Message) error {
	return s.Process.Outbox.Park(ctx, m)
}

// Postpone sends a message again if it has not reached its run's build: see outbox.Outbox.Postpone.
func (s *Deliveries) Postpone(ctx context.Context, m *engine.Message) error {
	return s.Process.Outbox.Postpone(ctx, m)
}
