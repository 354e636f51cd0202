package main

import (
	"math"
	"strconv"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/measured"
)

// rates are the numbers of workflows a second for which a month is priced.
var rates = []float64{1, 100, 10_000}

// monthSeconds is a month: 730 hours.
const monthSeconds = 730 * 3600

// ratesTable heads the table of rates.
const ratesTable = "a month at so many workflows a second"

// rateRows returns the table of monthly costs: the reference run over SQS and its parts, the same
// run inline, and the extra cost of options.
func (r *results) rateRows() (rows [][]string) {
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
		each(name, "$", func(rate float64) float64 { return aRun * rate * monthSeconds })
	}
	overSQS, inlined := r.reference[plain][threeOverSQS], r.reference[plain][threeInline]
	for _, p := range overSQS.bill.parts(terms{}) {
		add(p.name, p.dollars/float64(overSQS.times))
	}
	add("these together: start, 3 activities, end", overSQS.aRun(terms{}))
	add("the same, activities inline", inlined.aRun(terms{}))
	add("more, for each run: the list of runs", r.reference[withList][threeOverSQS].aRun(terms{})-overSQS.aRun(terms{}))
	add("... an HTTP API for its start", overSQS.aRun(terms{httpAPI: true})-overSQS.aRun(terms{}))
	add("... its deletion", overSQS.aRun(terms{cleanUp: true})-overSQS.aRun(terms{}))
	add("... its back-up (point-in-time recovery)", float64(overSQS.bill.StoredBytes)/float64(overSQS.times)/(1<<30)*price.BackUp*keptMonths)
	logBytes := float64(overSQS.bill.LoggedBytes + overSQS.bill.Invocations*platformLog)
	add("... what Lambda itself and its metrics log", logBytes/float64(overSQS.times)/(1<<30)*price.Logged)
	for _, o := range r.operations {
		if o.name == accepted || o.name == rejected {
			add("... an "+o.name, o.aRun(terms{}))
		}
	}
	each("more, at any rate: metrics, alarms, polling; at most", "$", func(float64) float64 { return idle() })
	for _, unit := range []struct {
		name string
		n    float64
	}{
		{"write units a second", overSQS.bill.WriteUnits},
		{"read units a second, if every process is cold", overSQS.bill.ReadUnits},
		{"SQS requests a second", float64(overSQS.bill.Chunks)},
		{"invocations a second", float64(overSQS.bill.Invocations)},
	} {
		each(unit.name, "", func(rate float64) float64 { return unit.n / float64(overSQS.times) * rate })
	}
	return rows
}

// aRun returns the price of one run.
func (r result) aRun(t terms) float64 { return r.bill.dollars(t) / float64(r.times) }

// idle returns the highest price of a month in which nothing happens: the mappings poll all the
// time, the sweep and the check run each minute, and there are alarms and metrics.
func idle() float64 {
	const minutes, sweepReads = monthSeconds / 60, 5 // four shards, and the mark
	polls := float64(minutes * pollers * pollsAMinute)
	return polls*(standardMappings*price.StandardRequest+fifoMappings*price.FIFORequest) +
		minutes*sweepReads*price.ReadUnit + price.Lambda(minutes) + alarmMetrics*price.AlarmMetric + float64(len(observe.Metrics))*price.CustomMetric
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
