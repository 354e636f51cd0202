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

// startPauses starts operators who pause runs and resume them. They are in one seed of four, and
// draw from streams of their own.
func (s *simulation) startPauses() {
	r := s.stream("operators who pause")
	if !r.oneIn(4) {
		return
	}
	for i := range s.plan.workflows {
		if id := fmt.Sprintf("w%d", i); r.oneIn(2) {
			s.spawn(s.name("operator who pauses %s", id), nil, func() { s.pauses(id, s.stream("pauses of "+id)) })
		}
	}
}

// pauses is the life of an operator who pauses the latest run of a workflow, and resumes it.
func (s *simulation) pauses(id string, r *draws) {
	for n := range 1 + r.IntN(4) {
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(6_000)) * time.Millisecond)})
		run := s.audit.latest(id)
		if s.calm || run == nil || run.State.Status.Closed() {
			continue
		}
		runID, request, began := run.State.RunID, fmt.Sprintf("%s-%d", id, n), 0
		_, err := s.insist(s.name("pause %s", runID), func(ctx context.Context, t edge.Service) error {
			began = s.steps
			_, err := t.Pause(ctx, id, runID, schema.PauseRequest{Reason: whim, RequestID: "pause-" + request})
			return err
		})
		s.allow("pause of "+id, err, refusal.NothingToDo, refusal.NotFound)
		if err != nil {
			continue
		}
		s.count("an operator pauses a run")
		resumed := s.audit.resumedAt[run] > began // another request had paused it, and it was resumed since
		if !s.restore.done && !s.audit.going[run] && !run.State.Steered(history.TypeWorkflowExecutionPaused, "pause-"+request) && run.State.Paused == nil && !resumed && !run.State.Status.Closed() {
			s.fail("%s was paused, and its log does not have that", runID)
		}
		s.pause(wait{until: s.now.Add(time.Duration(r.IntN(20_000)) * time.Millisecond)})
		s.unpause(id, run, "resume-"+request)
	}
}

// unpause resumes a run.
func (s *simulation) unpause(id string, run *engine.Run, request string) {
	runID := run.State.RunID
	_, err := s.insist(s.name("resume %s", runID), func(ctx context.Context, t edge.Service) error {
		_, err := t.Resume(ctx, id, runID, schema.PauseRequest{Reason: whim, RequestID: request})
		return err
	})
	s.allow("resumption of "+id, err, refusal.NothingToDo, refusal.NotFound)
	if err == nil {
		s.count("an operator resumes a run")
	}
}

// resumeAll resumes the runs that are paused when the faults end: a restored table may have taken
// back a resumption.
func (s *simulation) resumeAll() {
	for _, id := range slices.Sorted(maps.Keys(s.audit.programs)) {
		if run := s.audit.latest(id); run != nil && run.State.Paused != nil {
			s.spawn(s.name("operator who resumes %s", id), nil, func() { s.unpause(id, run, "the-last-resumption") })
		}
	}
}

// checkPaused demands that no code of a paused run has run for a commit, unless the commit resumes
// the run.
func (a *audit) checkPaused(run *engine.Run, c *history.Commit) {
	if run.State.Paused == nil || c.Task == nil || c.Task.Reset != nil {
		return
	}
	if task := (engine.Task{InputEvents: c.InputEvents}); !task.Resumes() {
		a.s.fail("%s is paused, and a task has committed: %s", run.State.RunID, sketch(c))
	}
}

// checkUnpaused demands that a run that a reset has opened is not paused. The run has the commit.
// What a reset copies may contain a pause; the last commit of its put resumes the run.
func (a *audit) checkUnpaused(run *engine.Run, c *history.Commit) {
	if c.FromReset() && !c.PartOfReset() && run.State.Paused != nil {
		a.s.fail("%s was opened by a reset, and is paused", run.State.RunID)
	}
}

// checkPending demands that the last commit of a run says that nothing may run if and only if the
// run is paused, and notes when that begins and ends.
func (a *audit) checkPending(run *engine.Run) {
	if len(run.Log) > 0 && run.Log[len(run.Log)-1].PartOfReset() {
		return // the put has more commits
	}
	paused := run.State.Paused != nil && !run.State.Status.Closed()
	if says := run.State.Pending == history.PendingPaused; says != paused {
		a.s.fail("%s: it is %t that the run is paused, and %t that its last commit says so", run.State.RunID, paused, says)
	}
	switch _, noted := a.pausedAt[run]; {
	case noted && !paused:
		delete(a.pausedAt, run)
		a.resumedAt[run] = a.s.steps
	case paused && !noted:
		a.pausedAt[run] = a.s.steps
		if a.s.calm || len(a.batches.all) > 0 {
			a.s.resumeSoon(run)
		}
	}
}

// checkHeld demands that no further attempt begins whose message was received after its run was
// paused. A first attempt may begin just then.
func (a *audit) checkHeld(info activity.Info) {
	for _, run := range a.runs[info.WorkflowID] {
		at, paused := a.pausedAt[run]
		if paused && string(run.State.RunID) == info.RunID && info.Attempt > 1 && a.s.running.began > at && !a.s.has(restored) {
			a.s.fail("attempt %d at event %d of %s begins, and the run was paused before its message was received", info.Attempt, info.EventID, info.RunID)
		}
	}
}

// isPaused reports whether a request was refused because its run is paused.
func isPaused(err error) bool { return errors.Is(err, refusal.Paused) }

// pausesRun reports whether a commit pauses its run: no message runs a task of the run from then
// on.
func pausesRun(c *history.Commit) bool {
	return slices.ContainsFunc(c.InputEvents, func(e history.Event) bool { return e.Type() == history.TypeWorkflowExecutionPaused })
}
