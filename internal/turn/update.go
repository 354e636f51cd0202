package turn

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/lock"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/internal/turn/runner"
)

// updateCall is an update request while it is carried out, and then its answer.
type updateCall struct {
	request engine.UpdateRequest
	runID   history.RunID // pinned; empty for the latest run

	// first is a call of the same id that came before it and is carried out with it; nil where there is none.
	first *updateCall

	answer api.UpdateResponse
	err    error

	// settled says that the call is answered from a commit that has landed, whatever becomes of those that it was carried out with.
	settled bool

	// returned says that whoever carried it out has returned.
	returned bool
	// over says that the caller's time is over, or that whoever carried it out has panicked with what panicked has.
	over     atomic.Bool
	panicked host.Panic

	// began is when the call came. If it came to a verdict, that is the verdict, when it was known, and on which run.
	began, decided time.Time
	verdict        observe.Outcome
	on             observe.Run
}

// Update sends an update. An answer of stage accepted or completed is in the log; one of stage rejected left no trace.
func (s *Service) Update(ctx context.Context, workflowID string, runID history.RunID, name string, r api.UpdateRequest) (*api.UpdateResponse, error) {
	call, err := s.newCall(workflowID, runID, name, &r)
	if err != nil {
		return nil, err
	}
	wait, err := s.checkWait(r.Timeout)
	if err != nil {
		return nil, err
	}
	if r.Start == nil {
		err = s.carryOut(ctx, workflowID, call, wait)
	} else {
		err = s.carryOutWithStart(ctx, workflowID, runID, r.Start, call, wait)
	}
	if err == errStillRuns {
		return nil, err // who carries it out still writes to the call
	}
	s.tellUpdate(ctx, call)
	if err != nil {
		return nil, err
	}
	if call.answer.Stage != api.StageAccepted || r.WaitFor == api.StageAccepted {
		return &call.answer, nil
	}
	left := call.began.Add(wait).Sub(s.world.Now())
	if left <= 0 {
		return &call.answer, nil
	}
	if answer, err := s.pollUpdate(ctx, workflowID, call.answer.RunID, call.request.ID, left, &wrote{}); err == nil {
		answer.Started = call.answer.Started
		return answer, nil
	}
	return &call.answer, nil // it is accepted, whatever became of the wait
}

func (s *Service) newCall(workflowID string, runID history.RunID, name string, r *api.UpdateRequest) (*updateCall, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckName("update's name", name); err != nil {
		return nil, api.Invalid.New("%v", err)
	}
	if r.UpdateID == "" {
		r.UpdateID = history.CommitID(s.world.ID()).String()
	}
	if err := engine.CheckID("updateId", r.UpdateID); err != nil {
		return nil, api.Invalid.New("%v", err)
	}
	switch r.WaitFor {
	case "", api.StageAccepted, api.StageCompleted:
	default:
		return nil, api.Invalid.New("there is no waitFor %q: give %s or %s", r.WaitFor, api.StageAccepted, api.StageCompleted)
	}
	if err := s.checkPayload(r.Input); err != nil {
		return nil, err
	}
	return &updateCall{
		request: engine.UpdateRequest{ID: r.UpdateID, Name: name, Input: history.Payload(r.Input)}, runID: runID, began: s.world.Now(),
	}, nil
}

// checkWait is how long a caller waits: the soft limit, or less if it says so.
func (s *Service) checkWait(timeout *api.Duration) (time.Duration, error) {
	switch {
	case timeout == nil:
		return s.options.SoftLimit, nil
	case *timeout < 0:
		return 0, api.Invalid.New("the time to wait is negative: give a duration such as \"5s\", or none")
	}
	return min(time.Duration(*timeout), s.options.SoftLimit), nil
}

// carryOut has the update run at its workflow's gate: by this call, together with those that wait behind it, or by one
// before it that took it along. It returns errStillRuns if the caller's time is over while the update may still be accepted.
func (s *Service) carryOut(ctx context.Context, workflowID string, call *updateCall, wait time.Duration) error {
	acquired, err := s.locks.AcquireWithin(ctx, wait, workflowID, call)
	switch {
	case errors.Is(err, lock.ErrTaken):
		return errStillRuns
	case err != nil:
		return errWaited
	case acquired == lock.Answered:
		return call.err
	}
	late := s.bounded(call, wait, func() {
		defer s.outlive(call)
		s.carryOutHere(ctx, workflowID, call, wait)
		call.returned = true
	})
	if late != nil {
		return late
	}
	return call.err
}

// carryOutHere is carryOut at the gate, which it leaves. It gives updates back to those who sent them if they have to be carried out
// alone.
func (s *Service) carryOutHere(ctx context.Context, workflowID string, call *updateCall, wait time.Duration) {
	taken := s.locks.Take(workflowID, s.options.UpdatesTogether-1)
	calls := []*updateCall{call}
	for _, w := range taken {
		calls = append(calls, w.Call.(*updateCall))
	}
	t := s.begin(workflowID)
	if len(taken) == 0 {
		t.patience = wait
	}
	ended := false
	defer func() {
		if !ended { // a store has panicked, say
			for _, w := range taken {
				w.Call.(*updateCall).err = s.problem(outcome.ErrUnknown)
			}
		}
		t.close()
		s.locks.Answer(taken)
	}()
	ctx, cancel := s.world.WithTimeout(context.WithoutCancel(ctx), s.options.SoftLimit)
	defer cancel()
	if alone := t.updates(ctx, calls); len(alone) > 0 {
		s.separate(workflowID, taken, alone)
		taken = nil
		if slices.Contains(alone, call) {
			t.view.Fresh = false
			t.updates(ctx, []*updateCall{call})
		}
	}
	t.worked(ctx)
	ended = true
}

// separate gives the calls that have to be carried out alone back to their callers, and answers the others.
func (s *Service) separate(workflowID string, taken []*lock.Waiter[any], alone []*updateCall) {
	var back, answered []*lock.Waiter[any]
	for _, w := range taken {
		if slices.Contains(alone, w.Call.(*updateCall)) {
			back = append(back, w)
		} else {
			answered = append(answered, w)
		}
	}
	s.locks.GiveBack(workflowID, back)
	s.locks.Answer(answered)
}

// carryOutWithStart carries an update out that may open the run which it is for.
func (s *Service) carryOutWithStart(ctx context.Context, workflowID string, runID history.RunID, r *api.StartRequest, call *updateCall, wait time.Duration) error {
	if r.IDConflictPolicy == "" {
		return api.Invalid.New("a start that comes with an update needs an idConflictPolicy: give %s, %s or %s", conflictFail, useExisting, terminateExisting)
	}
	if r.Cron != "" {
		return api.Invalid.New("a start that comes with an update cannot wait for the first moment of a cronSchedule: leave the cronSchedule out, or start the workflow first")
	}
	w, err := s.checkWithStart(ctx, workflowID, runID, r)
	if err != nil {
		return err
	}
	t, err := s.openWithin(ctx, wait, workflowID)
	if err != nil {
		return errWaited
	}
	t.patience = wait
	late := s.bounded(call, wait, func() {
		defer s.outlive(call)
		err = s.carry(ctx, t, s.world.Now().Add(s.options.SoftLimit), func(ctx context.Context, t *session) error { return t.updateWithStart(ctx, w, call) })
		call.returned = true
	})
	if late != nil {
		return late // and err is not ours any more
	}
	if err != nil && w.opened && (errors.Is(err, api.Busy) || errors.Is(err, api.TooLarge)) {
		return errOpened
	}
	if err != nil {
		return err
	}
	call.answer.Started = &w.answer.Started
	return call.err
}

// errOpened is an update that came with a start and was not carried out, after the start had opened its run.
var errOpened = api.OutcomeUnknown.New("the workflow was started, and its update was not carried out in time: send the request again with the same ids")

// updates answers the calls together. It returns those that have to be carried out alone: if the code of one fails, that one and the
// others of its name, so that they do not take the rest down. The rest is answered.
func (t *session) updates(ctx context.Context, calls []*updateCall) (alone []*updateCall) {
	err := outcome.ErrBusy
	if ctx.Err() == nil { // code may have used up the time
		err = t.insist(ctx, func(ctx context.Context, t *session) error { return t.updateTogether(ctx, calls) })
	}
	if err == nil {
		return nil
	}
	var apart *apartError
	if !errors.As(err, &apart) || len(calls) == 1 {
		for _, c := range calls {
			switch {
			case c.settled:
			case c.first != nil && c.first.settled:
				c.answer, c.err = c.first.answer, c.first.err
			default:
				c.err = t.problem(err)
			}
		}
		return nil
	}
	alone, rest := apart.split(calls)
	if len(rest) > 0 {
		t.view.Fresh = false
		alone = append(alone, t.updates(ctx, rest)...)
	}
	return alone
}

// apartError says that calls cannot be carried out together.
type apartError struct {
	// blamed is the id of the one whose code failed; empty if it is not known whose.
	blamed string
}

// Error implements error.
func (*apartError) Error() string { return "turn: carry the updates out alone" }

// split returns the calls that have to be carried out alone, because code of the same name has failed, and the rest.
func (e *apartError) split(calls []*updateCall) (alone, rest []*updateCall) {
	i := slices.IndexFunc(calls, func(c *updateCall) bool { return c.request.ID == e.blamed })
	if i < 0 {
		return calls, nil
	}
	for _, c := range calls {
		if c.request.Name == calls[i].request.Name {
			alone = append(alone, c)
		} else {
			rest = append(rest, c)
		}
	}
	return alone, rest
}

// updateTogether is one try at answering the calls. An error means that none of them is answered but those that are settled.
func (t *session) updateTogether(ctx context.Context, calls []*updateCall) error {
	if slices.ContainsFunc(calls, (*updateCall).isSettled) {
		calls = slices.DeleteFunc(slices.Clone(calls), (*updateCall).isSettled)
	}
	if err := t.view.EnsureLoaded(ctx); err != nil {
		return err
	}
	fresh, err := t.lookUpAll(ctx, calls)
	if err == nil && len(fresh) > 0 {
		err = t.propose(ctx, fresh)
	}
	if err != nil {
		return err
	}
	for _, c := range calls {
		if c.first != nil {
			c.answer, c.err = c.first.answer, c.first.err
		}
	}
	return nil
}

func (c *updateCall) isSettled() bool { return c.settled }

// lookUpAll answers the calls that the logs of the workflow's runs answer, and returns the others.
func (t *session) lookUpAll(ctx context.Context, calls []*updateCall) ([]*updateCall, error) {
	fresh, answered := t.lookUp(calls)
	if answered > 0 && !t.view.Fresh {
		return nil, t.final(ctx, nil)
	}
	if err := t.lookUpOlder(ctx, calls); err != nil || len(fresh) == 0 {
		return nil, err
	}
	return t.lookUpBefore(ctx, t.run(), fresh)
}

// propose runs the workflow's code with the calls in it, speculatively: nothing is written unless it accepts one of them, or
// issues a command.
func (t *session) propose(ctx context.Context, calls []*updateCall) error {
	run := t.run()
	if err := t.mine(ctx, run); err != nil {
		return err
	}
	if err := t.refused(run, runner.CodeUpdate); err != nil {
		return t.final(ctx, err)
	}
	if f := run.NotReady(t.options.Build); f != nil {
		for _, c := range calls {
			c.err = notReady(f)
		}
		return t.final(ctx, nil)
	}
	task := engine.Task{}
	for _, c := range calls {
		task.Updates = append(task.Updates, c.request)
	}
	known, fresh := endOf(run), t.view.Fresh
	transition, err := t.step(ctx, run, task)
	if err != nil {
		return err
	}
	if transition.Failure != nil && len(calls) > 1 {
		t.discard()
		return &apartError{transition.Blamed}
	}
	if transition.Commit == nil {
		t.retire(transition)
		if next := run.NextTask(); next != nil && transition.Left() {
			// The workflow's function has returned, and the run closes in its next task, whoever brings that.
			if err := t.commitTask(ctx, run, engine.Task{Brought: []history.Event{history.Of(next)}}); err != nil {
				return err
			}
			return t.updateTogether(ctx, calls)
		}
		if err := t.stands(ctx, known, fresh); err != nil {
			return err
		}
	} else if err := t.commit(ctx, run, transition); err != nil {
		waits := run.State.Pending == history.PendingTask || run.State.Pending == history.PendingStart
		switch tooLarge := errors.Is(err, outcome.ErrTooLarge); {
		case tooLarge && len(calls) > 1:
			return &apartError{}
		case tooLarge && waits: // that task writes as well, and has to come first
			t.discard()
			if err := t.commitTask(ctx, run, engine.Task{First: true}); err != nil {
				return err
			}
			return t.updateTogether(ctx, calls)
		}
		return err
	}
	var others []*updateCall
	for i, c := range calls {
		if transition.ClosedBefore(i) {
			others = append(others, c)
		} else {
			t.answer(run, c, transition, i)
			c.settled = transition.Commit != nil
		}
	}
	if len(others) > 0 {
		return t.updateTogether(ctx, others) // the run that continues this one takes them, or they are told that it has closed
	}
	return nil
}

// logEnd is where a run's log ends.
type logEnd struct {
	run  history.RunID
	slot uint32
	last history.CommitID
}

// endOf returns where a run's log ends as far as it is known. A nil run has no log.
func endOf(run *engine.Run) (end logEnd) {
	if run == nil || run.Last() == nil {
		return end
	}
	return logEnd{run.State.RunID, run.State.NextSlot, run.Last().ID}
}

// stands makes sure that a verdict on the latest run holds now. The code came to it when the log ended at known; fresh says that this
// session had read the log by then. It returns outcome.ErrStale if the log has more by now. The session may have forgotten the run and read it anew,
// because code that hangs holds it.
func (t *session) stands(ctx context.Context, known logEnd, fresh bool) error {
	if fresh {
		return nil
	}
	if err := t.view.Refresh(ctx); err != nil {
		return err
	}
	if endOf(t.run()) != known {
		return outcome.ErrStale
	}
	return nil
}

// lookUp answers the calls that need no code: ids that are known, runs that are closed or not there. It returns the
// others. The answers hold only if what is known is current.
func (t *session) lookUp(calls []*updateCall) (fresh []*updateCall, answered int) {
	run := t.run()
	seen := map[string]*updateCall{}
	for _, c := range calls {
		c.answer, c.err, c.first = api.UpdateResponse{UpdateID: c.request.ID}, nil, nil
		switch {
		case run == nil:
			c.err = noSuchWorkflow(t.workflowID)
		case c.pinsOther(run):
			c.err = notLatest(t.workflowID, c.runID)
		case run.State.Updates[c.request.ID] != nil:
			c.outcome(run)
		case run.State.Status.Closed():
			c.err = runClosed(run)
		case seen[c.request.ID] != nil:
			c.first = seen[c.request.ID]
			continue
		default:
			seen[c.request.ID] = c
			fresh = append(fresh, c)
			continue
		}
		answered++
	}
	return fresh, answered
}

// pinsOther reports whether the call pins a run that is not the latest.
func (c *updateCall) pinsOther(latest *engine.Run) bool {
	return latest != nil && c.runID != "" && c.runID != latest.State.RunID
}

// lookUpOlder answers the calls that the latest run takes no more from a run before: the one that they pin, or the one that
// the latest continues, for callers who may not know that there were others since.
func (t *session) lookUpOlder(ctx context.Context, calls []*updateCall) error {
	latest := t.run()
	if latest == nil {
		return nil
	}
	for _, c := range calls {
		if c.err == nil {
			continue
		}
		var run *engine.Run
		var err error
		switch {
		case c.pinsOther(latest):
			run, err = t.view.Other(ctx, c.runID)
		case c.runID == "":
			run, err = t.view.Before(ctx, latest)
		}
		if err != nil {
			return err
		}
		if run != nil && run.State.Updates[c.request.ID] != nil {
			c.err = nil
			c.outcome(run)
		}
	}
	return nil
}

// lookUpBefore answers the calls whose ids the run before knows, which this one continues: the caller may not know that
// there is another one now. It returns the other calls. The answers hold only if this run is the latest: a later one may
// have accepted an id of theirs anew.
func (t *session) lookUpBefore(ctx context.Context, run *engine.Run, calls []*updateCall) ([]*updateCall, error) {
	before, err := t.view.Before(ctx, run)
	if err != nil || before == nil {
		return calls, err
	}
	others := slices.DeleteFunc(slices.Clone(calls), func(c *updateCall) bool {
		known := c.runID == "" && before.State.Updates[c.request.ID] != nil
		if known {
			c.outcome(before)
		}
		return known
	})
	if len(others) < len(calls) && !t.view.Fresh {
		return nil, t.final(ctx, nil)
	}
	return others, nil
}

// outcome answers a call from the log: the update was accepted.
func (c *updateCall) outcome(run *engine.Run) {
	u := run.State.Updates[c.request.ID]
	c.answer.RunID, c.answer.Stage = run.State.RunID, api.StageAccepted
	if result, f, done := run.State.UpdateOutcome(u); done {
		c.answer.Stage, c.answer.Result, c.answer.Failure = api.StageCompleted, result, f
	}
}

// answer answers a call that the code has seen.
func (t *session) answer(run *engine.Run, c *updateCall, transition *engine.Transition, i int) {
	c.decide(t.world.Now(), run, observe.Refused)
	if transition.Failure != nil {
		c.err = notReady(transition.Failure)
		return
	}
	result := transition.Updates[i]
	c.answer.RunID = run.State.RunID
	switch result.Verdict {
	case engine.Accepted:
		c.verdict = observe.Accepted
		c.outcome(run)
	case engine.Rejected:
		c.verdict = observe.Rejected
		c.answer.Stage, c.answer.Failure = api.StageRejected, result.Failure
	case engine.Invalid:
		c.err = api.Invalid.New("update %q needs an input", c.request.Name)
	case engine.TooManyInFlight:
		c.err = api.UpdatesInFlight.New("%s", result.Failure.Message)
	case engine.TooManyInTotal:
		c.err = api.UpdateLimit.New("%s", result.Failure.Message)
	default:
		c.err = notReady(&failure.Failure{Kind: failure.KindMisuse, Message: "the workflow's code did not come to this update"})
	}
}

// PollUpdate returns the stage of an update that was accepted, when it has completed or after wait. It never runs code.
func (s *Service) PollUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID string, wait time.Duration) (*api.UpdateResponse, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckID("updateId", updateID); err != nil {
		return nil, api.Invalid.New("%v", err)
	}
	return s.pollUpdate(ctx, workflowID, runID, updateID, wait, nil)
}

// pollUpdate is PollUpdate, perhaps by a process that has just accepted the update.
func (s *Service) pollUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID string, wait time.Duration, wrote *wrote) (*api.UpdateResponse, error) {
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}}
	err := s.await(ctx, workflowID, runID, wait, wrote, func(run *engine.Run) (bool, error) {
		if _, admitted := run.State.Admitted[updateID]; admitted {
			call.answer = api.UpdateResponse{UpdateID: updateID, RunID: run.State.RunID, Stage: api.StageAdmitted}
			return false, nil
		}
		if run.State.Updates[updateID] == nil {
			return false, api.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID)
		}
		call.answer = api.UpdateResponse{UpdateID: updateID}
		call.outcome(run)
		return call.answer.Stage == api.StageCompleted, nil
	})
	return &call.answer, err
}

// FailUpdate fails an accepted update of an open run for an operator: its caller gets the failure, and its handler does not run any
// more, nor when the run is rebuilt. The update has failed when FailUpdate returns. One that has completed keeps its outcome, which
// is returned: so a request that is sent again does nothing.
func (s *Service) FailUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID, reason string) (*api.UpdateResponse, error) {
	if err := checkIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckID("updateId", updateID); err != nil {
		return nil, api.Invalid.New("%v", err)
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}, runID: runID}
	err := s.request(ctx, workflowID, func(ctx context.Context, t *session) error {
		if err := t.view.EnsureLoaded(ctx); err != nil {
			return err
		}
		call.answer, call.err = api.UpdateResponse{UpdateID: updateID}, nil
		run := t.run()
		switch {
		case run == nil:
			return t.final(ctx, noSuchWorkflow(workflowID))
		case call.pinsOther(run):
			return t.final(ctx, notLatest(workflowID, runID))
		}
		u := run.State.Updates[updateID]
		if u == nil {
			return t.final(ctx, api.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID))
		}
		if _, _, done := run.State.UpdateOutcome(u); done {
			call.outcome(run)
			return t.final(ctx, nil)
		}
		failed := failure.FromError(failure.New("UpdateFailedByOperator", cmp.Or(reason, "an operator has failed the update")))
		failed.NonRetryable = true
		event := history.Of(&history.WorkflowExecutionUpdateFailed{UpdateID: updateID, AcceptedEventID: u.AcceptedEventID, Failure: failed})
		if err := t.bring(ctx, run, event); err != nil {
			return err
		}
		call.outcome(run)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &call.answer, nil
}
