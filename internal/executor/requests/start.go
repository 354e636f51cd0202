package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Start starts a run, or returns the one that an earlier attempt at the same request started. The
// run is in the log when Start returns nil.
func (s *Requests) Start(ctx context.Context, c *command.Start) (*schema.StartResponse, error) {
	return startWatching(ctx, s.Process, c, nil)
}

// FindStart returns the run that an earlier sending of a start opened, or "" if there is none. It
// writes nothing.
func (s *Requests) FindStart(ctx context.Context, c *command.Start) (id history.RunID, err error) {
	err = s.Process.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) (err error) {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		if latest := t.Run(); latest != nil {
			id, err = starts.LookForStart(ctx, t, latest, c)
		}
		return err
	})
	return id, err
}

// startWatching is Start. It watches the run from its start on, if it starts one that does not
// close at once and watched is not nil.
func startWatching(ctx context.Context, s *session.Process, c *command.Start, watched *lock.Watch) (*schema.StartResponse, error) {
	started := starts.Event(ctx, s, c)
	answer := &schema.StartResponse{WorkflowID: c.Workflow()}
	err := s.Request(ctx, c.Workflow(), func(ctx context.Context, t *session.Session) error {
		err := start(ctx, t, c, started, answer)
		if run := t.Run(); err == nil && answer.Started && run != nil && run.State.RunID == answer.RunID && !run.State.Status.Closed() {
			t.Watched = watched
		}
		return err
	})
	return answer, err
}

// start opens the next run of the workflow. A start takes the highest number that is physically
// there, plus one: it has to read first. Only an id that was made for this request can have no
// runs.
func start(ctx context.Context, t *session.Session, c *command.Start, started *history.WorkflowExecutionStarted, answer *schema.StartResponse) error {
	if !c.Made() && !t.View.Fresh {
		if err := t.View.Refresh(ctx); err != nil {
			return err
		}
	}
	replaced, err := starts.CheckConflict(ctx, t, c, answer)
	if err != nil {
		return err
	}
	if latest := t.Run(); answer.RunID != "" {
		if latest.State.RunID != answer.RunID || latest.State.Status.Closed() {
			return nil
		}
		return starts.Subscribe(ctx, t, latest, c)
	}
	_, _, err = commit.Open(ctx, t, replaced, answer, engine.Task{InputEvents: starts.OpeningEvents(started, c)})
	return err
}
