package children

import (
	"context"
	"errors"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// ErrAwaited is a closed run that is kept although it might be deleted: its parent is open, and does not know yet how it ended.
var ErrAwaited = errors.New("turn: the parent of this run waits for its outcome")

// IsAwaited reports whether an open run waits for the outcome of a closed one, of which part has the last commit and perhaps others. The
// message that reports the outcome may be late or lost, if Weft was off for longer than the retention. Without the closed run, the parent
// would start its child again.
//
// It reads nothing for a run without a parent, if part has the first commit. For a child it reads the last commit of the parent's workflow,
// and what is not known of the parent if that is open.
func IsAwaited(ctx context.Context, s *session.Process, part []store.Item) (bool, error) {
	first, end := part[0], part[len(part)-1]
	last, err := history.Decode(end.Slot, end.Body)
	if err != nil || last.NextRun() != "" { // the run that follows has the outcome
		return false, err
	}
	c, err := history.Decode(0, first.Body)
	if first.Slot != 0 || err != nil { // a scan leaves large commits where they are
		page, err := s.Log.Forward(ctx, store.Key{Workflow: end.Workflow, Run: end.Run}, 1)
		if err != nil {
			return false, outcome.OfRead(err)
		}
		if len(page.Items) == 0 || page.Items[0].Slot != 0 {
			return false, nil // its deletion has begun
		}
		if c, err = history.Decode(0, page.Items[0].Body); err != nil {
			return false, err
		}
	}
	started := c.Opens()
	if started == nil || started.Parent == nil {
		return false, nil
	}
	return waitsFor(ctx, s, started)
}

// waitsFor reports whether the parent of a child is open and waits for its outcome.
func waitsFor(ctx context.Context, s *session.Process, child *history.WorkflowExecutionStarted) (waits bool, err error) {
	parent := child.Parent
	page, err := s.Log.Backward(ctx, parent.WorkflowID, store.Key{}, store.Key{}, 1)
	if err != nil {
		return false, outcome.OfRead(err)
	}
	if len(page.Items) == 0 {
		return false, nil
	}
	latest, err := history.Decode(page.Items[0].Slot, page.Items[0].Body)
	if err != nil || latest.Status.Closed() && latest.Status != history.Void && latest.OpenedWith() == "" {
		return false, err
	}
	err = s.At(ctx, parent.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		waits = addressedTo(t, parent, child.RequestID, &engine.Message{}) != nil
		return nil
	})
	return waits, err
}
