package requests

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// countGroups is how many groups an answer has at most.
const countGroups = 1000

// Count counts the runs that a filter selects, by a group if there is one. It ends after some time,
// with a token for the rest. It refuses a filter with names that no run has.
func (s *Lists) Count(ctx context.Context, l *command.List, group func(*store.Summary) string) (*schema.CountResponse, error) {
	look, answer, by := l.Filter().Look(), &schema.CountResponse{}, map[string]int{}
	next, err := session.WalkRuns(ctx, s.Process, look.Store(), l, func(row *store.Summary) {
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
