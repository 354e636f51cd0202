package main

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/store/dynamo"
)

// derived returns what the logs in the table say that all their runs have cost. Descriptions of
// runs say the same. It returns nothing if only the functions can read payloads, or if nobody can.
func (d *deployment) derived(ctx context.Context) (sum price.Cost, err error) {
	if d.encrypted || d.offloaded || d.filled {
		return sum, nil
	}
	table, err := dynamo.New(d.tables, dynamo.Options{Table: d.name})
	if err != nil {
		return sum, err
	}
	const page = 1000
	var items []store.Item
	for token := ""; ; {
		some, next, err := table.Scan(ctx, token, page)
		if err != nil {
			return sum, err
		}
		if items, token = append(items, some...), next; next == "" {
			break
		}
	}
	slices.SortFunc(items, func(a, b store.Item) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Run, b.Run), cmp.Compare(a.Slot, b.Slot))
	})
	for _, of := range byRun(items) {
		run := engine.NewRun(of[0].Workflow, of[0].Run)
		for _, item := range of {
			c, err := history.Decode(item.Slot, item.Body)
			if err != nil {
				return sum, err
			}
			if err := run.Append(c, len(item.Body)); err != nil {
				return sum, err
			}
		}
		sum = sum.Plus(price.Of(&run.State.Counts, d.list))
	}
	return sum, nil
}

// byRun returns sorted items as one slice for each run.
func byRun(items []store.Item) (runs [][]store.Item) {
	for i, item := range items {
		if i == 0 || item.Workflow != items[i-1].Workflow || item.Run != items[i-1].Run {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], item)
	}
	return runs
}
