// Package worker delivers the messages of the queues to a service if no event source mapping does,
// as in the local server and in tests. It only decides what is handled together, and what is
// finished: see [Handler], which the Lambda functions use too. A message is deleted when its
// handler has returned nil, and is redelivered otherwise.
package worker

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/queue"
)

// Worker delivers messages.
type Worker struct {
	Service  *executor.Service
	Receiver queue.Receiver
	World    host.Host
	Log      *slog.Logger
	// Hand passes messages to another process, and returns the receipts of the finished ones. If it
	// is nil, Service handles them.
	Hand func(ctx context.Context, name string, part []queue.Delivery) (done []string)
	// Concurrency is how many messages of a queue are handled at once.
	Concurrency int
	// TaskQueues are the task queues besides the default one, each with how many of its messages
	// are handled at once; 0 is Concurrency.
	TaskQueues map[string]int

	deletes observe.Outage // of Receiver.Delete
}

// Run delivers messages until ctx ends, and returns when the messages in progress have been
// handled.
func (p *Worker) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, name := range queue.All(slices.Collect(maps.Keys(p.TaskQueues))...) {
		all.Go(func() { p.loop(ctx, name) })
		all.Go(func() { p.loop(ctx, queue.DeadLetters(name)) })
	}
	all.Go(func() { p.sweep(ctx) })
	all.Wait()
}

// loop receives from one queue, and passes messages to as many handlers as are free.
func (p *Worker) loop(ctx context.Context, name string) {
	busy := make(chan struct{}, p.atOnce(name))
	handlers := handlers{most: cap(busy), parts: make(chan []queue.Delivery), handle: func(part []queue.Delivery) {
		defer func() { <-busy }()
		p.Deliver(context.WithoutCancel(ctx), name, part)
	}}
	defer handlers.end()
	var outage observe.Outage
	for ctx.Err() == nil {
		free := reserve(ctx, busy)
		if free == 0 {
			return
		}
		deliveries, err := p.Receiver.Receive(ctx, name, free)
		parts := Split(name, deliveries)
		for range free - len(parts) {
			<-busy
		}
		if err != nil {
			if ctx.Err() == nil {
				outage.Fails(p.Log, slog.LevelError, p.World.Now(), "receive failed", err, "queue", name)
				_ = p.World.Wait(ctx, time.Second, nil) // only ctx ends it early
			}
			continue
		}
		outage.Works(p.Log, "receive works again", "queue", name)
		for _, part := range parts {
			handlers.take(part)
		}
	}
}

// handlers are goroutines that each handle one part after the other, so that their stacks do not
// grow again for each message.
type handlers struct {
	handle        func(part []queue.Delivery)
	parts         chan []queue.Delivery // to an idle one
	started, most int
	all           sync.WaitGroup
}

// take lets a goroutine handle a part. The caller ensures that fewer than most are busy.
func (h *handlers) take(part []queue.Delivery) {
	select {
	case h.parts <- part:
		return
	default:
	}
	if h.started == h.most {
		h.parts <- part // one of them has finished and is about to receive
		return
	}
	h.started++
	h.all.Go(func() {
		for open := true; open; part, open = <-h.parts {
			h.handle(part)
		}
	})
}

// end waits for the parts in progress.
func (h *handlers) end() {
	close(h.parts)
	h.all.Wait()
}

// atOnce returns how many messages of a queue are handled at once.
func (p *Worker) atOnce(name string) int {
	taskQueue, _ := queue.IsForTasks(name)
	return cmp.Or(p.TaskQueues[taskQueue], p.Concurrency)
}

// reserve waits for a free handler, and reserves as many as are free then, up to a batch. A message
// that no handler handles should not be in flight, because its receive would count as an attempt.
// It returns 0 when the context ends.
func reserve(ctx context.Context, busy chan struct{}) int {
	select {
	case busy <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for free := 1; free < queue.MaxBatch; free++ {
		select {
		case busy <- struct{}{}:
		default:
			return free
		}
	}
	return queue.MaxBatch
}

// Deliver handles messages of a queue, and deletes the finished ones. A panic is a defect: SQS
// redelivers the messages, and they become dead letters if it repeats.
func (p *Worker) Deliver(ctx context.Context, name string, part []queue.Delivery) {
	defer func() {
		if value := recover(); value != nil {
			p.Log.ErrorContext(ctx, "a handler panicked", "queue", name, "panic", observe.Panic(value), "stack", string(debug.Stack()))
		}
	}()
	p.HandOver(ctx, name, part)
}

// HandOver is Deliver, but lets a panic through.
func (p *Worker) HandOver(ctx context.Context, name string, part []queue.Delivery) {
	handle := Handler{Service: p.Service, Log: p.Log, Extend: p.Receiver.Extend}.For(name)
	if p.Hand != nil {
		handle = func(ctx context.Context, part []queue.Delivery) []string { return p.Hand(ctx, name, part) }
	}
	done := handle(ctx, part)
	if len(done) == 0 {
		return
	}
	if err := p.Receiver.Delete(ctx, name, done...); err != nil {
		p.deletes.Fails(p.Log, slog.LevelError, p.World.Now(), "delete failed; the queue redelivers the messages", err, "queue", name)
		return
	}
	p.deletes.Works(p.Log, "delete works again")
}

// sweep sends the long timers that are due soon, and takes the next step of the slow check over all
// runs.
func (p *Worker) sweep(ctx context.Context) {
	for {
		if _, err := p.Service.Deliveries.Sweep(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("sweep failed", "error", err)
		}
		if _, err := p.Service.Maintenance.Maintain(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("the check over all runs failed; its next step will try again", "error", err)
		}
		if p.World.Wait(ctx, outbox.SweepEvery, nil) != nil {
			return
		}
	}
}
