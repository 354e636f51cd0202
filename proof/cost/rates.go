package main

import (
	"math"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// rates are the numbers of workflows a second for which a month is priced.
var rates = []float64{1, 100, 10_000}

// ratesTable heads the table of rates.
const ratesTable = "a month at so many workflows a second"

// rateRows returns the table of monthly costs: what canonical runs cost with everything on, in
// parts, the least that they cost, and what more they may do.
func rateRows() (rows [][]string) {
	head := []string{ratesTable}
	for _, rate := range rates {
		head = append(head, grouped(rate))
	}
	rows = append(rows, head)
	each := func(name, sign string, n func(rate float64) float64) {
		row := []string{name}
		for _, rate := range rates {
			row = append(row, sign+grouped(n(rate)))
		}
		rows = append(rows, row)
	}
	add := func(name string, aRun float64) {
		each(name, "$", func(rate float64) float64 { return aRun * rate * bill.MonthSeconds })
	}
	run := bill.Canonical(1)
	for _, l := range bill.Month(run, bill.Default()) {
		add(l.Service+": "+l.Name, l.Dollars)
	}
	add("these together: a run with everything on", bill.Sum(bill.Month(run, bill.Default())))
	queued := bill.Default()
	queued.Chain = false
	add("the same, each activity its own message", bill.Sum(bill.Month(run, queued)))
	add("a bare run", bill.Sum(bill.Month(run, bill.Bare())))
	chained := bill.Bare()
	chained.Chain = true
	add("a bare run, activities chained", bill.Sum(bill.Month(run, chained)))
	more := func(name string, w bill.Workload) {
		add(name, bill.Sum(bill.Month(w, bill.Default()))-bill.Sum(bill.Month(run, bill.Default())))
	}
	updated, refused := run, run
	updated.Updates, refused.Refused = 1, 1
	more("more, for each run: an "+rejected, refused)
	more("... an "+accepted, updated)
	each("more, at any rate: alarms, polling, sweeps; at most", "$", func(float64) float64 { return bill.Sum(bill.Idle(bill.Default())) })
	n := bill.Of(run, bill.Default())
	for _, unit := range []struct {
		name string
		n    float64
	}{
		{"write units a second, with deletions", n.WriteUnits + n.DeletionUnits},
		{"read units a second, if every process is cold", n.ReadUnits},
		{"SQS requests a second", n.QueueRequests},
		{"invocations a second", n.Invocations},
	} {
		each(unit.name, "", func(rate float64) float64 { return unit.n * rate })
	}
	return rows
}

// grouped formats a number with three significant digits, at most two of them after the point, and
// with commas between thousands.
func grouped(n float64) string {
	decimals := 2 - int(math.Floor(math.Log10(n)))
	if n == math.Trunc(n) {
		decimals = min(decimals, 0)
	}
	unit := math.Pow10(-decimals)
	text := strconv.FormatFloat(math.Round(n/unit)*unit, 'f', min(max(decimals, 0), 2), 64)
	return measured.Commas(text)
}
