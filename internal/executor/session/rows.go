package session

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/store"
)

// walkFor is how long WalkRuns looks at runs, and walkMost how many it looks at at most. On AWS
// these are some 3,400 read units, $0.0004.
const (
	walkFor  = 5 * time.Second
	walkMost = 50_000
)

// ReadRuns reads a page of the store's list.
func ReadRuns(ctx context.Context, p *Process, f store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	runs, next, err = p.Lister.ListRuns(ctx, f, token, limit)
	if errors.Is(err, store.ErrBadToken) {
		return nil, "", command.ErrPageToken
	}
	if err != nil {
		return nil, "", p.Problem(outcome.OfRead(err))
	}
	return runs, next, nil
}

// WalkRuns calls fn with each run that a filter selects, from the place of a list on, until there
// are no more, or it has taken long, or has had many. It returns the place where it ended; empty is
// the end.
func WalkRuns(ctx context.Context, p *Process, f store.Filter, l *command.List, fn func(*store.Summary)) (next string, err error) {
	end := p.World.Now().Add(walkFor)
	for next, had := l.Place(), 0; ; {
		var page []store.Summary
		if page, next, err = ReadRuns(ctx, p, f, next, l.Limit()); err != nil {
			return "", err
		}
		for i := range page {
			fn(&page[i])
		}
		if had += len(page); next == "" || had >= walkMost || !p.World.Now().Before(end) {
			return next, nil
		}
	}
}
