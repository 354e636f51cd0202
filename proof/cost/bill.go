package main

import (
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/awsmeter"
)

// counted is the counted cost of some work.
type counted struct {
	awsmeter.Cost
	// Invocations are the invocations of functions. APIRequests are those that came through the
	// API.
	Invocations, APIRequests int64
	// Seconds is the total time that the functions ran.
	Seconds float64
	// LoggedBytes is what the functions log without errors: the lines of their metrics. A healthy
	// invocation has none. MetricBytes is what the lines of all metrics would have.
	LoggedBytes, MetricBytes int64
	// StoredBytes is the size of the table after the work, and IndexBytes that of its index.
	StoredBytes, IndexBytes int64
	// Waited is how long requests waited, besides the usual time of their invocations.
	Waited float64
	// Derived is what the logs of the runs say of the same work.
	Derived price.Cost
}

// minus returns the difference between b and an earlier one.
func (b counted) minus(e counted) counted {
	b.Cost = b.Cost.Minus(e.Cost)
	b.Invocations -= e.Invocations
	b.APIRequests -= e.APIRequests
	b.Seconds -= e.Seconds
	b.LoggedBytes -= e.LoggedBytes
	b.MetricBytes -= e.MetricBytes
	b.StoredBytes -= e.StoredBytes
	b.IndexBytes -= e.IndexBytes
	b.Derived = b.Derived.Minus(e.Derived)
	return b
}

// terms are the ways in which a bill can be priced.
type terms struct {
	// measured prices the measured durations of this run, instead of price.TaskSeconds for each
	// invocation.
	measured bool
	// httpAPI puts an HTTP API before the api function, instead of a function URL.
	httpAPI bool
}

// part is a part of a bill.
type part struct {
	name    string
	dollars float64
}

// parts prices the bill. A lost race is billed like the write that it would have been. DynamoDB
// does not report its units, and parts assumes one, which is the minimum.
func (b counted) parts(t terms) []part {
	lambda := price.Lambda(b.Invocations) + b.Waited*price.TaskGigabytes*price.GigaSecond
	if t.measured {
		lambda = float64(b.Invocations)*price.Invocation + b.Seconds*price.TaskGigabytes*price.GigaSecond
	}
	all := []part{
		{"DynamoDB: writes", (b.WriteUnits + b.IndexUnits + float64(b.Lost)) * price.WriteUnit},
		{"DynamoDB: reads", b.ReadUnits * price.ReadUnit},
		{"DynamoDB: storage", float64(b.StoredBytes+b.IndexBytes) / (1 << 30) * price.Storage * keptMonths},
		{"SQS", float64(b.Chunks-b.FIFOChunks)*price.StandardRequest + float64(b.FIFOChunks)*price.FIFORequest},
		{"Lambda", lambda},
	}
	if b.KeyRequests > 0 {
		all = append(all, part{"KMS", float64(b.KeyRequests) * price.KeyRequest})
	}
	if b.BlobPuts+b.BlobGets > 0 {
		all = append(all, part{"S3", float64(b.BlobPuts)*price.BlobPut + float64(b.BlobGets)*price.BlobGet})
	}
	if t.httpAPI {
		all = append(all, part{"API Gateway", float64(b.APIRequests) * price.HTTPRequest})
	}
	return all
}

// dollars returns the sum of the parts.
func (b counted) dollars(t terms) (sum float64) {
	for _, p := range b.parts(t) {
		sum += p.dollars
	}
	return sum
}
