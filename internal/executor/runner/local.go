package runner

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// localTask is a task whose code waits for local activities.
type localTask struct {
	code   *Code
	run    observe.Run
	commit history.CommitID
	// end is when the time for local activities is over in this session, and whole is how long that
	// time is.
	end   history.Timestamp
	whole time.Duration
	// speculative says that the task hands updates over, which may still be refused.
	speculative bool
}

// locals runs the local activities that a task waits for, and continues the task, until it waits
// for none. They may run again: nothing of them is durable before the task's commit is.
func (c *Code) locals(ctx context.Context, in *engine.Instance, run *engine.Run, w *engine.Writer, task engine.Task, transition *engine.Transition) *engine.Transition {
	if len(transition.Locals) == 0 {
		return transition
	}
	whole := c.runner.options.LocalFor
	l := &localTask{
		code: c, run: Ident(run, w.RunID, (&history.Commit{InputEvents: task.InputEvents}).Opens()), commit: w.Commit,
		end: history.At(c.began.Add(whole)), whole: whole, speculative: len(task.Updates)+len(run.State.Admitted) > 0,
	}
	for len(transition.Locals) > 0 {
		due, waiting := transition.Locals, transition
		for _, a := range due {
			if c.runner.registry.Activity(a.ActivityType) == nil {
				return run.Fail(w, task, Unregistered(a.ActivityType)) // it goes on when a build is deployed that has it
			}
		}
		results := l.all(ctx, due)
		transition = c.guardTask(in, run, w, task, func(run *engine.Run, in *engine.Instance, _ *engine.Writer, _ engine.Task) *engine.Transition {
			return run.Resume(in, waiting, results)
		})
	}
	return transition
}

// all runs local activities, perhaps concurrently, and returns their results.
func (l *localTask) all(ctx context.Context, due []*engine.LocalActivity) []engine.LocalResult {
	results, calls := make([]engine.LocalResult, len(due)), make([]func(), len(due))
	for i, a := range due {
		calls[i] = func() { results[i] = l.one(ctx, a) }
	}
	l.code.runner.host.Together(calls...)
	return results
}

// one makes attempts at a local activity until it succeeds or fails. It leaves the rest to another
// task if no time is left in this one, or if the update that asked for the activity must first be
// recorded as accepted.
func (l *localTask) one(ctx context.Context, a *engine.LocalActivity) engine.LocalResult {
	var last *failure.Failure
	for number := a.Attempt; ; number++ {
		now := l.code.runner.now()
		own, limited := a.Left(now)
		if own <= 0 {
			return engine.LocalResult{Number: a.Number, Attempt: number - 1, Failure: TimedOut(limited, "its time was over before the attempt began", last)}
		}
		left := l.end.Sub(now)
		if l.speculative && !a.Speculative || left < min(own, l.whole/2) {
			return engine.LocalResult{Number: a.Number, Attempt: number - 1, Failure: last, RetryAt: now}
		}
		result, f := l.attempt(ctx, a, number, min(own, left), limited)
		if f == nil {
			return engine.LocalResult{Number: a.Number, Attempt: number, Result: result}
		}
		now = l.code.runner.now()
		at, again := a.After(now, number, f)
		l.report(ctx, a, number, f, observe.Next{In: max(at.Sub(now), time.Millisecond), Last: !again})
		if !again {
			return engine.LocalResult{Number: a.Number, Attempt: number, Failure: f}
		}
		wait := at.Sub(now)
		hangs := l.code.runner.Blocked(l.code.workflowID, l.run.RunID) != nil
		if hangs || wait > a.WaitInTask || wait > l.end.Sub(now) || l.code.runner.host.Wait(ctx, wait, nil) != nil {
			light := *f
			light.Stack = Truncate(f.Stack)
			return engine.LocalResult{Number: a.Number, Attempt: number, Failure: &light, RetryAt: at}
		}
		last = f
	}
}

// report logs a failed attempt.
func (l *localTask) report(ctx context.Context, a *engine.LocalActivity, number int, f *failure.Failure, next observe.Next) {
	about := &observe.Attempt{Run: l.run, ActivityType: a.ActivityType, Commit: l.commit, Number: number}
	l.code.runner.options.Failures.Attempt(observe.InTask(ctx, &l.run, l.commit), about, f, next)
}

// attempt makes an attempt at a local activity, and reports it to the observers. A nil failure is
// success.
func (l *localTask) attempt(ctx context.Context, a *engine.LocalActivity, number int, limit time.Duration, limited string) (history.Payload, *failure.Failure) {
	ctx, ended := l.code.runner.options.Observe.Attempt(ctx, &observe.Attempt{
		Run: l.run, ActivityType: a.ActivityType, Commit: l.commit, Number: number, Began: l.code.runner.host.Now(),
	})
	result, f := l.carryOut(ctx, a, number, limit, limited)
	ended(Ended(f), KindOf(f), l.code.runner.host.Now())
	return result, f
}

// carryOut runs the code of a local activity.
func (l *localTask) carryOut(ctx context.Context, a *engine.LocalActivity, number int, limit time.Duration, limited string) (history.Payload, *failure.Failure) {
	within, cancel := l.code.runner.host.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	within = header.Into(attempt.With(within, attempt.Info{
		WorkflowID: l.run.WorkflowID, RunID: string(l.run.RunID), ActivityType: a.ActivityType, Attempt: number, Local: true,
	}, nil), a.Header)
	if own := l.code.runner.options.Own; own != nil && engine.OwnType(a.ActivityType) {
		within = own(within)
	}
	note := l.code.runner.Begin(CodeLocal, l.code.workflowID, l.run.RunID, Hash(a.ActivityType))
	o, hung := l.code.runner.GuardAttempt(limit, func() Attempted {
		defer l.code.runner.End(note)
		return CallActivity(within, l.code.runner.registry.Code(l.code.runner.registry.Activity(a.ActivityType)), a.Input)
	})
	switch {
	case hung != nil:
		l.code.runner.blocks.add(runKey{l.code.workflowID, l.run.RunID}, "a local activity", l.code.runner.host.Now(), hung)
		l.code.runner.options.Logger.ErrorContext(ctx, "a local activity does not heed the end of its context; it is given up", "workflowId", l.code.workflowID, "activityType", a.ActivityType)
		return nil, TimedOut(limited, "the attempt took longer than "+limit.String()+", and did not end with its context", nil)
	case o.Pending:
		return nil, failure.FromError(failure.Newf("Pending", "a local activity cannot go on outside: make %s an ordinary activity", a.ActivityType).Final())
	case o.Failure != nil && within.Err() != nil:
		return nil, TimedOut(limited, "the attempt took longer than "+limit.String(), o.Failure)
	}
	return o.Result, o.Failure
}
