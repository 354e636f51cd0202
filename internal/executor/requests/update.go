package requests

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/lock"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// reportVerdict tells the verdict on an update, if there was one.
func reportVerdict(ctx context.Context, s *session.Process, c *updateCall) {
	if c.verdict == "" || !s.Observed().On() {
		return
	}
	observe.On(ctx, &c.on)
	s.Observed().Observe(ctx, &observe.Update{
		Run: c.on, UpdateID: c.request.ID, Name: c.request.Name, Outcome: c.verdict, Began: c.began, Ended: c.decided,
	})
}

// decide notes the verdict on an update that the code has seen, or that it never came to.
func (c *updateCall) decide(now time.Time, run *engine.Run, verdict observe.Outcome) {
	c.on, c.verdict, c.decided = runner.Ident(run, "", nil), verdict, now
}

// waitedLittle is how much of the soft limit a caller may have waited at the gate to be told what the work came to that ends with the
// limit itself. He is answered that much late at most, and lastWords.
const (
	waitedLittle = 500 * time.Millisecond
	lastWords    = 100 * time.Millisecond
)

// bounded carries out work for a call that waits no longer than this since it began. The work holds the gate of a workflow and gives it
// back, and says in the call that it has returned. If it has not ended when the time is over, it goes on by itself, and the outcome is
// unknown: nothing of what it writes may be read. The work defers outlive. It has a goroutine of its
// own, because nothing else bounds it: its time may be over while code hangs.
func bounded(s *session.Process, call *updateCall, wait time.Duration, work func()) error {
	left := max(call.began.Add(wait).Sub(s.World.Now()), 0)
	if wait == 0 {
		left = session.LeastTime
	}
	if left > s.Options.SoftLimit-waitedLittle {
		left = s.Options.SoftLimit + lastWords
	}
	if !s.World.Within(left, work) {
		if call.over.Swap(true) {
			panickedLate(s, call) // at this very moment
		}
		return errStillRuns
	}
	if !call.returned {
		runtime.Goexit() // as the work has
	}
	return nil
}

// outlive is the end of work for a call. A panic of it goes on in the caller. If the caller has gone, outlive logs it.
func outlive(s *session.Process, call *updateCall) {
	value := recover()
	if value == nil {
		return
	}
	var nested bool
	if call.panicked, nested = value.(host.Panic); !nested {
		call.panicked = host.Panic{Value: value, Stack: debug.Stack()}
	}
	if !call.over.Swap(true) {
		panic(value)
	}
	panickedLate(s, call)
}

func panickedLate(s *session.Process, call *updateCall) {
	s.Options.Logger.Error("an update panicked after its caller's time was over", "update", call.request.Name, "updateId", call.request.ID, "panic", call.panicked)
}

// errStillRuns is a request that is still being carried out when the caller's time is over.
var errStillRuns = refusal.OutcomeUnknown.New("the request is still being carried out, and its timeout is over: send it again with the same id to learn the outcome")

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
func (s *Requests) Update(ctx context.Context, workflowID string, runID history.RunID, name string, r api.UpdateRequest) (*api.UpdateResponse, error) {
	call, err := newCall(s.Process, workflowID, runID, name, &r)
	if err != nil {
		return nil, err
	}
	wait, err := checkWait(s.Process, r.Timeout)
	if err != nil {
		return nil, err
	}
	if r.Start == nil {
		err = carryOut(ctx, s.Process, workflowID, call, wait)
	} else {
		err = carryOutWithStart(ctx, s.Process, workflowID, runID, r.Start, call, wait)
	}
	if err == errStillRuns {
		return nil, err // who carries it out still writes to the call
	}
	reportVerdict(ctx, s.Process, call)
	if err != nil {
		return nil, err
	}
	if call.answer.Stage != api.StageAccepted || r.WaitFor == api.StageAccepted {
		return &call.answer, nil
	}
	left := call.began.Add(wait).Sub(s.World.Now())
	if left <= 0 {
		return &call.answer, nil
	}
	if answer, err := pollUpdate(ctx, s.Process, workflowID, call.answer.RunID, call.request.ID, left, &wrote{}); err == nil {
		answer.Started = call.answer.Started
		return answer, nil
	}
	return &call.answer, nil // it is accepted, whatever became of the wait
}

func newCall(s *session.Process, workflowID string, runID history.RunID, name string, r *api.UpdateRequest) (*updateCall, error) {
	if err := starts.CheckIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckName("update's name", name); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	if r.UpdateID == "" {
		r.UpdateID = history.CommitID(s.World.ID()).String()
	}
	if err := engine.CheckID("updateId", r.UpdateID); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	switch r.WaitFor {
	case "", api.StageAccepted, api.StageCompleted:
	default:
		return nil, refusal.Invalid.New("there is no waitFor %q: give %s or %s", r.WaitFor, api.StageAccepted, api.StageCompleted)
	}
	if err := starts.CheckPayload(s, r.Input); err != nil {
		return nil, err
	}
	return &updateCall{
		request: engine.UpdateRequest{ID: r.UpdateID, Name: name, Input: history.Payload(r.Input)}, runID: runID, began: s.World.Now(),
	}, nil
}

// checkWait is how long a caller waits: the soft limit, or less if it says so.
func checkWait(s *session.Process, timeout *api.Duration) (time.Duration, error) {
	switch {
	case timeout == nil:
		return s.Options.SoftLimit, nil
	case *timeout < 0:
		return 0, refusal.Invalid.New("the time to wait is negative: give a duration such as \"5s\", or none")
	}
	return min(time.Duration(*timeout), s.Options.SoftLimit), nil
}

// carryOut has the update run at its workflow's gate: by this call, together with those that wait behind it, or by one
// before it that took it along. It returns errStillRuns if the caller's time is over while the update may still be accepted.
func carryOut(ctx context.Context, s *session.Process, workflowID string, call *updateCall, wait time.Duration) error {
	acquired, err := s.Locks.AcquireWithin(ctx, wait, workflowID, call)
	switch {
	case errors.Is(err, lock.ErrTaken):
		return errStillRuns
	case err != nil:
		return session.ErrWaited
	case acquired == lock.Answered:
		return call.err
	}
	late := bounded(s, call, wait, func() {
		defer outlive(s, call)
		carryOutHere(ctx, s, workflowID, call, wait)
		call.returned = true
	})
	if late != nil {
		return late
	}
	return call.err
}

// carryOutHere is carryOut at the gate, which it leaves. It gives updates back to those who sent them if they have to be carried out
// alone.
func carryOutHere(ctx context.Context, s *session.Process, workflowID string, call *updateCall, wait time.Duration) {
	taken := s.Locks.Take(workflowID, s.Options.UpdatesTogether-1)
	calls := []*updateCall{call}
	for _, w := range taken {
		calls = append(calls, w.Call.(*updateCall))
	}
	t := s.Begin(workflowID)
	if len(taken) == 0 {
		t.Patience = wait
	}
	ended := false
	defer func() {
		if !ended { // a store has panicked, say
			for _, w := range taken {
				w.Call.(*updateCall).err = s.Problem(outcome.ErrUnknown)
			}
		}
		t.Close()
		s.Locks.Answer(taken)
	}()
	ctx, cancel := s.World.WithTimeout(context.WithoutCancel(ctx), s.Options.SoftLimit)
	defer cancel()
	if alone := updates(ctx, t, calls); len(alone) > 0 {
		separate(s, workflowID, taken, alone)
		taken = nil
		if slices.Contains(alone, call) {
			t.View.Fresh = false
			updates(ctx, t, []*updateCall{call})
		}
	}
	session.RecordRun(ctx, t)
	ended = true
}

// separate gives the calls that have to be carried out alone back to their callers, and answers the others.
func separate(s *session.Process, workflowID string, taken []*lock.Waiter[any], alone []*updateCall) {
	var back, answered []*lock.Waiter[any]
	for _, w := range taken {
		if slices.Contains(alone, w.Call.(*updateCall)) {
			back = append(back, w)
		} else {
			answered = append(answered, w)
		}
	}
	s.Locks.GiveBack(workflowID, back)
	s.Locks.Answer(answered)
}

// carryOutWithStart carries an update out that may open the run which it is for.
func carryOutWithStart(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, r *api.StartRequest, call *updateCall, wait time.Duration) error {
	if r.IDConflictPolicy == "" {
		return refusal.Invalid.New("a start that comes with an update needs an idConflictPolicy: give %s, %s or %s", starts.ConflictFail, starts.UseExisting, starts.TerminateExisting)
	}
	if r.Cron != "" {
		return refusal.Invalid.New("a start that comes with an update cannot wait for the first moment of a cronSchedule: leave the cronSchedule out, or start the workflow first")
	}
	w, err := checkWithStart(ctx, s, workflowID, runID, r)
	if err != nil {
		return err
	}
	t, err := s.OpenWithin(ctx, wait, workflowID)
	if err != nil {
		return session.ErrWaited
	}
	t.Patience = wait
	late := bounded(s, call, wait, func() {
		defer outlive(s, call)
		err = s.Carry(ctx, t, s.World.Now().Add(s.Options.SoftLimit), func(ctx context.Context, t *session.Session) error { return updateWithStart(ctx, t, w, call) })
		call.returned = true
	})
	if late != nil {
		return late // and err is not ours any more
	}
	if err != nil && w.opened && (errors.Is(err, refusal.Busy) || errors.Is(err, refusal.TooLarge)) {
		return errOpened
	}
	if err != nil {
		return err
	}
	call.answer.Started = &w.answer.Started
	return call.err
}

// errOpened is an update that came with a start and was not carried out, after the start had opened its run.
var errOpened = refusal.OutcomeUnknown.New("the workflow was started, and its update was not carried out in time: send the request again with the same ids")

// updates answers the calls together. It returns those that have to be carried out alone: if the code of one fails, that one and the
// others of its name, so that they do not take the rest down. The rest is answered.
func updates(ctx context.Context, t *session.Session, calls []*updateCall) (alone []*updateCall) {
	err := outcome.ErrBusy
	if ctx.Err() == nil { // code may have used up the time
		err = t.Insist(ctx, func(ctx context.Context, t *session.Session) error { return updateTogether(ctx, t, calls) })
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
				c.err = session.Problem(t, err)
			}
		}
		return nil
	}
	alone, rest := apart.split(calls)
	if len(rest) > 0 {
		t.View.Fresh = false
		alone = append(alone, updates(ctx, t, rest)...)
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
func updateTogether(ctx context.Context, t *session.Session, calls []*updateCall) error {
	if slices.ContainsFunc(calls, (*updateCall).isSettled) {
		calls = slices.DeleteFunc(slices.Clone(calls), (*updateCall).isSettled)
	}
	if err := t.View.EnsureLoaded(ctx); err != nil {
		return err
	}
	fresh, err := lookUpAll(ctx, t, calls)
	if err == nil && len(fresh) > 0 {
		err = propose(ctx, t, fresh)
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
func lookUpAll(ctx context.Context, t *session.Session, calls []*updateCall) ([]*updateCall, error) {
	fresh, answered := lookUp(t, calls)
	if answered > 0 && !t.View.Fresh {
		return nil, t.RequireFresh(ctx, nil)
	}
	if err := lookUpOlder(ctx, t, calls); err != nil || len(fresh) == 0 {
		return nil, err
	}
	return lookUpBefore(ctx, t, t.Run(), fresh)
}

// propose runs the workflow's code with the calls in it, speculatively: nothing is written unless it accepts one of them, or
// issues a command.
func propose(ctx context.Context, t *session.Session, calls []*updateCall) error {
	run := t.Run()
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return err
	}
	if err := refused(t, run, runner.CodeUpdate); err != nil {
		return t.RequireFresh(ctx, err)
	}
	if f := run.NotReady(t.Options.Build); f != nil {
		for _, c := range calls {
			c.err = notReady(f)
		}
		return t.RequireFresh(ctx, nil)
	}
	task := engine.Task{}
	for _, c := range calls {
		task.Updates = append(task.Updates, c.request)
	}
	known, fresh := session.EndOf(run), t.View.Fresh
	transition, err := t.Step(ctx, run, task)
	if err != nil {
		return err
	}
	if transition.Failure != nil && len(calls) > 1 {
		t.Discard()
		return &apartError{transition.Blamed}
	}
	if transition.Commit == nil {
		t.Retire(transition)
		if next := run.NextTask(); next != nil && transition.Left() {
			// The workflow's function has returned, and the run closes in its next task, whoever brings that.
			if err := commit.Task(ctx, t, run, engine.Task{Brought: []history.Event{history.Of(next)}}); err != nil {
				return err
			}
			return updateTogether(ctx, t, calls)
		}
		if err := session.RequireUnchanged(ctx, t, known, fresh); err != nil {
			return err
		}
	} else if err := commit.Transition(ctx, t, run, transition); err != nil {
		waits := run.State.Pending == history.PendingTask || run.State.Pending == history.PendingStart
		switch tooLarge := errors.Is(err, outcome.ErrTooLarge); {
		case tooLarge && len(calls) > 1:
			return &apartError{}
		case tooLarge && waits: // that task writes as well, and has to come first
			t.Discard()
			if err := commit.Task(ctx, t, run, engine.Task{First: true}); err != nil {
				return err
			}
			return updateTogether(ctx, t, calls)
		}
		return err
	}
	var others []*updateCall
	for i, c := range calls {
		if transition.ClosedBefore(i) {
			others = append(others, c)
		} else {
			answer(t, run, c, transition, i)
			c.settled = transition.Commit != nil
		}
	}
	if len(others) > 0 {
		return updateTogether(ctx, t, others) // the run that continues this one takes them, or they are told that it has closed
	}
	return nil
}

// lookUp answers the calls that need no code: ids that are known, runs that are closed or not there. It returns the
// others. The answers hold only if what is known is current.
func lookUp(t *session.Session, calls []*updateCall) (fresh []*updateCall, answered int) {
	run := t.Run()
	seen := map[string]*updateCall{}
	for _, c := range calls {
		c.answer, c.err, c.first = api.UpdateResponse{UpdateID: c.request.ID}, nil, nil
		switch {
		case run == nil:
			c.err = session.NoSuchWorkflow(t.WorkflowID)
		case c.pinsOther(run):
			c.err = session.NotLatest(t.WorkflowID, c.runID)
		case run.State.Updates[c.request.ID] != nil:
			c.outcome(run)
		case run.State.Status.Closed():
			c.err = session.RunClosed(run)
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
func lookUpOlder(ctx context.Context, t *session.Session, calls []*updateCall) error {
	latest := t.Run()
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
			run, err = t.View.Other(ctx, c.runID)
		case c.runID == "":
			run, err = t.View.Before(ctx, latest)
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
func lookUpBefore(ctx context.Context, t *session.Session, run *engine.Run, calls []*updateCall) ([]*updateCall, error) {
	before, err := t.View.Before(ctx, run)
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
	if len(others) < len(calls) && !t.View.Fresh {
		return nil, t.RequireFresh(ctx, nil)
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
func answer(t *session.Session, run *engine.Run, c *updateCall, transition *engine.Transition, i int) {
	c.decide(t.World.Now(), run, observe.Refused)
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
		c.err = refusal.Invalid.New("update %q needs an input", c.request.Name)
	case engine.TooManyInFlight:
		c.err = refusal.UpdatesInFlight.New("%s", result.Failure.Message)
	case engine.TooManyInTotal:
		c.err = refusal.UpdateLimit.New("%s", result.Failure.Message)
	default:
		c.err = notReady(&failure.Failure{Kind: failure.KindMisuse, Message: "the workflow's code did not come to this update"})
	}
}

// PollUpdate returns the stage of an update that was accepted, when it has completed or after wait. It never runs code.
func (s *Requests) PollUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID string, wait time.Duration) (*api.UpdateResponse, error) {
	if err := starts.CheckIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckID("updateId", updateID); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	return pollUpdate(ctx, s.Process, workflowID, runID, updateID, wait, nil)
}

// pollUpdate is PollUpdate, perhaps by a process that has just accepted the update.
func pollUpdate(ctx context.Context, s *session.Process, workflowID string, runID history.RunID, updateID string, wait time.Duration, wrote *wrote) (*api.UpdateResponse, error) {
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}}
	err := await(ctx, s, workflowID, runID, wait, wrote, func(run *engine.Run) (bool, error) {
		if _, admitted := run.State.Admitted[updateID]; admitted {
			call.answer = api.UpdateResponse{UpdateID: updateID, RunID: run.State.RunID, Stage: api.StageAdmitted}
			return false, nil
		}
		if run.State.Updates[updateID] == nil {
			return false, refusal.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID)
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
func (s *Requests) FailUpdate(ctx context.Context, workflowID string, runID history.RunID, updateID, reason string) (*api.UpdateResponse, error) {
	if err := starts.CheckIDs(workflowID, runID); err != nil {
		return nil, err
	}
	if err := engine.CheckID("updateId", updateID); err != nil {
		return nil, refusal.Invalid.New("%v", err)
	}
	if err := checkReason(reason); err != nil {
		return nil, err
	}
	call := &updateCall{request: engine.UpdateRequest{ID: updateID}, runID: runID}
	err := s.Request(ctx, workflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureLoaded(ctx); err != nil {
			return err
		}
		call.answer, call.err = api.UpdateResponse{UpdateID: updateID}, nil
		run := t.Run()
		switch {
		case run == nil:
			return t.RequireFresh(ctx, session.NoSuchWorkflow(workflowID))
		case call.pinsOther(run):
			return t.RequireFresh(ctx, session.NotLatest(workflowID, runID))
		}
		u := run.State.Updates[updateID]
		if u == nil {
			return t.RequireFresh(ctx, refusal.NotFound.New("run %q of workflow %q has accepted no update %q", run.State.RunID, workflowID, updateID))
		}
		if _, _, done := run.State.UpdateOutcome(u); done {
			call.outcome(run)
			return t.RequireFresh(ctx, nil)
		}
		failed := failure.FromError(failure.New("UpdateFailedByOperator", cmp.Or(reason, "an operator has failed the update")))
		failed.NonRetryable = true
		event := history.Of(&history.WorkflowExecutionUpdateFailed{UpdateID: updateID, AcceptedEventID: u.AcceptedEventID, Failure: failed})
		if err := commit.Event(ctx, t, run, event); err != nil {
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
