// Package scale simulates the quotas of AWS under Weft's load, second by second: which limit is
// reached first, how much work passes then, and how long work waits. docs/scale.md has its tables,
// which a test compares.
//
// The needs of a step are counted by running the protocol itself (package testbed). What AWS allows
// is in Quotas, with the sources, as AWS documented it on 2026-11-23. Two things are estimates: the
// duration of an invocation, and the assumption that load is even except as Load says.
package scale

import (
	"math"

	"github.com/seed-41655fb1/weft/store/dynamo"
)

// Demand is what one step of a workflow needs, including its share of the workflow's start and end.
type Demand struct {
	// Writes and Reads are units of DynamoDB. ListRows are writes to its index.
	Writes, Reads, ListRows float64
	// Activities, Timers and Ordered are messages to the activity queue, to the timer queue, and to
	// the FIFO queue of workflows.
	Activities, Timers, Ordered float64
	// Requests are requests to the API.
	Requests float64
}

// Load is how much work arrives each second.
type Load struct {
	// Steps are the steps of all workflows.
	Steps float64
	// LongTimers are timers of more than 15 minutes, which wait in the table. Each is put, and
	// deleted when it is due.
	LongTimers float64
	// HotUpdates are accepted updates of one run. TogetherUpdates is how many of them share a
	// commit.
	HotUpdates, TogetherUpdates float64
}

// Quotas is what AWS allows an account.
type Quotas struct {
	// Concurrency is how many invocations run at once in an account and Region: 1,000, and 10 in
	// some new accounts. It can be raised.
	// https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
	Concurrency float64
	// ConcurrencyRamp is by how much the concurrency of a function may grow in a second: 1,000 in
	// ten seconds. https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html
	ConcurrencyRamp float64
	// Pollers are the batches that the mapping of the activity queue handles at once: how many at
	// first, by how many that grows in a second, and how many at most: 5, 300 a minute, and 500,
	// the maximum concurrency that Weft's deployment gives it by default. Without one it is 1,250.
	// https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
	PollersFirst, PollersRamp, PollersMost float64
	// TableWrites and TableReads are the units a second of an on-demand table: 40,000 each, by
	// default. It can be raised.
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html
	TableWrites, TableReads float64
	// WarmWrites and WarmReads are the units a second of a new table. It doubles its highest rate
	// within 30 minutes.
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
	WarmWrites, WarmReads float64
	// PartitionWrites is how many units a second one partition accepts: 1,000.
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html
	PartitionWrites float64
	// OrderedCalls is how many calls a second of each kind a high-throughput FIFO queue accepts,
	// with up to ten messages each: 70,000 in us-east-1, us-west-2 and eu-west-1, and 2,400 in the
	// smallest Regions.
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
	OrderedCalls float64
}

// DefaultQuotas returns the quotas of an account in us-east-1 that has requested no increase, with
// a new table.
func DefaultQuotas() Quotas {
	return Quotas{
		Concurrency: 1_000, ConcurrencyRamp: 100, PollersFirst: 5, PollersRamp: 5, PollersMost: 500,
		TableWrites: 40_000, TableReads: 40_000, WarmWrites: 4_000, WarmReads: 12_000, PartitionWrites: 1_000, OrderedCalls: 70_000,
	}
}

// invocationSeconds is how long an invocation runs without the work of an activity: 20 ms at 512
// MB, most of which is requests to DynamoDB and SQS. It is an estimate; docs/cost.md prices 10 ms.
const invocationSeconds = 0.020

// Limit is a quota and what the load needs of it each second.
type Limit struct {
	Name         string
	Needs, Limit float64
	// at returns the limit in a second of the load.
	at func(second int) float64
}

// constant returns a limit that does not grow.
func constant(name string, needs, limit float64) Limit {
	return Limit{name, needs, limit, func(int) float64 { return limit }}
}

// Limits returns all quotas for a load whose activities take activity seconds each.
func Limits(d Demand, l Load, q Quotas, activity float64) []Limit {
	activities := l.Steps * d.Activities * (activity + invocationSeconds)
	others := l.Steps * (d.Requests + d.Timers + d.Ordered) * invocationSeconds
	hot := 0.0
	if l.HotUpdates > 0 {
		hot = l.HotUpdates / max(l.TogetherUpdates, 1)
	}
	writes := l.Steps*(d.Writes+d.ListRows) + 2*l.LongTimers + hot
	return []Limit{
		ramp("Lambda: concurrency of the account", activities+others, 10*q.ConcurrencyRamp, q.ConcurrencyRamp, q.Concurrency),
		ramp("Lambda: mapping of the activity queue", activities, q.PollersFirst, q.PollersRamp, q.PollersMost),
		table("DynamoDB: writes of the table", writes, q.WarmWrites, q.TableWrites),
		table("DynamoDB: reads of the table", l.Steps*d.Reads, q.WarmReads, q.TableReads),
		constant("DynamoDB: partitions of the list", l.Steps*d.ListRows, dynamo.ListShards*q.PartitionWrites),
		constant("DynamoDB: partitions of the timers", 2*l.LongTimers, dynamo.TimerShards*q.PartitionWrites),
		constant("DynamoDB: partition of one run", hot, q.PartitionWrites),
		constant("SQS: calls of the FIFO queue", l.Steps*d.Ordered, q.OrderedCalls),
	}
}

// ramp returns a limit that grows by each in a second.
func ramp(name string, needs, first, each, most float64) Limit {
	return Limit{name, needs, most, func(second int) float64 { return min(first+each*float64(second), most) }}
}

// doubling is within how many seconds DynamoDB allows twice the highest rate that it has seen.
const doubling = 30 * 60

// table returns a limit that doubles every 30 minutes while it is met.
func table(name string, needs, first, most float64) Limit {
	return Limit{name, needs, most, func(second int) float64 { return min(first*math.Pow(2, float64(second/doubling)), most) }}
}

// Share returns the part of the load that the limit lets pass in the end.
func (l Limit) Share() float64 {
	if l.Needs <= l.Limit {
		return 1
	}
	return l.Limit / l.Needs
}

// Outcome is what becomes of a load that begins at once and stays constant.
type Outcome struct {
	// First is the limit that delays the load first, or "" if none does. Binding is the limit that
	// delays it for good.
	First, Binding string
	// Passes is how many steps a second pass in the end.
	Passes float64
	// Steady is the second from which on all of the load passes and nothing waits; negative means
	// never.
	Steady int
	// Longest is the longest wait of a step until then, in seconds. If Steady is never, it covers
	// the first hour.
	Longest float64
}

// Simulate plays a load for four hours.
func Simulate(d Demand, l Load, q Quotas, activity float64) Outcome {
	limits := Limits(d, l, q, activity)
	o := Outcome{Passes: l.Steps, Steady: -1}
	share := 1.0
	for _, limit := range limits {
		if s := limit.Share(); s < share {
			share, o.Binding, o.Passes = s, limit.Name, l.Steps*s
		}
	}
	const hour = 3600
	waiting := 0.0 // in seconds of load
	for second := range 4 * hour {
		passes, tightest := math.Inf(1), ""
		for _, limit := range limits {
			if limit.Needs == 0 {
				continue
			}
			if p := limit.at(second) / limit.Needs; p < passes {
				passes, tightest = p, limit.Name
			}
		}
		if passes < 1 && o.First == "" {
			o.First = tightest
		}
		waiting = max(0, waiting+1-passes)
		switch {
		case waiting > 0:
			o.Steady = -1
			if second < hour || o.Binding == "" {
				// The step that arrives last waits until all earlier ones have passed.
				o.Longest = max(o.Longest, waiting/passes)
			}
		case o.Steady < 0:
			o.Steady = second
		}
	}
	return o
}
