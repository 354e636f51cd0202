package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/price"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/workflow"
)

// counts are the writes, strong reads and messages of an operation. design.md §2 budgets them for
// cold processes.
type counts struct {
	writes, reads, messages int64
	// keys are requests to KMS. puts and gets are requests to S3.
	keys, puts, gets int64
}

// operation is a piece of canonical work.
type operation struct {
	name   string
	budget counts
	times  int
	ends   bool // the operation ends the run
	chain  bool // the deployment chains activities
	// prepare is called before each repetition and not counted. It may be nil.
	prepare, run func(ctx context.Context, d *deployment, id string) error
	// These are the prices of the same work elsewhere, in dollars; 0 if the service has no such
	// thing, or its price is unknown.
	stepFunctions, durable, temporal float64
	// busy is how long a request waits, besides the usual time of an invocation.
	busy time.Duration
}

const (
	threeOverSQS = "start, 3 activities, end: over SQS"
	threeInline  = "start, 3 activities, end: inline"
	threeChained = "start, 3 activities, end: chained"
	accepted     = "update accepted and completed"
	rejected     = "update refused"
	failing      = "start, its task fails, retried by a request, end"
)

// operations returns the canonical work. The prices of other services follow their ways of
// counting:
//
//   - Step Functions: each state is a transition, and an execution has one more.
//   - Lambda durable functions: a step, a wait, an iteration and a start are operations.
//   - Temporal: a start, an activity, a timer, a signal and an update (even a refused one) are
//     actions. All local activities of a task together are one action.
func operations() []operation {
	all := []operation{
		{
			name: threeOverSQS, budget: counts{writes: 4, reads: 4, messages: 3}, times: 5, ends: true, run: runOf(bill.Canonical(1), false),
			stepFunctions: 4*transition + 3*price.Invocation, durable: 4 * durableOperation, temporal: 4 * action,
		},
		{
			name: threeInline, budget: counts{writes: 4, reads: 2, messages: 1}, times: 5, ends: true, run: runOf(bill.Canonical(1), true),
			stepFunctions: 4*transition + 3*price.Invocation, durable: 4 * durableOperation, temporal: 4 * action,
		},
		{
			name: threeChained, budget: counts{writes: 4, reads: 2, messages: 1}, times: 5, ends: true, chain: true, run: runOf(bill.Canonical(1), false),
			stepFunctions: 4*transition + 3*price.Invocation, durable: 4 * durableOperation, temporal: 4 * action,
		},
		{
			name: "start, 3 local activities, end", budget: counts{writes: 1, reads: 1, messages: 0}, times: 5, ends: true,
			run: whole(sequence, job{Steps: 3, Bytes: 200, Local: true}), temporal: 2 * action,
		},
		{
			name: "start, 100 activities that end together, end", budget: counts{writes: 11, reads: 111, messages: 200}, times: 1, ends: true,
			run: func(ctx context.Context, d *deployment, id string) error {
				const n = 100
				return d.together(ctx, n, func() error { return whole(fanOut, job{Steps: n, Bytes: 200})(ctx, d, id) })
			},
			stepFunctions: 102*transition + 100*price.Invocation, durable: 102 * durableOperation, temporal: 101 * action,
		},
		{
			name: "start", budget: counts{writes: 1, reads: 1, messages: 0}, times: 5,
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := counter.Start(ctx, d.Client, id, workflow.None{})
				return err
			},
		},
		{
			name: "start, a timer of up to 15 minutes, end", budget: counts{writes: 2, reads: 2, messages: 1}, times: 5, ends: true, run: whole(sleeper, job{Nap: time.Second}),
			stepFunctions: 2 * transition, durable: 2 * durableOperation, temporal: 2 * action,
		},
		{
			name: "start, an activity completed from outside, end", budget: counts{writes: 4, reads: 6, messages: 1}, times: 5, ends: true, prepare: completed, run: completed,
			stepFunctions: 2*transition + price.Invocation, durable: 2 * durableOperation, temporal: 2 * action,
		},
		{
			name: "start, fails, is tried again as a whole, end", budget: counts{writes: 4, reads: 3, messages: 2}, times: 5, ends: true,
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := flaky.Start(ctx, d.Client, id, true, workflow.StartOptions{Retry: &workflow.Retry{}})
				return err
			},
			temporal: 2 * action,
		},
		{
			name: "a schedule for one moment, and its run of one task", budget: counts{writes: 4, reads: 6, messages: 3}, times: 5,
			run: func(ctx context.Context, d *deployment, id string) error {
				at := time.Now().Truncate(time.Second).Add(2 * time.Second)
				_, err := flaky.Schedule(ctx, d.Client, id, false, workflow.ScheduleOptions{
					Every: []client.Every{{Interval: time.Second}}, StartAt: at, EndAt: at,
				})
				return err
			},
			temporal: 3 * action,
		},
	}
	all = append(append(all, children()...), queued()...)
	for _, o := range []operation{
		{name: "signal", budget: counts{writes: 1, reads: 1, messages: 0}, temporal: action, run: func(ctx context.Context, d *deployment, id string) error {
			return poke.Send(ctx, d.Client, id, 1)
		}},
		{name: rejected, budget: counts{writes: 0, reads: 1, messages: 0}, temporal: action, run: refused},
		{name: accepted, budget: counts{writes: 1, reads: 1, messages: 0}, temporal: action, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := measured.Add.Call(ctx, d.Client, id, 1)
			return err
		}},
		{name: "update accepted; an activity; completed", budget: counts{writes: 2, reads: 2, messages: 1}, temporal: 2 * action, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := work.Send(ctx, d.Client, id, job{Bytes: 200})
			return err
		}},
		{name: "query", budget: counts{writes: 0, reads: 1, messages: 0}, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := sum.Ask(ctx, d.Client, id, workflow.None{})
			return err
		}},
		{name: "update sent again", budget: counts{writes: 0, reads: 1, messages: 0}, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := measured.Add.Call(ctx, d.Client, id, 1, workflow.CallOptions{ID: polled})
			return err
		}},
		{name: "poll of an update", budget: counts{writes: 0, reads: 1, messages: 0}, run: func(ctx context.Context, d *deployment, id string) error {
			_, err := d.Handle(id, "", polled).Wait(ctx)
			return err
		}},
	} {
		o.times = 5
		o.prepare, o.run = running(o.run)
		all = append(all, o)
	}
	return slices.Concat(all, steered(), onTopics())
}

// children returns the work of several workflows, and of several builds.
func children() []operation {
	return []operation{
		{
			name: "start, a child of one task, end", budget: counts{writes: 3, reads: 5, messages: 2}, times: 5, ends: true, run: whole(parent, job{Steps: 1}),
			temporal: 3 * action,
		},
		{
			name: "start, a signal to another workflow, end", budget: counts{writes: 3, reads: 3, messages: 1}, times: 5, ends: true,
			prepare: func(ctx context.Context, d *deployment, id string) error {
				_, err := counter.Start(ctx, d.Client, id+"-other", workflow.None{})
				return err
			},
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := teller.Start(ctx, d.Client, id, id+"-other")
				return err
			},
			temporal: 2 * action,
		},
		{
			name: "query of a run of another build", budget: counts{writes: 0, reads: 2, messages: 0}, times: 5,
			prepare: startedBefore,
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := sum.Ask(ctx, d.Client, id, workflow.None{})
				return err
			},
		},
		{
			name: "move of a run to another build", budget: counts{writes: 1, reads: 1, messages: 0}, times: 5,
			prepare: startedBefore,
			run: func(ctx context.Context, d *deployment, id string) error {
				return settled.Get(d.Client, id).Move(ctx, workflow.MoveOptions{})
			},
		},
	}
}

// startedBefore starts a run that stays with the previous build.
func startedBefore(ctx context.Context, d *deployment, id string) error {
	d.build.Store(buildBefore)
	defer d.build.Store(buildNow)
	_, err := settled.Start(ctx, d.Client, id, workflow.None{})
	return err
}

// offloading returns the operations that are measured with encrypted payloads, and those that are
// measured with large payloads in a bucket. Their cost includes requests to KMS and S3.
func offloading() (encrypted, offloaded []operation) {
	for _, o := range operations() {
		if o.name == threeOverSQS || o.name == threeInline {
			o.budget.keys = map[string]int64{threeOverSQS: 10, threeInline: 3}[o.name]
			encrypted = append(encrypted, o)
		}
	}
	const large = 1 << 20
	return encrypted, []operation{
		{
			name: "start with an input of 1 MiB, a timer, end", budget: counts{writes: 2, reads: 2, messages: 1, puts: 1, gets: 1}, times: 2, ends: true,
			run: whole(sleeper, job{Nap: time.Second, Bytes: large}),
		},
		{
			name: "start, an activity with a result of 1 MiB, end", budget: counts{writes: 2, reads: 2, messages: 1, puts: 1}, times: 2, ends: true,
			run: func(ctx context.Context, d *deployment, id string) error {
				_, err := sequence.Start(ctx, d.Client, id, job{Steps: 1, Bytes: large})
				return err
			},
		},
	}
}

// measure runs all repetitions of an operation, and returns their cost.
func (d *deployment) measure(ctx context.Context, o operation) (counted, error) {
	id := func(i int) string { return fmt.Sprintf("%x-%d", time.Now().UnixNano(), i) }
	ids := make([]string, o.times)
	for i := range ids {
		ids[i] = id(i)
		if o.prepare == nil {
			continue
		}
		if err := o.prepare(ctx, d, ids[i]); err != nil {
			return counted{}, err
		}
	}
	if err := d.settle(ctx); err != nil {
		return counted{}, err
	}
	before, err := d.total(ctx)
	if err != nil {
		return counted{}, err
	}
	for _, id := range ids {
		if err := o.run(ctx, d, id); err != nil {
			return counted{}, fmt.Errorf("%s: %w", o.name, err)
		}
		if err := d.settle(ctx); err != nil {
			return counted{}, fmt.Errorf("%s: %w", o.name, err)
		}
	}
	after, err := d.total(ctx)
	if err != nil {
		return counted{}, err
	}
	b := after.minus(before)
	b.Waited = o.busy.Seconds() * float64(o.times)
	return b, d.verify(ctx, o, ids)
}

// verify returns an error if runs that should have ended have not completed.
func (d *deployment) verify(ctx context.Context, o operation, ids []string) error {
	for _, id := range ids {
		if !o.ends {
			continue
		}
		if _, err := d.Result(ctx, id, ""); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}
