//go:build aws

package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/proof/awstest"
)

// Runs of these have commits of all kinds, which close the run or lead to others, and sizes around
// the boundaries of units: 1 KB of a write, and 4 KB of a read.
var (
	shapesOfBill = []bill.Workload{
		{Bytes: 600},
		{Activities: 3, Bytes: 400},
		{Activities: 3, Bytes: 1000},
		{Activities: 3, Bytes: 4000},
		{Activities: 3, Bytes: 10_000},
		{Activities: 3, Bytes: 40_000},
		{Timers: 1, Bytes: 600},
		{Timers: 1, Bytes: 800},
		{Timers: 1, Bytes: 4000},
		{Signals: 1, Bytes: 600},
		{Signals: 2, Bytes: 800},
		{Signals: 2, Bytes: 4000},
		{Updates: 1, Bytes: 250},
		{Updates: 2, Bytes: 600},
		{Updates: 2, Bytes: 4000},
		{Signals: 1, Timers: 1, Bytes: 900},
		{Updates: 1, Timers: 1, Bytes: 700},
		{Updates: 1, Activities: 1, Bytes: 300},
		{Signals: 2, Updates: 2, Timers: 1, Activities: 2, Bytes: 600},
		{Signals: 2, Updates: 2, Timers: 1, Activities: 2, Bytes: 4000},
	}
	shapesOfChains = []bill.Workload{{Activities: 3, Bytes: 1000}, {Activities: 3, Bytes: 10_000}, {Updates: 1, Activities: 2, Bytes: 4000}}
	shapesOfList   = []bill.Workload{{Bytes: 320}, {Activities: 3, Bytes: 320}, {Timers: 1, Bytes: 640}, {Updates: 1, Bytes: 200}}
)

// measureShapes measures a run of each of these workloads, and gives each the one that it is.
func measureShapes(t *testing.T, s settings, workloads []bill.Workload) map[bill.Workload]result {
	t.Helper()
	types, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	s.dynamoDB, s.sqs, s.name = awstest.DynamoDB(t)[0].Config, awstest.SQS(t)[0].Config, fmt.Sprintf("shapes-%x", time.Now().UnixNano())
	d, err := deploy(t.Context(), s, types)
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	all := map[bill.Workload]result{}
	for _, w := range workloads {
		w.Runs = 1
		if all[w], err = again(t.Context(), d, operation{times: 1, ends: true, run: runOf(w, false)}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Package bill counts what AWS's servers count: equal numbers of writes, reads, messages, requests
// and invocations, and bytes within 3 %.
func TestBillMatchesCounts(t *testing.T) {
	t.Parallel()
	r := measurements(t)
	emf, listed := bill.Bare(), bill.Bare()
	emf.Metrics = "emf"
	chained := emf
	chained.Chain = true
	listed.List, listed.Metrics = true, "emf"
	run, large1, sleeps := bill.Canonical(1), bill.Canonical(1), bill.Workload{Runs: 1, Timers: 1, Bytes: 10}
	large1.Bytes = 1 << 10
	of := func(name string) result {
		o, ok := r.named(name)
		if !ok {
			t.Fatalf("there is no operation %q", name)
		}
		return o
	}
	// beside returns the counts of what an open run gets: one more does not close it.
	beside := func(w bill.Workload) bill.Counts {
		w.Runs = 1
		again := w
		again.Updates, again.Refused, again.Queries, again.Signals = 2*w.Updates, 2*w.Refused, 2*w.Queries, 2*w.Signals
		n, alone := bill.Of(again, emf), bill.Of(w, emf)
		n.Commits -= alone.Commits
		n.WriteUnits -= alone.WriteUnits
		n.Reads -= alone.Reads
		n.ReadUnits -= alone.ReadUnits
		n.Messages -= alone.Messages
		n.QueueRequests -= alone.QueueRequests
		n.Invocations -= alone.Invocations
		n.Requests -= alone.Requests
		n.TableBytes -= alone.TableBytes
		n.MetricBytes -= alone.MetricBytes
		return n
	}
	type match struct {
		name    string
		counted result
		want    bill.Counts
	}
	var shapes []match
	for _, of := range []struct {
		settings
		s         bill.Settings
		workloads []bill.Workload
	}{{settings{}, emf, shapesOfBill}, {settings{chain: true}, chained, shapesOfChains}, {settings{list: true}, listed, shapesOfList}} {
		for w, counted := range measureShapes(t, of.settings, of.workloads) {
			shapes = append(shapes, match{fmt.Sprintf("%+v, chain %t, list %t", w, of.chain, of.list), counted, bill.Of(w, of.s)})
		}
	}
	for _, c := range append([]match{
		{"over SQS", r.reference[plain][threeOverSQS], bill.Of(run, emf)},
		{"chained", of(threeChained), bill.Of(run, chained)},
		{"inline", r.reference[plain][threeInline], bill.Of(run, chained)},
		{"1 KB, over SQS", r.reference[large][threeOverSQS], bill.Of(large1, emf)},
		{"1 KB, inline", r.reference[large][threeInline], bill.Of(large1, chained)},
		{"with the list, over SQS", r.reference[withList][threeOverSQS], bill.Of(run, listed)},
		{"a timer", of("start, a timer of up to 15 minutes, end"), bill.Of(sleeps, emf)},
		{"an update", of(accepted), beside(bill.Workload{Updates: 1, Bytes: 1})},
		{"a refused update", of(rejected), beside(bill.Workload{Refused: 1})},
		{"a query", of("query"), beside(bill.Workload{Queries: 1})},
		{"a signal", of("signal"), beside(bill.Workload{Signals: 1, Bytes: 1})},
	}, shapes...) {
		n, b := float64(c.counted.times), c.counted.bill
		for what, pair := range map[string][2]float64{
			"writes":        {c.want.Commits, float64(b.Writes)},
			"write units":   {c.want.WriteUnits, b.WriteUnits},
			"index units":   {c.want.IndexUnits, b.IndexUnits},
			"reads":         {c.want.Reads, float64(b.StrongReads)},
			"read units":    {c.want.ReadUnits, b.ReadUnits},
			"messages":      {c.want.Messages, float64(b.Messages)},
			"SQS requests":  {c.want.QueueRequests, float64(b.Chunks)},
			"FIFO requests": {0, float64(b.FIFOChunks)},
			"invocations":   {c.want.Invocations, float64(b.Invocations)},
			"API requests":  {c.want.Requests, float64(b.APIRequests)},
		} {
			if math.Abs(pair[0]-pair[1]/n) > 1e-9 {
				t.Errorf("%s: the bill has %v %s, and %v were counted", c.name, pair[0], what, pair[1]/n)
			}
		}
		for what, pair := range map[string][2]float64{
			"bytes in the table":   {c.want.TableBytes, float64(b.StoredBytes)},
			"bytes in the index":   {c.want.IndexBytes, float64(b.IndexBytes)},
			"bytes of metric logs": {c.want.MetricBytes, float64(b.MetricBytes)},
		} {
			if got := pair[1] / n; math.Abs(pair[0]-got) > 0.03*got {
				t.Errorf("%s: the bill has %v %s, and %v were counted", c.name, pair[0], what, got)
			}
		}
	}
}
