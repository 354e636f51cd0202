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

// ErrAwaited says that a closed run must be kept past its retention: its open parent does not know
// its outcome yet.
var ErrAwaited = errors.New("executor: the parent of this run waits for its outcome")

// LookForParent reads whether an open run waits for the outcome of a closed one. part has the
// closed run's last commit and perhaps others. If Weft was off for longer than the retention, the
// message that reports the outcome may be late or lost. Without the closed run, the parent would
// start its child again.
//
// If part has the first commit, a run without a parent costs no read. A child costs a read of the
// last commit of its parent's workflow, and of what this process does not know of an open parent.
func LookForParent(ctx context.Context, s *session.Process, part []store.Item) (bool, error) {
	end := part[len(part)-1]
	last, err := history.Decode(end.Slot, end.Body)
	if err != nil || last.NextRun() != "" { // the next run has the outcome
		return false, err
	}
	c, err := s.Logs.FirstCommitOf(ctx, part)
	if err != nil || c == nil { // without it, its deletion has begun
		return false, err
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
