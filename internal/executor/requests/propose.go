package requests

import (
	"context"
	"errors"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// try tries to answer the calls. If it returns an error, it has answered only the settled ones.
func (calls group) try(ctx context.Context, t *session.Session) error {
	if slices.ContainsFunc(calls, (*updateCall).isSettled) {
		calls = slices.DeleteFunc(slices.Clone(calls), (*updateCall).isSettled)
	}
	if err := t.View.EnsureLoaded(ctx); err != nil {
		return err
	}
	fresh, err := calls.lookUpAll(ctx, t)
	if err == nil && len(fresh) > 0 {
		err = fresh.propose(ctx, t)
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

// lookUpAll answers the calls that the logs of the workflow's runs can answer, and returns the
// others.
func (calls group) lookUpAll(ctx context.Context, t *session.Session) (group, error) {
	fresh, answered := calls.lookUp(t)
	if answered > 0 && !t.View.Fresh {
		return nil, t.RequireFresh(ctx, nil)
	}
	if err := calls.lookUpOlder(ctx, t); err != nil || len(fresh) == 0 {
		return nil, err
	}
	return fresh.lookUpBefore(ctx, t, t.Run())
}

// propose runs the workflow's code with the calls speculatively. Nothing is written unless the code
// accepts one of them, or issues a command.
func (calls group) propose(ctx context.Context, t *session.Session) error {
	run := t.Run()
	if run.State.Paused != nil {
		for _, c := range calls {
			c.err = paused(run)
		}
		return t.RequireFresh(ctx, nil)
	}
	if err := commit.CheckBuild(ctx, t, run); err != nil {
		return err
	}
	if calls = calls.holdAgainst(t, run); len(calls) == 0 {
		return t.RequireFresh(ctx, nil)
	}
	if err := refused(t, run, runner.CodeUpdate); err != nil {
		return t.RequireFresh(ctx, err)
	}
	if f := run.NotReady(t.Process.Options.Build); f != nil {
		for _, c := range calls {
			c.err = notReady(f)
		}
		return t.RequireFresh(ctx, nil)
	}
	attempt, err := nextAttempt(ctx, t, run)
	if err != nil {
		return err
	}
	task := engine.Task{Attempt: attempt}
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
		return &togetherError{transition.Blamed}
	}
	if transition.Commit == nil {
		t.Retire(transition)
		if next := run.NextTask(); next != nil && transition.Left() {
			// The workflow's function has returned. The run closes in its next task, whatever
			// triggers that.
			if err := commit.Task(ctx, t, run, engine.Task{InputEvents: []history.Event{history.Of(next)}}); err != nil {
				return err
			}
			return calls.try(ctx, t)
		}
		if err := session.RequireUnchanged(ctx, t, known, fresh); err != nil {
			return err
		}
	} else if err := commit.Transition(ctx, t, run, transition); err != nil {
		return calls.retryTooLarge(ctx, t, run, err)
	}
	return calls.answerAll(ctx, t, run, transition)
}

// holdAgainst answers the calls that the contract of the run's code does not have, and returns the
// others. No code runs for the answered ones, and nothing is written. If the run has accepted an
// update of the same name, its code is at fault, not the caller: the code runs, and its failure
// says so.
func (calls group) holdAgainst(t *session.Session, run *engine.Run) group {
	code := session.TypeOf(t, run)
	others, some := calls, false
	for i, c := range calls {
		switch breaks := !c.isLost(code, run) && c.breaks(code); {
		case breaks && !some:
			others, some = slices.Clone(calls[:i]), true
		case !breaks && some:
			others = append(others, c)
		}
		if c.answer.Stage == schema.StageRejected {
			c.answer.RunID = run.State.RunID
			c.decide(t.Process.World.Now(), run, observe.Rejected)
		}
	}
	return others
}

// isLost reports whether code no longer has the name of the call, although the run has accepted an
// update of that name before.
func (c *updateCall) isLost(code *engine.Workflow, run *engine.Run) bool {
	if code == nil || code.Names.Allows(engine.UpdateName, c.request.Name) {
		return false
	}
	for _, u := range run.State.Updates {
		if u.Name == c.request.Name {
			return true
		}
	}
	return false
}

// breaks reports whether the contract of code does not have the call. If so, it answers it.
func (c *updateCall) breaks(code *engine.Workflow) bool {
	type claim struct {
		code    *engine.Workflow
		request engine.UpdateRequest
	}
	err := session.Bounded(c.process, command.TakenByUpdate(code, &c.request), claim{code, c.request}, func(of claim) error {
		return command.CheckUpdate(of.code, &of.request)
	})
	if r, ok := errors.AsType[*command.UpdateRefusal](err); ok {
		c.answer.Stage, c.answer.Failure, c.answer.At, c.answer.Known = schema.StageRejected, r.Failure, r.At, r.Known
		return true
	}
	c.err = err
	return err != nil
}

// retryTooLarge goes on after the commit of the calls' task has failed with err: if it was too
// large, less may fit.
func (calls group) retryTooLarge(ctx context.Context, t *session.Session, run *engine.Run, err error) error {
	waits := run.State.Pending == history.PendingTask || run.State.Pending == history.PendingStart
	switch tooLarge := errors.Is(err, outcome.ErrTooLarge); {
	case tooLarge && len(calls) > 1:
		return &togetherError{}
	case tooLarge && waits: // that task writes as well, and has to come first
		t.Discard()
		if err := commit.Task(ctx, t, run, engine.Task{First: true}); err != nil {
			return err
		}
		return calls.try(ctx, t)
	}
	return err
}

// answerAll answers the calls that the code has seen, and tries the others again.
func (calls group) answerAll(ctx context.Context, t *session.Session, run *engine.Run, transition *engine.Transition) error {
	var others group
	for i, c := range calls {
		if transition.ClosedBefore(i) {
			others = append(others, c)
		} else {
			answer(t, run, c, transition, i)
			c.settled = transition.Commit != nil
		}
	}
	if len(others) > 0 {
		return others.try(ctx, t) // the next run takes them, or they are answered that this one has closed
	}
	return nil
}

// lookUp answers the calls that need no code: known ids, and closed or missing runs. It returns the
// others. The answers hold only if the session's knowledge is current.
func (calls group) lookUp(t *session.Session) (fresh group, answered int) {
	run := t.Run()
	seen := map[string]*updateCall{}
	for _, c := range calls {
		c.answer, c.err, c.first = schema.UpdateResponse{UpdateID: c.request.ID}, nil, nil
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

// lookUpOlder answers the calls that the latest run no longer takes. The answer comes from an
// earlier run: the one that they pin, or the one that the latest continues, for callers who may not
// know of the later runs.
func (calls group) lookUpOlder(ctx context.Context, t *session.Session) error {
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

// lookUpBefore answers the calls whose ids the previous run knows, which this one continues: the
// caller may not know of this run yet. It returns the other calls. The answers hold only if this
// run is the latest: a later one may have accepted the same id again.
func (calls group) lookUpBefore(ctx context.Context, t *session.Session, run *engine.Run) (group, error) {
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
	c.answer.RunID, c.answer.Stage = run.State.RunID, schema.StageAccepted
	if result, f, done := run.State.UpdateOutcome(u); done {
		c.answer.Stage, c.answer.Result, c.answer.Failure = schema.StageCompleted, result, f
	}
}

// answer answers a call that the code has seen.
func answer(t *session.Session, run *engine.Run, c *updateCall, transition *engine.Transition, i int) {
	c.decide(t.Process.World.Now(), run, observe.Refused)
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
		c.answer.Stage, c.answer.Failure = schema.StageRejected, result.Failure
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
