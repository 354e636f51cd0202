package maintenance

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/children"
	"github.com/seed-41655fb1/weft/internal/executor/notify"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Delete deletes a closed run with everything that belongs to it, as its retention would (see
// clean). The run is gone when Delete returns nil. A process that has it in memory may answer from
// that for up to an hour. Repeating the request finds nothing, or continues what a crash
// interrupted.
func (s *Maintenance) Delete(ctx context.Context, d command.Delete) error {
	workflowID, runID := d.Workflow(), d.Run()
	ctx, cancel := s.Process.World.WithTimeout(context.WithoutCancel(ctx), s.Process.Options.SoftLimit)
	defer cancel()
	last, err := lastCommit(ctx, s.Process, workflowID, runID)
	if err != nil {
		return s.Process.Problem(err)
	}
	deleted, err := clean(ctx, s.Process, []store.Item{*last})
	switch {
	case deleted:
		s.Process.Options.Logger.InfoContext(ctx, "deleted a run on request", "workflowId", workflowID, "runId", runID)
	case errors.Is(err, errAsked):
		return refusal.AlreadyOpen.New("a run goes on from run %q of workflow %q, is open, and asks it for the ids of updates and signals: delete it when that has closed", runID, workflowID)
	case errors.Is(err, children.ErrAwaited):
		return refusal.AlreadyOpen.New("the parent of run %q of workflow %q is open, and does not know yet how that ended: delete it when it does, or when the parent has closed", runID, workflowID)
	case errors.Is(err, notify.ErrNeeded):
		return refusal.AlreadyOpen.New("run %q of workflow %q delivers a notification of a run that is still there: delete that one first, or the receiver would be notified again", runID, workflowID)
	case err != nil:
		s.Process.Options.Logger.WarnContext(ctx, "a run could not be deleted whole; the same request goes on", "workflowId", workflowID, "runId", runID, "error", err)
		return s.Process.Problem(unknown(err))
	}
	return nil
}

// unknown returns the outcome of a deletion that failed with err, of which a part may be done.
func unknown(err error) error {
	cause, _ := outcome.CauseOf(err)
	return &outcome.Unknown{Cause: cmp.Or(cause, refusal.ByStore)}
}

// lastCommit returns the last commit of a run that may be deleted. It refuses a run that has closed
// only recently: another process may know that run as open, and would find a taken slot empty.
func lastCommit(ctx context.Context, s *session.Process, workflowID string, runID history.RunID) (*store.Item, error) {
	number := runID.Number()
	page, err := s.Log.Backward(ctx, workflowID, store.Key{Run: number + 1}, store.Key{Run: number}, 1)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	gone := refusal.NotFound.New("run %q of workflow %q is not there", runID, workflowID)
	if len(page.Items) == 0 || s.Logs.IsGone(page.Items[0]) {
		return nil, gone
	}
	c, err := history.Decode(page.Items[0].Slot, page.Items[0].Body)
	if err != nil {
		return nil, err
	}
	ready := c.Time.Add(2 * runlog.MaxAge)
	switch {
	case c.RunID != runID || c.Status == history.Void:
		return nil, gone
	case !c.Status.Closed():
		return nil, refusal.AlreadyOpen.New("run %q of workflow %q is open: terminate it, or wait until it has closed", runID, workflowID)
	case s.Timestamp() < ready:
		return nil, refusal.ClosedRecently.New("run %q of workflow %q has closed only now: it can be deleted from %s on", runID, workflowID, ready.Time().Format(time.RFC3339))
	}
	return &page.Items[0], nil
}
