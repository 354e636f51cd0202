package requests

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// Costs sums up what the runs have cost that a filter selects, by a group if there is one. It ends
// after some time, with a token for the rest. It refuses a filter with names that no run has.
func (s *Lists) Costs(ctx context.Context, l *command.List, group *filter.Grouping) (*schema.CostsResponse, error) {
	all, others, by := spending{}, spending{}, map[string]*spending{}
	next, err := eachRun(ctx, s.Process, l, group, func(row *store.Summary, retries *filter.Retries) {
		spent := filter.FactsOf(row).Spent
		all.add(row, spent)
		if group == nil {
			return
		}
		value := group.Of(row, retries)
		sum := by[value]
		switch {
		case sum == nil && len(by) == countGroups:
			sum = &others
		case sum == nil:
			sum = &spending{}
			by[value] = sum
		}
		sum.add(row, spent)
	})
	if err != nil {
		return nil, err
	}
	answer := &schema.CostsResponse{CostSum: all.sum(s.Process), NextPageToken: l.Token(next)}
	for value, sum := range by {
		answer.Groups = append(answer.Groups, schema.CostGroup{Value: value, CostSum: sum.sum(s.Process)})
	}
	slices.SortFunc(answer.Groups, func(a, b schema.CostGroup) int {
		return cmp.Or(cmp.Compare(b.Cost.Dollars, a.Cost.Dollars), cmp.Compare(a.Value, b.Value))
	})
	if others != (spending{}) {
		sum := others.sum(s.Process)
		answer.Others = &sum
	}
	return answer, nil
}

// spending is what runs have cost together.
type spending struct {
	runs, open, unknown int
	cost                price.Cost
}

// add adds a run. spent is nil if it is open, or if an earlier version has closed it.
func (s *spending) add(row *store.Summary, spent *engine.Counts) {
	switch {
	case row.Closed.IsZero():
		s.open++
	case spent == nil:
		s.unknown++
	default:
		s.runs++
		s.cost = s.cost.Plus(price.Of(spent, true))
	}
}

func (s *spending) sum(p *session.Process) schema.CostSum {
	return schema.CostSum{Runs: s.runs, Open: s.open, Unknown: s.unknown, Cost: *priced(p, s.cost)}
}
