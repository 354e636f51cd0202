package runlog

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// Options are the settings of a Reader.
type Options struct {
	// SoftLimit is how long a read is repeated that sees a part of a transaction.
	SoftLimit time.Duration
	// LogBytes is the size, in stored bytes, of the longest log that memory keeps as a whole.
	LogBytes int
	// Logger gets what operators should know.
	Logger *slog.Logger
}

// Reader reads logs. It is safe for concurrent use.
type Reader struct {
	log     store.Log
	host    host.Host
	options Options
}

// NewReader returns a reader of the logs in a store.
func NewReader(log store.Log, h host.Host, o Options) *Reader { return &Reader{log, h, o} }

func (r *Reader) now() history.Timestamp { return history.At(r.host.Now()) }

// LastCommit reads the last commit of a run before the latest, or nil if nothing of the run is
// there, or a void commit is. While the put that closes the run appears in parts, it may miss that
// commit.
func (r *Reader) LastCommit(ctx context.Context, workflowID string, id history.RunID) (*history.Commit, error) {
	page, err := r.log.Backward(ctx, workflowID, store.Key{Workflow: workflowID, Run: id.Number() + 1}, store.Key{Workflow: workflowID, Run: id.Number()}, 1)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	if len(page.Items) == 0 || page.Items[0].Run != id.Number() {
		return nil, nil
	}
	last, err := history.Decode(page.Items[0].Slot, page.Items[0].Body)
	if err != nil || isVoid(last) {
		return nil, err
	}
	return last, nil
}

// FirstCommit reads the first commit of a run that is not the latest, or nil if there is none.
func (r *Reader) FirstCommit(ctx context.Context, workflowID string, number uint32) (first *history.Commit, err error) {
	err = r.whole(ctx, func() (err error) {
		first, err = r.firstCommitOnce(ctx, workflowID, number)
		return err
	})
	return first, err
}

// FirstCommitOf returns the first commit of a run of which part has the last commit and perhaps
// others, or nil if there is none: the run's deletion has begun. It reads it if part lacks it, as
// that of a scan does, which leaves large commits where they are.
func (r *Reader) FirstCommitOf(ctx context.Context, part []store.Item) (*history.Commit, error) {
	if first := part[0]; first.Slot == 0 {
		if c, err := history.Decode(0, first.Body); err == nil {
			return c, nil
		}
	}
	return r.FirstCommit(ctx, part[0].Workflow, part[0].Run)
}

// firstCommitOnce is one read of FirstCommit.
func (r *Reader) firstCommitOnce(ctx context.Context, workflowID string, number uint32) (*history.Commit, error) {
	page, err := r.log.Forward(ctx, store.Key{Workflow: workflowID, Run: number}, 1)
	if err != nil {
		return nil, outcome.OfRead(err)
	}
	if r.isTornRun(engine.NewRun(workflowID, number), page.Items) {
		return nil, errTorn
	}
	if len(page.Items) == 0 || page.Items[0].Slot != 0 || r.IsGone(page.Items[0]) {
		return nil, nil
	}
	return history.Decode(0, page.Items[0].Body)
}

// RunBefore reads the first commit of the run before a number, or nil if there is none. It skips
// void runs, and numbers without a run: a void run may have been deleted.
func (r *Reader) RunBefore(ctx context.Context, workflowID string, number uint32) (*history.Commit, error) {
	for number > 1 {
		first, err := r.FirstCommit(ctx, workflowID, number-1)
		if err != nil || first != nil && first.Status != history.Void {
			return first, err
		}
		// The last item before that number is of the next run that is there.
		page, err := r.log.Backward(ctx, workflowID, store.Key{Run: number - 1}, store.Key{}, 1)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		if len(page.Items) == 0 {
			return nil, nil
		}
		number = page.Items[0].Run + 1
	}
	return nil, nil
}
