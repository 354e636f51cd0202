package main

import (
	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/price"
)

// The task queues of each deployment, and their rates. On the fast one an attempt finds its slot
// free, because the measured work takes longer than a millisecond. On the other one it has to wait
// for the next slot, long enough to wait on a slow machine, too.
const (
	quick  = "quick"
	slowly = "slowly"
)

func taskQueues() []string { return []string{quick, slowly} }

func rateOf(taskQueue string) limits.Rate {
	return map[string]limits.Rate{quick: {PerSecond: 1000, Burst: 1}, slowly: {PerSecond: 0.25}}[taskQueue]
}

// queued returns the work of task queues with a rate.
func queued() []operation {
	return []operation{
		{
			name: "start, an activity at a rate, end", budget: counts{writes: 3, reads: 2, messages: 1}, times: 5, ends: true,
			run: whole(sequence, job{Steps: 1, Bytes: 200, TaskQueue: quick}), stepFunctions: 2*transition + price.Invocation, durable: 2 * durableOperation, temporal: 2 * action,
		},
		{
			name: "start, 2 activities at a rate, one waits, end", budget: counts{writes: 5, reads: 4, messages: 3}, times: 1, ends: true,
			run: whole(sequence, job{Steps: 2, Bytes: 200, TaskQueue: slowly}), stepFunctions: 3*transition + 2*price.Invocation, durable: 3 * durableOperation, temporal: 3 * action,
		},
	}
}

// at returns the activity that runs the steps of a job.
func (j job) at() activity.Activity[int, string] {
	if j.TaskQueue != "" {
		return step.On(j.TaskQueue)
	}
	return step
}
