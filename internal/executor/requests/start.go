package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
)

// Start starts a run, or returns the one that an earlier attempt at the same request started. The
// run is in the log when Start returns nil.
func (s *Requests) Start(ctx context.Context, r api.StartRequest) (*api.StartResponse, error) {
	return startWatching(ctx, s.Process, r, nil)
}

// startWatching is Start. If it starts a run that does not close at once, and watched is not nil,
// it watches the run from its start on.
func startWatching(ctx context.Context, s *session.Process, r api.StartRequest, watched *lock.Watch) (*api.StartResponse, error) {
	made := r.WorkflowID == nil && r.RequestID == ""
	if r.WorkflowID == nil {
		r.WorkflowID = starts.MakeWorkflowID(s, r.RequestID)
	}
	started, err := starts.CheckStart(ctx, s, &r)
	if err != nil {
		return nil, err
	}
	answer := &api.StartResponse{WorkflowID: *r.WorkflowID}
	err = s.Request(ctx, *r.WorkflowID, func(ctx context.Context, t *session.Session) error {
		err := start(ctx, t, &r, started, made, answer)
		if run := t.Run(); err == nil && answer.Started && run != nil && run.State.RunID == answer.RunID && !run.State.Status.Closed() {
			t.Watched = watched
		}
		return err
	})
	return answer, err
}

// start opens the next run of the workflow. A start takes the highest number in the store, plus
// one, so it has to read first. Only an id that was generated for this request needs no read.
func start(ctx context.Context, t *session.Session, r *api.StartRequest, started *history.WorkflowExecutionStarted, made bool, answer *api.StartResponse) error {
	if !made && !t.View.Fresh {
		if err := t.View.Refresh(ctx); err != nil {
			return err
		}
	}
	replaced, err := starts.CheckConflict(ctx, t, r, started.RequestID, answer)
	if err != nil || answer.RunID != "" {
		return err
	}
	_, _, err = commit.Open(ctx, t, replaced, answer, engine.Task{InputEvents: []history.Event{history.Of(started)}})
	return err
}
