package isolate

import (
	"context"
	"slices"
	"sync"
	"time"
)

// mostDelayed bounds the postponed deliveries that are remembered. The queue redelivers all others
// when their time is over.
const mostDelayed = 10_000

// delivery is a postponed delivery.
type delivery struct {
	workflow, queue string
	receipts        []string
	until           time.Time // when the queue redelivers it
}

// delayed are the postponed deliveries: their workflow is parked, or it was not its turn. They
// occupy no handler meanwhile.
type delayed struct {
	mu   sync.Mutex
	list []delivery
}

func (l *delayed) add(d delivery, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) >= mostDelayed {
		l.list = slices.DeleteFunc(l.list, func(d delivery) bool { return !now.Before(d.until) })
	}
	if len(l.list) < mostDelayed {
		l.list = append(l.list, d)
	}
}

// take removes and returns the deliveries that no longer have to wait: those whose workflow is no
// longer a suspect and, if free, the first whose turn it may be.
func (l *delayed) take(s *suspects, free bool, now time.Time) (due []delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = slices.DeleteFunc(l.list, func(d delivery) bool {
		if !now.Before(d.until) {
			return true
		}
		suspect, parked := s.state(d.workflow)
		next := free && suspect && !parked
		if next {
			free = false
		}
		if !suspect || next {
			due = append(due, d)
		}
		return !suspect || next
	})
	return due
}

// wake makes postponed deliveries visible that no longer have to wait. If that fails, the queue
// redelivers them when their time is over.
func (p *Pool) wake() {
	select {
	case <-p.stopped:
		return
	default:
	}
	for _, d := range p.delayed.take(&p.suspects, len(p.oneByOne) == 0, time.Now()) {
		p.extend(context.Background(), d.queue, d.receipts, 0)
	}
}

// putOff postpones a delivery: it is visible after a while, or earlier if it no longer has to wait.
func (p *Pool) putOff(ctx context.Context, d delivery, by time.Duration) {
	p.extend(ctx, d.queue, d.receipts, by)
	now := time.Now()
	d.until = now.Add(by)
	p.delayed.add(d, now)
	p.wake() // what it waited for may have happened meanwhile
}

// clear removes the suspicion against a workflow.
func (p *Pool) clear(workflow string) {
	if p.suspects.clear(workflow) {
		p.wake()
	}
}

// extend makes messages visible after a while.
func (p *Pool) extend(ctx context.Context, queue string, receipts []string, after time.Duration) {
	for _, receipt := range receipts {
		if err := p.o.Receiver.Extend(ctx, queue, receipt, after); err != nil {
			p.o.Log.WarnContext(ctx, "the queue redelivers a message only after its visibility time-out", "error", err)
		}
	}
}
