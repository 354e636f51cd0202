package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
)

// SendTogether sends a result as a handler does.
func (s *Service) SendTogether(ctx context.Context, m engine.Message) error {
	return s.outbox.SendResult(ctx, m)
}

// HungRetry is the longest delay between two looks at a run whose code hangs.
const HungRetry = hungRetry

// Watched is how many workflows somebody watches.
func (s *Service) Watched() int {
	return s.watchers.Len()
}

// KeptCommits returns how many commits of a workflow's latest run the process keeps, and how many the run has.
func (s *Service) KeptCommits(workflowID string) (kept, all int) {
	e := s.cache.take(workflowID)
	if e == nil {
		return 0, 0
	}
	defer s.cache.put(e)
	for _, c := range e.known.Run.Log {
		kept += oneIf(c != nil)
	}
	return kept, len(e.known.Run.Log)
}
