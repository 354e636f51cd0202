package requests

import (
	"math"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// costOf returns what a run has cost so far. records are those of its attempts, if they were read.
func costOf(s *session.Process, run *engine.Run, records map[int64]*attempts.Record) *schema.Cost {
	counts := attempts.Counts(run, records)
	return priced(s, price.Of(&counts, s.Lister != nil))
}

// priced returns a cost with its price.
func priced(s *session.Process, c price.Cost) *schema.Cost {
	answer := &schema.Cost{
		Writes: c.Writes, WriteUnits: c.WriteUnits, IndexUnits: c.IndexUnits,
		Reads: schema.CostRange{Most: c.Reads}, ReadUnits: c.ReadUnits,
		Messages: c.Messages, QueueRequests: c.Requests + c.OrderedRequests, Invocations: c.Invocations,
		Dollars:   math.Round(c.Dollars()*picodollar) / picodollar,
		Estimated: []string{"reads", "readUnits", "invocations", "dollars"},
		Prices:    price.Region + " " + price.ReadOn,
	}
	if s.Options.Recoded {
		answer.Estimated = append([]string{"writeUnits"}, answer.Estimated...)
	}
	return answer
}

// picodollar rounds dollars to what is less than any price.
const picodollar = 1e12
