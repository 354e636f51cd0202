package turn

import (
	"context"
	"errors"
	"sync"
	"time"
)

// forever is longer than anything waits.
const forever = 24 * time.Hour

// gates let one holder at a time work on a workflow in this process, in the order of arrival. They spare the process
// races against itself; correctness does not rest on them, but on the condition of each put.
type gates struct {
	mu   sync.Mutex
	busy map[string][]*waiter // by workflow id; who waits behind the holder
}

// waiter is somebody who waits at a gate, perhaps with an update that the holder may take along.
type waiter struct {
	wake chan struct{}
	call *updateCall // nil for anything but an update
	turn bool        // it is the holder now
	done bool        // its update was taken along
}

// errTaken is an update that a holder of the gate has taken along, and not answered before the caller's time was over.
var errTaken = errors.New("turn: the update is being carried out together with another")

// enterWithin is enter for a caller who waits no longer than this.
func (s *Service) enterWithin(ctx context.Context, wait time.Duration, workflowID string, call *updateCall) (bool, error) {
	w := s.gates.queue(workflowID, call)
	if w == nil {
		return true, nil // most gates are free, and a context with a timeout costs more than entering one
	}
	limited, cancel := s.world.WithTimeout(ctx, wait)
	defer cancel()
	return s.atGate(limited, workflowID, w)
}

// enter waits for the gate of a workflow. It returns false where the waiter's update was taken along by a holder before
// it and answered, and an error where ctx ended first: errTaken if its update is being carried out, which the holder goes on with, and
// any other one if nothing will happen. Otherwise the caller must leave.
func (s *Service) enter(ctx context.Context, workflowID string, call *updateCall) (bool, error) {
	w := s.gates.queue(workflowID, call)
	if w == nil {
		return true, nil
	}
	return s.atGate(ctx, workflowID, w)
}

// atGate is enter behind others.
func (s *Service) atGate(ctx context.Context, workflowID string, w *waiter) (bool, error) {
	for {
		err := s.world.Wait(ctx, forever, w.wake)
		turn, done := s.gates.state(w)
		switch {
		case turn:
			return true, nil
		case done:
			return false, nil
		case err != nil && s.gates.abandon(workflowID, w):
			return false, err
		case err != nil: // its turn has come, or its update was taken along
			if turn, _ := s.gates.state(w); turn {
				return true, nil
			}
			return false, errTaken
		}
	}
}

// queue takes the gate if it is free (nil), or puts a waiter into its queue.
func (g *gates) queue(workflowID string, call *updateCall) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting, busy := g.busy[workflowID]
	if !busy {
		if g.busy == nil {
			g.busy = map[string][]*waiter{}
		}
		g.busy[workflowID] = nil
		return nil
	}
	w := &waiter{wake: make(chan struct{}), call: call}
	g.busy[workflowID] = append(waiting, w)
	return w
}

func (g *gates) state(w *waiter) (turn, done bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w.turn, w.done
}

// abandon takes a waiter out of the queue. It returns false where the waiter is no longer in it, because its turn has
// come or its update was taken along.
func (g *gates) abandon(workflowID string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.busy[workflowID]
	for i, other := range waiting {
		if other == w {
			g.busy[workflowID] = append(waiting[:i:i], waiting[i+1:]...)
			return true
		}
	}
	return false
}

// leave hands the gate to the next waiter.
func (g *gates) leave(workflowID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	waiting := g.busy[workflowID]
	if len(waiting) == 0 {
		delete(g.busy, workflowID)
		return
	}
	g.busy[workflowID] = waiting[1:]
	waiting[0].turn = true
	close(waiting[0].wake)
}

// take takes along up to limit updates that wait behind the holder, in the order of their arrival. Whoever sent them
// stays asleep until release.
func (g *gates) take(workflowID string, limit int) []*waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	var taken, left []*waiter
	for _, w := range g.busy[workflowID] {
		if w.call != nil && len(taken) < limit {
			taken = append(taken, w)
		} else {
			left = append(left, w)
		}
	}
	g.busy[workflowID] = left
	return taken
}

// release wakes those whose updates were taken along: they have been answered.
func (g *gates) release(taken []*waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range taken {
		w.done = true
		close(w.wake)
	}
}

// watchers wake those who wait for something to happen to a workflow, when a session of this process has committed to it.
type watchers struct {
	mu       sync.Mutex
	channels map[string]*watchedBy
}

// watchedBy is those who wait for the next commit of a workflow.
type watchedBy struct {
	channel chan struct{}
	holders int
}

// watch is a wait for the next commit of a workflow: changed is closed then. Call stop when it is no longer needed.
type watch struct {
	changed <-chan struct{}
	stop    func()
}

// watch begins to watch a workflow.
func (w *watchers) watch(workflowID string) watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.channels == nil {
		w.channels = map[string]*watchedBy{}
	}
	held := w.channels[workflowID]
	if held == nil {
		held = &watchedBy{channel: make(chan struct{})}
		w.channels[workflowID] = held
	}
	held.holders++
	return watch{held.channel, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if held.holders--; held.holders == 0 && w.channels[workflowID] == held {
			delete(w.channels, workflowID)
		}
	}}
}

// detach returns the channel of those who watch a workflow, for the caller to close; nil if there are none. Who begins to watch after
// that waits for the commit after the next.
func (w *watchers) detach(workflowID string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.channels[workflowID]
	if held == nil {
		return nil
	}
	delete(w.channels, workflowID)
	return held.channel
}
