// Package pump delivers the messages of the queues to a service, where no event source mapping does: in the local server
// and in tests. It decides nothing. A message is deleted when its handler has returned nil, and comes again otherwise.
package pump

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/queue"
)

// Pump delivers messages.
type Pump struct {
	Service  *turn.Service
	Receiver queue.Receiver
	World    turn.World
	Log      *slog.Logger
	// Concurrency is how many messages of a queue are handled at once.
	Concurrency int
}

// queues are the queues of a deployment; each is received from by a loop of its own.
var queues = []string{queue.Activities, queue.Timers, queue.Workflow}

// Run delivers messages until ctx ends, and returns when those that were being handled have been.
func (p *Pump) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, name := range queues {
		all.Go(func() { p.loop(ctx, name) })
		all.Go(func() { p.loop(ctx, queue.DeadLetters(name)) })
	}
	all.Go(func() { p.sweep(ctx) })
	all.Wait()
}

// loop receives from one queue and hands what it got to as many handlers as are free.
func (p *Pump) loop(ctx context.Context, name string) {
	var handlers sync.WaitGroup
	defer handlers.Wait()
	free := make(chan struct{}, p.Concurrency)
	for ctx.Err() == nil {
		select { // wait for a free handler first: what nobody handles should not be in flight
		case free <- struct{}{}:
			<-free
		case <-ctx.Done():
			return
		}
		deliveries, err := p.Receiver.Receive(ctx, name, queue.MaxBatch)
		if err != nil {
			if ctx.Err() == nil {
				p.Log.Error("receive failed", "queue", name, "error", err)
				_ = p.World.Wait(ctx, time.Second, nil) // only ctx ends it early
			}
			continue
		}
		for _, part := range Split(name, deliveries) {
			free <- struct{}{}
			handlers.Go(func() {
				defer func() { <-free }()
				p.Deliver(context.WithoutCancel(ctx), name, part)
			})
		}
	}
}

// Split parts what was received together into what is handled together: the messages of a group, or single messages.
func Split(name string, all []queue.Delivery) [][]queue.Delivery {
	if name == queue.Workflow {
		return byGroup(all)
	}
	return one(all)
}

// Deliver has messages of a queue handled and deletes those that are done with. A panic is a defect: the messages come
// again, and end as dead letters if it repeats.
func (p *Pump) Deliver(ctx context.Context, name string, part []queue.Delivery) {
	defer func() {
		if value := recover(); value != nil {
			p.Log.Error("a handler panicked", "queue", name, "panic", value, "stack", string(debug.Stack()))
		}
	}()
	handle := p.handle
	switch name {
	case queue.Activities, queue.Timers:
	case queue.Workflow:
		handle = p.handleGroup
	default:
		handle = p.handleDead
	}
	done := handle(ctx, part)
	if len(done) == 0 {
		return
	}
	if err := p.Receiver.Delete(ctx, name, done...); err != nil {
		p.Log.Error("delete failed; the messages will come again", "queue", name, "error", err)
	}
}

// one hands over messages one by one.
func one(all []queue.Delivery) [][]queue.Delivery {
	parts := make([][]queue.Delivery, len(all))
	for i := range all {
		parts[i] = all[i : i+1]
	}
	return parts
}

// byGroup hands over the messages of each group together, in their order.
func byGroup(all []queue.Delivery) [][]queue.Delivery {
	var parts [][]queue.Delivery
	place := map[string]int{}
	for _, d := range all {
		i, found := place[d.Group]
		if !found {
			i = len(parts)
			place[d.Group] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], d)
	}
	return parts
}

func (p *Pump) handle(ctx context.Context, deliveries []queue.Delivery) (done []string) {
	for _, d := range deliveries {
		m, ok := p.decode(d)
		if !ok {
			continue
		}
		err := p.Service.Handle(ctx, turn.Delivery{
			Message: m, Received: d.Received,
			Extend: func(ctx context.Context, lease time.Duration) error {
				return p.Receiver.Extend(ctx, queueOf(m), d.Receipt, lease)
			},
		})
		if p.succeeded(m, err) {
			done = append(done, d.Receipt)
		}
	}
	return done
}

func queueOf(m *engine.Message) string {
	if m.Kind == engine.RunActivity {
		return queue.Activities
	}
	return queue.Timers
}

func (p *Pump) handleGroup(ctx context.Context, deliveries []queue.Delivery) (done []string) {
	var messages []*engine.Message
	for _, d := range deliveries {
		m, ok := p.decode(d)
		if !ok {
			break // what stands behind it in its group has to wait
		}
		messages, done = append(messages, m), append(done, d.Receipt)
	}
	if len(messages) == 0 || !p.succeeded(messages[0], p.Service.HandleResults(ctx, deliveries[0].Group, messages)) {
		return nil
	}
	return done
}

// handleDead deletes what no version of Weft can read, because nothing else can be done about it.
func (p *Pump) handleDead(ctx context.Context, deliveries []queue.Delivery) (done []string) {
	for _, d := range deliveries {
		m, err := turn.DecodeMessage(d.Body)
		if errors.Is(err, history.ErrCorrupt) {
			p.Log.Error("a dead letter that cannot be read was deleted", "error", err)
			done = append(done, d.Receipt)
		} else if err == nil && p.succeeded(m, p.Service.HandleDead(ctx, m)) {
			done = append(done, d.Receipt)
		}
	}
	return done
}

func (p *Pump) decode(d queue.Delivery) (*engine.Message, bool) {
	m, err := turn.DecodeMessage(d.Body)
	if err != nil {
		p.Log.Error("a message cannot be read", "error", err)
	}
	return m, err == nil
}

func (p *Pump) succeeded(m *engine.Message, err error) bool {
	if err != nil {
		p.Log.Warn("a message will come again", "workflowId", m.WorkflowID, "runId", m.RunID, "kind", m.Kind.String(), "eventId", m.EventID, "error", err)
	}
	return err == nil
}

// sweep sends the long timers that have become near.
func (p *Pump) sweep(ctx context.Context) {
	for {
		if _, err := p.Service.Sweep(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error("sweep failed", "error", err)
		}
		if p.World.Wait(ctx, turn.SweepEvery, nil) != nil {
			return
		}
	}
}
