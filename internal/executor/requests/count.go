package requests

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

const (
	// countFor is how long a request counts runs, and countMost how many it counts at most. On AWS
	// these are some 3,400 read units, $0.0004.
	countFor  = 5 * time.Second
	countMost = 50_000
	// countGroups is how many groups an answer has at most.
	countGroups = 1000
)

// Count counts the runs that a filter selects, by a group if there is one. It ends after some time,
// with a token for the rest. It refuses a filter with names that no run has.
func (s *Lists) Count(ctx context.Context, l *command.List, group func(*store.Summary) string) (*schema.CountResponse, error) {
	look, answer, by := l.Filter().Look(), &schema.CountResponse{}, map[string]int{}
	next, err := walk(ctx, s.Process, look.Store(), l, func(row *store.Summary) {
		answer.Count++
		if group == nil {
			return
		}
		value := group(row)
		if _, ok := by[value]; !ok && len(by) == countGroups {
			answer.Others++
			return
		}
		by[value]++
	})
	if err == nil && l.ChecksNames() {
		err = checkNames(ctx, s.Process, look, next != "")
	}
	if err != nil {
		return nil, err
	}
	for value, n := range by {
		answer.Groups = append(answer.Groups, schema.CountGroup{Value: value, Count: n})
	}
	slices.SortFunc(answer.Groups, func(a, b schema.CountGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
	})
	answer.NextPageToken = l.Token(next)
	return answer, nil
}

// walk calls fn with each run that a filter selects, from the place of a list on, until there are
// no more, or it has taken long, or has had many. It returns the place where it ended; empty is the
// end.
func walk(ctx context.Context, s *session.Process, f store.Filter, l *command.List, fn func(*store.Summary)) (next string, err error) {
	end := s.World.Now().Add(countFor)
	for next, had := l.Place(), 0; ; {
		var page []store.Summary
		if page, next, err = readRuns(ctx, s, f, next, l.Limit()); err != nil {
			return "", err
		}
		for i := range page {
			fn(&page[i])
		}
		if had += len(page); next == "" || had >= countMost || !s.World.Now().Before(end) {
			return next, nil
		}
	}
}
