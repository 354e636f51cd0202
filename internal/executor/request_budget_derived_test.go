package executor_test

import (
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/store"
)

// derived returns what the logs and the records of attempts say that all runs have cost.
func (b *bench) derived() (sum price.Cost) {
	b.t.Helper()
	records, seen := attempts.NewRecords(b.d.Store, host.Machine{}), map[store.Key]bool{}
	for cursor := ""; ; {
		items, next, err := b.d.Store.Scan(b.t.Context(), cursor, 1000)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, item := range items {
			key := store.Key{Workflow: item.Workflow, Run: item.Run}
			if seen[key] = true; b.logs[key] == nil {
				b.logs[key] = engine.NewRun(item.Workflow, item.Run)
			}
			if run := b.logs[key]; item.Slot == run.State.NextSlot {
				c, err := history.Decode(item.Slot, item.Body)
				if err == nil {
					err = run.Append(c, len(item.Body))
				}
				if err != nil {
					b.t.Fatal(err)
				}
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	for key := range seen {
		run := b.logs[key]
		var kept map[int64]*attempts.Record
		if len(run.State.Activities) > 0 || run.State.Streak != nil {
			var err error
			if kept, err = records.All(b.t.Context(), run); err != nil {
				b.t.Fatal(err)
			}
		}
		counts := attempts.Counts(run, kept)
		sum = sum.Plus(price.Of(&counts, true))
	}
	return sum
}

// underived has what operations cost besides what the logs say, as writes and messages.
var underived = map[string][2]int64{
	// The message that is kept comes when it is due, and the run has closed by then.
	"a timer of a day that is canceled, with the run's start": {1, 1},
	// It replaces the record of the attempt that failed, and sends a message beside the other one.
	"retry of an activity now": {1, 1},
	// The log does not say that a task queue has a rate.
	"an activity at a rate, the run":        {1, 0},
	"the same, where it waits for its slot": {1, 1},
	// A child that ends in its first task reports that twice: with its start, and by itself.
	"100 children at once, all runs": {0, 100},
}

// checkDerived compares what the logs say that an operation cost with what was counted. They are
// equal, except for what underived has.
func (b *bench) checkDerived(name string, writes, messages int64, derived price.Cost) {
	b.t.Helper()
	more := underived[name]
	if derived.Writes+more[0] != writes || derived.Messages+more[1] != messages {
		b.t.Errorf("%s: %d writes and %d messages were counted, and its logs say %d and %d, with %v more expected", name, writes, messages, derived.Writes, derived.Messages, more)
	}
}
