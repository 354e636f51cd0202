package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/attempt"
	"github.com/seed-41655fb1/weft/internal/header"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// localTime is how long the local activities of a session may take together, and no longer than half of the soft limit. What
// does not fit waits for a task of its own.
const localTime = 10 * time.Second

// localTask is a task whose code waits for local activities.
type localTask struct {
	*session
	run    observe.Run
	commit history.CommitID
	// end is when the time of local activities is over in this session, and whole is how much that is.
	end   history.Timestamp
	whole time.Duration
	// speculative says that the task hands updates over, which may still be refused.
	speculative bool
}

// locals runs the local activities that a task waits for, and goes on with the task, until it waits for none. What they do
// they may do again: nothing of them is durable before the task's commit is.
func (t *session) locals(ctx context.Context, in *engine.Instance, run *engine.Run, w *engine.Writer, task engine.Task, transition *engine.Transition) *engine.Transition {
	if len(transition.Locals) == 0 {
		return transition
	}
	whole := min(localTime, t.options.SoftLimit/2)
	l := &localTask{
		session: t, run: ident(run, w.RunID, (&history.Commit{Brought: task.Brought}).Opens()), commit: w.Commit,
		end: history.At(t.began.Add(whole)), whole: whole, speculative: len(task.Updates)+len(run.State.Admitted) > 0,
	}
	for len(transition.Locals) > 0 {
		due, waiting := transition.Locals, transition
		var resumed *engine.Transition
		for _, a := range due {
			if t.registry.Activity(a.ActivityType) == nil {
				return run.Fail(w, task, unregistered(a.ActivityType)) // it goes on when a build is deployed that has it
			}
		}
		results := l.all(ctx, due)
		note := t.noteTask(in, task.Updates)
		transition = t.came(in, run, w, task, t.guard(in, func() { defer t.leaves(in, note); resumed = run.Resume(in, waiting, results) }), &resumed)
	}
	return transition
}

// all runs local activities, perhaps at the same time, and returns what became of each.
func (l *localTask) all(ctx context.Context, due []*engine.LocalActivity) []engine.LocalResult {
	results, calls := make([]engine.LocalResult, len(due)), make([]func(), len(due))
	for i, a := range due {
		calls[i] = func() { results[i] = l.one(ctx, a) }
	}
	l.world.Together(calls...)
	return results
}

// one makes attempts at a local activity until it succeeds or fails, or what is left of it is for another task: because there
// is no time for it in this one, or because the update that asked for it has first to be recorded as accepted.
func (l *localTask) one(ctx context.Context, a *engine.LocalActivity) engine.LocalResult {
	var last *failure.Failure
	for number := a.Attempt; ; number++ {
		now := l.now()
		own, limited := a.Left(now)
		if own <= 0 {
			return engine.LocalResult{Number: a.Number, Attempt: number - 1, Failure: timeout(limited, "its time was over before the attempt began", last)}
		}
		left := l.end.Sub(now)
		if l.speculative && !a.Speculative || left < min(own, l.whole/2) {
			return engine.LocalResult{Number: a.Number, Attempt: number - 1, Failure: last, RetryAt: now}
		}
		result, f := l.attempt(ctx, a, number, min(own, left), limited)
		if f == nil {
			return engine.LocalResult{Number: a.Number, Attempt: number, Result: result}
		}
		now = l.now()
		at, again := a.After(now, number, f)
		if !again {
			return engine.LocalResult{Number: a.Number, Attempt: number, Failure: f}
		}
		wait := at.Sub(now)
		hangs := l.blocked(l.workflowID, l.run.RunID) != nil
		if hangs || wait > a.WaitInTask || wait > l.end.Sub(now) || l.world.Wait(ctx, wait, nil) != nil {
			light := *f
			light.Stack = truncate(f.Stack)
			return engine.LocalResult{Number: a.Number, Attempt: number, Failure: &light, RetryAt: at}
		}
		last = f
	}
}

// attempt makes an attempt at a local activity, and tells of it. A nil failure is success.
func (l *localTask) attempt(ctx context.Context, a *engine.LocalActivity, number int, limit time.Duration, limited string) (history.Payload, *failure.Failure) {
	ctx, ended := l.Observed().Attempt(ctx, &observe.Attempt{
		Run: l.run, ActivityType: a.ActivityType, Commit: l.commit, Number: number, Began: l.world.Now(),
	})
	result, f := l.carryOut(ctx, a, number, limit, limited)
	ended(came(f), kindOf(f), l.world.Now())
	return result, f
}

// carryOut runs the code of a local activity.
func (l *localTask) carryOut(ctx context.Context, a *engine.LocalActivity, number int, limit time.Duration, limited string) (history.Payload, *failure.Failure) {
	within, cancel := l.world.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	within = header.Into(attempt.With(within, attempt.Info{
		WorkflowID: l.run.WorkflowID, RunID: string(l.run.RunID), ActivityType: a.ActivityType, Attempt: number, Local: true,
	}, nil), a.Header)
	note := l.noteBegin(CodeLocal, l.workflowID, l.run.RunID, hash(a.ActivityType))
	o, hung := l.guardAttempt(limit, func() attemptOutcome {
		defer l.noteEnd(note)
		return callActivity(within, l.registry.Code(l.registry.Activity(a.ActivityType)), a.Input)
	})
	switch {
	case hung != nil:
		l.blocks.add(runKey{l.workflowID, l.run.RunID}, "a local activity", l.world.Now(), hung)
		l.options.Logger.ErrorContext(ctx, "a local activity does not heed the end of its context; it is given up", "workflowId", l.workflowID, "activityType", a.ActivityType)
		return nil, timeout(limited, "the attempt took longer than "+limit.String()+", and did not end with its context", nil)
	case o.pending:
		return nil, failure.FromError(failure.Newf("Pending", "a local activity cannot go on outside: make %s an ordinary activity", a.ActivityType).Final())
	case o.failure != nil && within.Err() != nil:
		return nil, timeout(limited, "the attempt took longer than "+limit.String(), o.failure)
	}
	return o.result, o.failure
}

// guardAttempt calls an activity's code, and waits for it a little longer than it may take. If the code has not ended by then,
// guardAttempt returns what reports whether it has; otherwise hung is nil.
func (s *Service) guardAttempt(limit time.Duration, call func() attemptOutcome) (o attemptOutcome, hung func() bool) {
	returned := make(chan attemptOutcome, 1) // not a variable: an attempt that does not come back may still write to it
	ended := s.world.Guard(limit+attemptGrace, func() {
		o := attemptOutcome{failure: &failure.Failure{Kind: failure.KindMisuse, Message: "the activity ended its goroutine"}}
		defer func() { returned <- o }()
		o = call()
	})
	if !ended {
		return attemptOutcome{}, func() bool { return len(returned) > 0 }
	}
	return <-returned, nil
}

func unregistered(activityType string) *failure.Failure {
	return &failure.Failure{
		Kind: failure.KindUnregistered, Message: fmt.Sprintf("activity type %q is not registered in this build: deploy one that registers it", activityType),
	}
}
