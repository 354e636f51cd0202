package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed/edge"
)

// counted lets the activities of some ledgers have a few attempts. It draws from a stream of its
// own.
func (s *simulation) counted(id string, p program) program {
	if r := s.stream("tries of " + id); !p.Once && r.oneIn(5) {
		p.Tries = 2 + r.IntN(2)
	}
	return p
}

// startByHand starts operators who retry stuck runs and activities, and operators who end
// activities by hand. They are in one seed of four, and draw from streams of their own.
func (s *simulation) startByHand() {
	r := s.stream("operators by hand")
	if !r.oneIn(4) {
		return
	}
	for i := range s.plan.workflows {
		id := fmt.Sprintf("w%d", i)
		if r.oneIn(2) {
			s.spawn(s.name("operator who retries %s", id), nil, func() { s.retries(id, s.stream("retries of "+id)) })
		}
		if r.oneIn(3) {
			s.spawn(s.name("operator who ends activities of %s", id), nil, func() { s.byHand(id, s.stream("by hand "+id)) })
		}
	}
}

// retries is the life of an operator who looks often, and retries a run if it is stuck, and
// otherwise one of its activities.
func (s *simulation) retries(id string, r *draws) {
	for range 10 + r.IntN(30) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(1_500)) * time.Millisecond)})
		run := s.audit.latest(id)
		if s.calm || run == nil || run.State.Status.Closed() {
			continue
		}
		runID := run.State.RunID
		if run.State.Streak != nil {
			_, err := s.insist(s.name("retry %s", runID), func(ctx context.Context, t edge.Service) error {
				_, err := t.Retry(ctx, id, runID)
				return err
			})
			s.allow("retry of "+id, err, refusal.NothingToDo, refusal.NotReady, refusal.NotFound, refusal.Paused)
			continue
		}
		event, failed := s.oneFailed(run, r)
		if !failed {
			continue
		}
		_, err := s.insist(s.name("retry event %d of %s", event, runID), func(ctx context.Context, t edge.Service) error {
			_, err := t.RetryActivity(ctx, id, runID, event)
			return err
		})
		s.allow("retry of an activity of "+id, err, refusal.NothingToDo, refusal.ActivityEnded, refusal.NotFound, refusal.Paused)
		if err == nil {
			s.count("an operator retries an activity")
		}
	}
}

// byHand is the life of an operator who completes or fails activities.
func (s *simulation) byHand(id string, r *draws) {
	for n := range 1 + r.IntN(3) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(15_000)) * time.Millisecond)})
		run := s.audit.latest(id)
		if s.calm || run == nil || run.State.Status.Closed() {
			continue
		}
		runID := run.State.RunID
		event, pending := s.onePending(run, r)
		if !pending {
			continue
		}
		result, fails, reason := run.State.Activities[event].Input, r.oneIn(3), fmt.Sprintf("%s, number %d", whim, n)
		_, err := s.insist(s.name("end event %d of %s by hand", event, runID), func(ctx context.Context, t edge.Service) (err error) {
			if fails {
				_, err = t.FailByHand(ctx, id, runID, event, schema.FailByHandRequest{Message: "by hand", Reason: reason})
				return err
			}
			_, err = t.CompleteByHand(ctx, id, runID, event, schema.CompleteByHandRequest{Result: []byte(result), Reason: reason})
			return err
		})
		s.allow("end of an activity of "+id+" by hand", err, refusal.ActivityEnded, refusal.NotFound)
		s.audit.endedByHand(run, event, reason, err)
	}
}

// allow demands that a request succeeded, or was refused in one of these ways.
func (s *simulation) allow(what string, err error, kinds ...refusal.Kind) {
	if err != nil && !slices.ContainsFunc(kinds, func(k refusal.Kind) bool { return errors.Is(err, k) }) {
		s.fail("%s: %v", what, err)
	}
}

// oneFailed draws one of a run's pending activities of which an attempt is recorded as failed.
func (s *simulation) oneFailed(run *engine.Run, r *draws) (event int64, ok bool) {
	failed := slices.DeleteFunc(slices.Sorted(maps.Keys(run.State.Activities)), func(event int64) bool {
		return s.audit.attempts.failed[tried{string(run.State.RunID), event}] == 0
	})
	if len(failed) == 0 {
		return 0, false
	}
	return failed[r.IntN(len(failed))], true
}

// onePending draws one of a run's pending activities.
func (s *simulation) onePending(run *engine.Run, r *draws) (event int64, ok bool) {
	pending := slices.Sorted(maps.Keys(run.State.Activities))
	if len(pending) == 0 {
		return 0, false
	}
	return pending[r.IntN(len(pending))], true
}

// endedByHand demands that an activity has ended after the answer to a request that ends it by
// hand: in the way that the request says if it succeeded, and in another way if it was refused
// because the activity had ended.
func (a *audit) endedByHand(run *engine.Run, event int64, reason string, err error) {
	if a.s.restore.done || a.going[run] || errors.Is(err, refusal.NotFound) {
		return // a restored log may lack the end
	}
	is := false
	for _, c := range run.Log {
		for _, e := range c.Events() {
			switch end := e.Attributes.(type) {
			case *history.ActivityTaskCompleted:
				is = is || end.ScheduledEventID == event && end.ByHand == reason
			case *history.ActivityTaskFailed:
				is = is || end.ScheduledEventID == event && end.ByHand == reason
			}
		}
	}
	switch {
	case err == nil && !is:
		a.s.fail("event %d of %s was ended by hand (%s), and its log says otherwise", event, run.State.RunID, reason)
	case err == nil:
		a.s.count("an operator ends an activity by hand")
	case is:
		a.s.fail("event %d of %s was ended by hand (%s), and the answer is that it had ended otherwise: %v", event, run.State.RunID, reason, err)
	case !run.State.Status.Closed() && run.State.Activities[event] != nil:
		a.s.fail("event %d of %s is pending, and the answer to its end by hand is that it had ended: %v", event, run.State.RunID, err)
	}
}

// beganCounted demands that an activity begins no more attempts than it may. A copy of a message
// may begin an attempt again whose failure an earlier version has recorded, without the run.
func (a *audit) beganCounted(info activity.Info) {
	p := a.programs[info.WorkflowID]
	if a.attempts.unnamed[effort{workflow: info.WorkflowID, run: history.RunID(info.RunID).Number(), event: info.EventID}] {
		return
	}
	if n := a.attempts.begun[tried{info.RunID, info.EventID}]; p.Tries > 0 && n > p.Tries && !a.s.has(restored) {
		a.s.fail("event %d of %s may be tried %d times, and %d attempts have begun", info.EventID, info.RunID, p.Tries, n)
	}
}
