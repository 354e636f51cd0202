package edge

import (
	"context"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Pause pauses a run.
func (s Service) Pause(ctx context.Context, workflowID string, runID history.RunID, r schema.PauseRequest) (*schema.PauseResponse, error) {
	c, err := s.Service.Process.Parser().Pause(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Steering.Pause)
}

// Resume resumes a run.
func (s Service) Resume(ctx context.Context, workflowID string, runID history.RunID, r schema.PauseRequest) (*schema.PauseResponse, error) {
	c, err := s.Service.Process.Parser().Resume(workflowID, runID, &r)
	return ask(ctx, c, err, s.Service.Steering.Resume)
}
