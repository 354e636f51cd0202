package turn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// forever is longer than anything waits.
const forever = 24 * time.Hour

// gates let one holder at a time work on a workflow in this process, in the order of arrival. They spare the process
// races against itself; correctness does not rest on them, but on the condition of each put.
type gates struct {
	mu   sync.Mutex
	busy map[string]gate // by workflow id
}

// gate is the gate of a workflow that somebody holds.
type gate struct {
	waiting []*waiter // behind the holder
	alone   bool      // the holder carries out an update that is to be alone
}

// waiter is somebody who waits at a gate, perhaps with an update that the holder may take along.
type waiter struct {
	wake  chan struct{}
	call  *updateCall // nil for anything but an update
	alone bool        // its update is carried out by itself, because it was given back
	gone  bool        // its time was over while its update was taken along
	turn  bool        // it is the holder now
	done  bool        // its update was taken along, and answered
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
			turn, done := s.gates.state(w)
			if turn || done {
				return turn, nil
			}
			return false, errTaken
		}
	}
}

// queue takes the gate if it is free (nil), or puts a waiter into its queue.
func (g *gates) queue(workflowID string, call *updateCall) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	held, busy := g.busy[workflowID]
	if !busy {
		if g.busy == nil {
			g.busy = map[string]gate{}
		}
		g.busy[workflowID] = gate{}
		return nil
	}
	w := &waiter{wake: make(chan struct{}), call: call}
	held.waiting = append(held.waiting, w)
	g.busy[workflowID] = held
	return w
}

func (g *gates) state(w *waiter) (turn, done bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return w.turn, w.done
}

// abandon takes a waiter out of the queue, because its time is over. It returns false where the waiter is no longer in it, because its
// turn has come or its update was taken along.
func (g *gates) abandon(workflowID string, w *waiter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.busy[workflowID]
	i := slices.Index(held.waiting, w)
	if i < 0 {
		w.gone = !w.turn && !w.done
		return false
	}
	held.waiting = append(held.waiting[:i:i], held.waiting[i+1:]...)
	g.busy[workflowID] = held
	return true
}

// leave hands the gate to the next waiter.
func (g *gates) leave(workflowID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.busy[workflowID]
	if len(held.waiting) == 0 {
		delete(g.busy, workflowID)
		return
	}
	i := held.next()
	w := held.waiting[i]
	held.waiting, held.alone = append(held.waiting[:i:i], held.waiting[i+1:]...), w.alone
	g.busy[workflowID] = held
	w.turn = true
	close(w.wake)
}

// next is the waiter whose turn is next: the first one, but none whose update is to be alone after another of these. So whoever waits
// behind many of them waits for one.
func (g gate) next() int {
	if !g.alone {
		return 0
	}
	return max(slices.IndexFunc(g.waiting, func(w *waiter) bool { return !w.alone }), 0)
}

// take takes along up to limit updates that wait behind the holder, in the order of their arrival. Whoever sent them
// stays asleep until release. It takes none that is to be alone, and none with the holder's if that is.
func (g *gates) take(workflowID string, limit int) []*waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	held := g.busy[workflowID]
	if held.alone {
		return nil
	}
	var taken, left []*waiter
	for _, w := range held.waiting {
		if w.call != nil && !w.alone && len(taken) < limit {
			taken = append(taken, w)
		} else {
			left = append(left, w)
		}
	}
	held.waiting = left
	g.busy[workflowID] = held
	return taken
}

// separate releases waiters whose updates were taken along, but for those with one of these calls: they stand before the others again,
// and each carries its update out alone when its turn comes. If one of them is gone, nothing becomes of its update.
func (g *gates) separate(workflowID string, taken []*waiter, alone []*updateCall) {
	var back, answered []*waiter
	for _, w := range taken {
		if slices.Contains(alone, w.call) {
			back = append(back, w)
		} else {
			answered = append(answered, w)
		}
	}
	g.giveBack(workflowID, back)
	g.release(answered)
}

func (g *gates) giveBack(workflowID string, back []*waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	back = slices.DeleteFunc(back, func(w *waiter) bool { return w.gone })
	for _, w := range back {
		w.alone = true
	}
	held := g.busy[workflowID]
	held.waiting = append(back, held.waiting...)
	g.busy[workflowID] = held
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

// end ends the watch, if it is one.
func (w watch) end() {
	if w.stop != nil {
		w.stop()
	}
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
