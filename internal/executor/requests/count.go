package requests

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// countGroups is how many groups an answer has at most.
const countGroups = 1000

// Count counts the runs that a filter selects, by a group if there is one. It ends after some time,
// with a token for the rest. It refuses a filter with names that no run has.
func (s *Lists) Count(ctx context.Context, l *command.List, group *filter.Grouping) (*schema.CountResponse, error) {
	answer, by := &schema.CountResponse{}, map[string]int{}
	next, err := eachRun(ctx, s.Process, l, group, func(row *store.Summary, retries *filter.Retries) {
		answer.Count++
		if group == nil {
			return
		}
		value := group.Of(row, retries)
		if _, ok := by[value]; !ok && len(by) == countGroups {
			answer.Others++
			return
		}
		by[value]++
	})
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

// eachRun calls fn with the runs of a sum, and returns the place of the rest. It refuses a filter
// with names that no run has.
func eachRun(ctx context.Context, s *session.Process, l *command.List, group *filter.Grouping, fn func(*store.Summary, *filter.Retries)) (next string, err error) {
	look := l.Filter().Look()
	if next, err = walk(ctx, s, l, look, group, fn); err == nil && l.ChecksNames() {
		err = checkNames(ctx, s, look, next != "")
	}
	return next, err
}

// walk calls fn with the runs of a count, as session.WalkRuns does. It reads their retries if the
// filter or the group needs them.
func walk(ctx context.Context, s *session.Process, l *command.List, look *filter.Look, group *filter.Grouping, fn func(*store.Summary, *filter.Retries)) (next string, err error) {
	if !l.Filter().NeedsRetries() && (group == nil || !group.NeedsRetries()) {
		return session.WalkRuns(ctx, s, look.Store(), l, func(row *store.Summary) { fn(row, nil) })
	}
	end := s.World.Now().Add(retriesFor)
	for next = l.Place(); ; {
		runs, retries, more, err := selectRetries(ctx, s, l.Filter(), look.Candidates(), next, l.Limit())
		if err != nil {
			return "", err
		}
		for i := range runs {
			fn(&runs[i], retries[i])
		}
		if next = more; next == "" || !s.World.Now().Before(end) {
			return next, nil
		}
	}
}
