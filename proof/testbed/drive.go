package testbed

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

// Drain delivers messages, one after the other, until there are none. It delivers each batch that
// is handled together to the process that next returns for its queue. It lets time pass if a
// message is delayed. It runs no sweeps.
func (d *Deployment) Drain(ctx context.Context, next func(queue string) *Process) {
	d.t.Helper()
	d.DrainFor(ctx, time.Until(endOfTime), next)
}

// DrainFor does the same as Drain for messages that become due within a time.
func (d *Deployment) DrainFor(ctx context.Context, within time.Duration, next func(queue string) *Process) {
	d.t.Helper()
	end := time.Now().Add(within)
	names := queue.All(TaskQueues...)
	for {
		delivered := false
		for _, name := range names {
			for d.Queue.Ready(name) {
				d.deliver(ctx, name, next)
				delivered = true
			}
		}
		if delivered { // new messages may be on an earlier queue
			continue
		}
		at, more := d.Queue.Next()
		if !more || at.After(end) {
			return
		}
		time.Sleep(time.Until(at))
	}
}

func (d *Deployment) deliver(ctx context.Context, name string, next func(string) *Process) {
	d.t.Helper()
	deliveries, err := d.Queue.Receive(ctx, name, queue.MaxBatch)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, part := range worker.Split(name, deliveries) {
		next(name).Worker.Deliver(ctx, name, part)
	}
}
