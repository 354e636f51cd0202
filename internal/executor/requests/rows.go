package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/store"
)

// Rows returns at most limit rows of the list that a filter selects, from a place on, and the place
// of the rest; an empty one is the end. Unlike List it checks no names. If the filter needs
// retries, it looks at no more than limit candidates.
func (s *Lists) Rows(ctx context.Context, f *filter.Filter, place string, limit int) (rows []store.Summary, next string, err error) {
	if s.Process.Lister == nil {
		return nil, "", refusal.NotFound.New("this deployment keeps no list of workflows")
	}
	if f.NeedsRetries() {
		rows, _, next, err = selectRetries(ctx, s.Process, f, f.Candidates(), place, limit)
		return rows, next, err
	}
	return session.ReadRuns(ctx, s.Process, f.Store(), place, limit)
}

// CheckNames refuses a list whose filter has names that no run has. It reads a page of the list if
// the filter has names of search attributes, and nothing otherwise.
func (s *Lists) CheckNames(ctx context.Context, l *command.List) error {
	look := l.Filter().Look()
	if !look.Missing() {
		return nil
	}
	if _, _, err := session.ReadRuns(ctx, s.Process, look.Store(), l.Place(), l.Limit()); err != nil {
		return err
	}
	return checkNames(ctx, s.Process, look, true)
}
