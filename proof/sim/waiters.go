package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
	"github.com/seed-41655fb1/weft/store"
)

// waitHold draws how long a process holds a call that waits: 0 is the soft limit, and less than 0
// is never.
func (s *simulation) waitHold() time.Duration {
	return []time.Duration{0, 250 * time.Millisecond, 20 * time.Second, -1}[s.stream("holds of waiting calls").IntN(4)]
}

// waiter is a caller who waits for the outcome of a run, and pauses between two requests for as
// long as the answers say. It draws from a stream of its own.
type waiter struct {
	*simulation
	id    string
	run   history.RunID // empty until the first answer
	since time.Time     // when it began to wait for that run
	asked int           // its requests for the outcome of that run

	awaited int // of how many runs it has the outcome
}

const (
	// waitedFor is how long a request of a waiter waits.
	waitedFor = 20 * time.Second
	// mostAsked is how many requests a waiter sends before it gives up, and again when the
	// simulation is calm.
	mostAsked = 24
	// mostAwaited is how many runs of a chain it waits for.
	mostAwaited = 3
)

// startWaiters starts the waiters of the workflows that have one.
func (s *simulation) startWaiters() {
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		if r := s.stream("waiter of " + id); r.oneIn(4) {
			s.spawn(s.name("waiter of %s", id), nil, func() {
				s.pause(wait{until: s.now.Add(time.Duration(r.IntN(8000)) * time.Millisecond)})
				w := &waiter{simulation: s, id: id}
				s.waiters = append(s.waiters, w)
				w.live()
			})
		}
	}
}

// finishWaiters lets the waiters ask again that have given up.
func (s *simulation) finishWaiters() {
	for _, w := range s.waiters {
		w.asked = 0
		s.spawn(s.name("waiter of %s", w.id), nil, w.live)
	}
	s.waiters = nil
}

// live waits for the outcome of a run, and of some that follow it.
func (w *waiter) live() {
	for w.awaited < mostAwaited {
		next, ok := w.await()
		if !ok {
			return // it has given up
		}
		if w.awaited++; next == "" {
			break
		}
		w.run, w.asked = next, 0
	}
	w.waiters = slices.DeleteFunc(w.waiters, func(other *waiter) bool { return other == w })
}

// await waits for the outcome of a run, and returns the run that follows, if there is one. It
// returns false if it gives up.
func (w *waiter) await() (next history.RunID, ok bool) {
	w.since = w.now
	for ; w.asked < mostAsked; w.asked++ {
		var a *schema.ResultResponse
		_, err := w.insist(w.name("result of %s %s", w.id, w.run), func(ctx context.Context, t edge.Service) (err error) {
			a, err = w.ask(ctx, t)
			return err
		})
		if err != nil { // the run does not exist yet, or has been deleted
			w.pause(wait{until: w.now.Add(w.rest(0))})
			continue
		}
		w.run = a.RunID
		if a.Status.Closed() {
			w.count("a waiter gets the outcome")
			return a.NewRunID, true
		}
		w.pause(wait{until: w.now.Add(w.rest(time.Duration(a.RetryAfter)))})
	}
	return "", false
}

// rest returns how long a waiter pauses after an answer without the outcome. If the answer does not
// say it, it asks again at once, and when it has asked often, after longer and longer.
func (w *waiter) rest(pause time.Duration) time.Duration {
	const quick = 8
	return max(pause, 50*time.Millisecond<<max(0, min(w.asked-quick, 16)))
}

// ask asks for the outcome once, and checks the answer.
func (w *waiter) ask(ctx context.Context, t edge.Service) (a *schema.ResultResponse, err error) {
	options, began := w.running.process.settings.options, w.now
	waited := began.Sub(w.since)
	before := w.audit.seen(w.id, w.run)
	hold := max(0, min(waitedFor, options.WaitHold-waited))
	if options.WaitHold == 0 {
		hold = waitedFor
	}
	err = w.within(max(hold, turnLeast), "result of "+w.id, func() error {
		a, err = t.ResultAfter(ctx, w.id, w.run, waitedFor, waited)
		return err
	})
	if err != nil {
		return nil, err
	}
	run := w.audit.runOf(w.id, a.RunID)
	if run == nil || w.has(restored) {
		return a, nil
	}
	result, _ := run.State.Outcome()
	switch {
	case a.Status.Closed() && (a.Status != run.State.Status || string(a.Result) != string(result) || a.NewRunID != run.State.Next()):
		w.fail("a waiter of %s %s gets the outcome %s %s, followed by %q; the log says %s %s, %q", w.id, a.RunID, a.Status, a.Result, a.NewRunID, run.State.Status, result, run.State.Next())
	case a.Status.Closed():
	case before.closed && before.run == a.RunID:
		w.fail("a waiter of %s %s does not get the outcome, although the run had ended", w.id, a.RunID)
	case before.run == a.RunID && before.slot == run.State.NextSlot:
		w.checkPause(run, options.WaitHold, began, time.Duration(a.RetryAfter))
	}
	return a, nil
}

// checkPause checks how long a waiter is to pause whose run has not changed since it asked.
//
//   - Nobody pauses if processes hold calls until the soft limit.
//   - A caller whose run waits for its next attempt, or for the moment of its cron expression, asks
//     soon after that moment, and until then every five minutes.
//   - Any other caller learns of the outcome at most a minute late. If the run is neither paused
//     nor stuck, that is at most an eighth of the time that the caller has waited, or a second.
func (w *waiter) checkPause(run *engine.Run, hold time.Duration, began time.Time, pause time.Duration) {
	const soon, longest, rounded = 250 * time.Millisecond, 5 * time.Minute, time.Millisecond
	p := run.State.Pending
	still := p == history.PendingPaused || p == history.PendingRetry
	switch {
	case hold == 0 && pause != 0, hold != 0 && pause <= 0:
		w.fail("a waiter of %s pauses for %v; its process holds calls for %v", w.id, pause, hold)
	case hold == 0 || w.clockGap() > 0:
	case !run.Waits():
		if waited := w.now.Sub(w.since); pause > time.Minute || !still && pause > max(time.Second, waited/8)+rounded {
			w.fail("a waiter of %s has waited for %v, and pauses for %v", w.id, waited, pause)
		}
	default:
		at := run.State.StartTime.Add(time.Duration(run.State.Started.StartDelay))
		if d := run.Deadline(); d != 0 {
			at = min(at, d)
		}
		left := func(now time.Time) time.Duration { return at.Sub(history.At(now)) }
		if least := min(left(w.now), longest); pause < least {
			w.fail("a waiter of %s pauses for %v, and nothing happens for %v", w.id, pause, least)
		}
		if most := min(left(began)+soon, longest) + rounded; left(w.now) > 0 && pause > max(most, soon) {
			w.fail("a waiter of %s pauses for %v, and its run goes on after %v", w.id, pause, left(w.now))
		}
	}
}

// glimpse is a run at some moment.
type glimpse struct {
	run    history.RunID
	slot   uint32
	closed bool
}

// seen returns a run of a workflow as it is now. If the id is empty, that is the latest. It returns
// the zero value if there is none, or if reads do not see its last commit yet.
func (a *audit) seen(workflow string, id history.RunID) glimpse {
	run := a.latest(workflow)
	if id != "" {
		run = a.runOf(workflow, id)
	}
	if run == nil || run.State.NextSlot == 0 {
		return glimpse{}
	}
	if until, hidden := a.s.torn[store.Key{Workflow: workflow, Run: run.Number, Slot: run.State.NextSlot - 1}]; hidden && a.s.now.Before(until) {
		return glimpse{}
	}
	return glimpse{run.State.RunID, run.State.NextSlot, run.State.Status.Closed()}
}
