package requests

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// retriesFor is how long a list or a count looks for runs by their retries, and retriesPage how
	// many runs it looks at before it looks at the clock again.
	retriesFor, retriesPage = 5 * time.Second, 100
	// retriesAtOnce is how many runs are read at once.
	retriesAtOnce = 8
	// retriesPause is the interval between two looks at a list that needs retries.
	retriesPause = 10 * time.Second
)

// listRetries returns a page of at most limit runs in the order of the store, of a filter that
// needs retries. It reads the records of each open run that may meet the filter. So it ends when
// the page is half full, or when it has taken long.
func listRetries(ctx context.Context, s *session.Process, l *command.List, look *filter.Look, limit int) (runs []store.Summary, retries []*filter.Retries, next string, err error) {
	if l.Filter().Order().ByClose() {
		return nil, nil, "", refusal.Invalid.New("ORDER BY CloseTime is not possible with Retrying and FailingActivity: runs that retry are open. Give ORDER BY StartTime")
	}
	end := s.World.Now().Add(retriesFor)
	for next = l.Place(); ; {
		some, of, more, err := selectRetries(ctx, s, l.Filter(), look.Candidates(), next, limit-len(runs))
		if err != nil {
			return nil, nil, "", err
		}
		runs, retries, next = append(runs, some...), append(retries, of...), more
		if next == "" || 2*len(runs) >= limit || !s.World.Now().Before(end) {
			return runs, retries, next, nil
		}
	}
}

// selectRetries looks at no more than limit candidates from a place on, and at no more than
// retriesPage. It returns those that a filter selects, with their retries.
func selectRetries(ctx context.Context, s *session.Process, f *filter.Filter, candidates store.Filter, place string, limit int) (runs []store.Summary, retries []*filter.Retries, next string, err error) {
	page, next, err := session.ReadRuns(ctx, s, candidates, place, min(limit, retriesPage))
	if err != nil {
		return nil, nil, "", err
	}
	all, err := retriesOf(ctx, s, page)
	if err != nil {
		return nil, nil, "", err
	}
	for i := range page {
		if f.Selects(&page[i], all[i]) {
			runs, retries = append(runs, page[i]), append(retries, all[i])
		}
	}
	return runs, retries, next, nil
}

// retriesOf returns the retries of runs.
func retriesOf(ctx context.Context, s *session.Process, rows []store.Summary) ([]*filter.Retries, error) {
	all, errs := make([]*filter.Retries, len(rows)), make([]error, len(rows))
	lanes := make([]func(), min(len(rows), retriesAtOnce))
	for lane := range lanes {
		lanes[lane] = func() {
			for i := lane; i < len(rows) && errs[lane] == nil; i += len(lanes) {
				all[i], errs[lane] = retriesOfRun(ctx, s, &rows[i])
			}
		}
	}
	s.World.Together(lanes...)
	for _, err := range errs {
		if err != nil {
			return nil, s.Problem(err)
		}
	}
	return all, nil
}

// retriesOfRun returns the retries of a run: a read of its records, and, if attempts have failed,
// one of its log, which says what is pending. It holds no lock, and keeps nothing in memory.
func retriesOfRun(ctx context.Context, s *session.Process, row *store.Summary) (*filter.Retries, error) {
	retries, id := &filter.Retries{}, history.RunID(row.RunID)
	if !filter.MayRetry(row) {
		return retries, nil
	}
	records, err := s.Attempts.Read(ctx, row.Workflow, row.Run)
	if err != nil || !records.HaveFailed(id) {
		return retries, err
	}
	err = s.Carry(ctx, s.ReadBeside(row.Workflow), s.World.Now().Add(retriesFor), func(ctx context.Context, t *session.Session) error {
		return lookAt(ctx, t, id, func(_ *session.Session, run *engine.Run) (err error) {
			retries.Activities, err = s.Attempts.Failing(run, records)
			return err
		})
	})
	switch {
	case errors.Is(err, refusal.NotFound): // it was deleted meanwhile
		return retries, nil
	case err != nil && !errors.Is(err, refusal.Busy):
		s.Options.Logger.Warn("the list leaves out what cannot be read of a run", "workflowId", row.Workflow, "runId", row.RunID, "error", err)
		return retries, nil
	}
	return retries, err
}
