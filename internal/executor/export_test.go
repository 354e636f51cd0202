package executor

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// SendTogether sends a result as a handler does.
func (s *Service) SendTogether(ctx context.Context, m engine.Message) error {
	return s.Outbox.SendResult(ctx, m)
}

// Watched returns how many workflows are watched.
func (s *Service) Watched() int {
	return s.Watchers.Len()
}
