package weftest

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/queue"
)

const (
	// patience is for how long nothing may happen by itself before a wait counts as endless.
	// Goroutines of the test may sleep, and the loop cannot see them.
	patience = 24 * time.Hour
	// mostSteps is how many messages may be delivered between two requests.
	mostSteps = 10_000
	// mostAttempts is how many attempts an activity may have.
	mostAttempts = 1000
	// sweepAhead is how long before a timer is due the store sends it to its queue.
	sweepAhead = outbox.SweepEvery
)

// queuesOf returns the queues of a deployment with these task queues, in the order in which the
// loop reads them.
func queuesOf(taskQueues []string) []string {
	names := queue.All(taskQueues...)
	for _, name := range queue.All(taskQueues...) {
		names = append(names, queue.DeadLetters(name))
	}
	return names
}

// loop runs one step after the other. It does nothing while anything else in the bubble can
// continue.
func (e *Env) loop() {
	defer close(e.done)
	defer func() {
		if value := recover(); value != nil {
			e.broken(fmt.Sprintf("Env's loop panicked: %v (is there another Env, or a call of synctest.Wait, in this bubble? A bubble may "+
				"have one Env; call env.Settle instead of synctest.Wait)\n%s", value, debug.Stack()))
			e.mu.Lock()
			e.settled()
			e.mu.Unlock()
		}
	}()
	for {
		synctest.Wait()
		select {
		case <-e.quit:
			return
		default:
		}
		if !e.step() {
			e.rest()
		}
	}
}

// step runs one step that is due. It returns false if none is due.
func (e *Env) step() bool {
	if e.given.Err() != nil {
		return false
	}
	if e.troubled() {
		return true
	}
	if i := slices.IndexFunc(e.queues, e.queue.Ready); i >= 0 {
		e.deliver(e.queues[i])
		return true
	}
	if at, ok := e.stored(); ok && !at.After(time.Now()) {
		e.spawn(func() { _, _ = e.process.Service.Deliveries.Sweep(e.meter.Counting(context.Background())) }) // in memory it cannot fail
		return true
	}
	return e.call()
}

// deliver delivers the messages of a queue, one by one, except for those that belong together.
func (e *Env) deliver(name string) {
	limit := 1
	if name == queue.Workflow {
		limit = queue.MaxBatch
	}
	ctx := e.meter.Counting(context.Background())
	deliveries, err := e.process.Worker.Receiver.Receive(ctx, name, limit)
	if err != nil {
		e.broken(fmt.Sprintf("a queue failed: %v", err))
		return
	}
	for _, part := range worker.Split(name, deliveries) {
		e.spawn(func() { e.process.Worker.Deliver(ctx, name, part) })
		synctest.Wait()
	}
}

// spawn calls fn on a new goroutine.
func (e *Env) spawn(fn func()) {
	e.mu.Lock()
	e.deliveries++
	e.steps++
	e.idle = time.Time{}
	over := e.steps > mostSteps
	e.mu.Unlock()
	if over {
		e.broken(fmt.Sprintf("%d messages have been delivered since the test's last request, and there are more: a workflow runs without end, or an "+
			"activity is retried without end. Let it end, or look at it in between, with env.Sleep and a query", mostSteps) + e.openRuns())
	}
	e.working.Go(func() {
		defer e.changed(func() { e.deliveries-- })
		fn()
	})
}

// changed changes the loop's state, and wakes the loop.
func (e *Env) changed(change func()) {
	e.mu.Lock()
	change()
	e.mu.Unlock()
	select {
	case e.poke <- struct{}{}:
	default: // the loop is awake already
	}
}

// rest waits until something can happen.
func (e *Env) rest() {
	timer := time.NewTimer(e.pause())
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.poke:
	case <-e.quit:
	}
}

// pause returns how long nothing will happen by itself.
func (e *Env) pause() time.Duration {
	at, ok := e.next()
	e.mu.Lock()
	e.settled()
	switch {
	case e.given.Err() != nil:
		at = time.Now().Add(keep)
	case ok:
	case e.requests == 0 || e.deliveries > 0:
		at = time.Now().Add(keep)
	case e.idle.IsZero():
		e.idle = time.Now()
		at = e.idle.Add(patience)
	default:
		at = e.idle.Add(patience)
	}
	stuck := !ok && !e.idle.IsZero() && !time.Now().Before(at)
	e.mu.Unlock()
	if stuck {
		e.deadlock()
		return keep
	}
	return time.Until(at)
}

// next returns when the next known thing happens.
func (e *Env) next() (next time.Time, ok bool) {
	earlier := func(at time.Time, is bool) {
		if is && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	earlier(e.queue.Next())
	earlier(e.stored())
	earlier(e.called())
	return next, ok
}

// stored returns when the next timer that the store keeps is due to be sent.
func (e *Env) stored() (at time.Time, ok bool) {
	timers, err := e.store.DueTimers(context.Background(), time.Now().Add(2*keep), 1)
	if err != nil || len(timers) == 0 {
		return at, false
	}
	return timers[0].Due.Add(-sweepAhead), true
}

// settled wakes those who wait until nothing more can happen. e.mu is held.
func (e *Env) settled() {
	for _, s := range e.settlers {
		close(s)
	}
	e.settlers = nil
}
