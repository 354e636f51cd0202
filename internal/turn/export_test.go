package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// SendTogether sends a result as a handler does.
func (s *Service) SendTogether(ctx context.Context, m engine.Message) error {
	return s.sendTogether(ctx, m)
}

// HungRetry is the longest delay between two looks at a run whose code hangs.
const HungRetry = hungRetry

// Watched is how many workflows somebody watches.
func (s *Service) Watched() int {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	return len(s.watchers.channels)
}
