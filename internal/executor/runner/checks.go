package runner

import (
	"context"
	"sync"
	"time"

	"github.com/seed-41655fb1/weft/engine"
)

const (
	// maxChecked and maxCheckedBytes limit the runs whose validators are checked, in events and
	// bytes: a check replays the whole run.
	maxChecked      = 1000
	maxCheckedBytes = 1 << 20
	// checkFor is how long a check may begin further replays. It holds the lock of the workflow
	// meanwhile.
	checkFor = 2 * time.Second
)

// checks counts the remaining checks of validators and query handlers, and runs one at a time.
type checks struct {
	turn chan struct{} // full while a check runs
	mu   sync.Mutex
	most int
	done map[[2]string]int // by the type of the workflow, and what ran
}

// on reports whether checks are enabled.
func (l *checks) on() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.most > 0
}

// stop ends all checks.
func (l *checks) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = 0
}

// left reports whether a check is left of any of these validators and query handlers.
func (l *checks) left(workflowType string, names ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		if l.done[[2]string{workflowType, name}] < l.most {
			return true
		}
	}
	return false
}

// begin lets a check begin. The caller must call end. If another check is running, begin waits for
// it, or returns false: a check is a sample, and holds the lock of its workflow.
func (l *checks) begin(ctx context.Context, wait bool) bool {
	select {
	case l.turn <- struct{}{}:
		return true
	default:
	}
	if !wait {
		return false
	}
	select {
	case l.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *checks) end() { <-l.turn }

// count counts a check that compared something.
func (l *checks) count(run *engine.Run, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = map[[2]string]int{}
	}
	for _, name := range names {
		l.done[[2]string{run.State.Started.WorkflowType, name}]++
	}
}

// check fails a task in which a validator or a query handler has changed state, if the options ask
// for the check. before is how many had run on the instance before the task.
func (c *Code) check(ctx context.Context, in *engine.Instance, before int, run *engine.Run, w *engine.Writer, task engine.Task, transition *engine.Transition) *engine.Transition {
	if c.kept.Instance != in || transition.Failure != nil {
		return transition // code that did not return may still use the instance
	}
	names := in.LookedBy()
	if len(names) == 0 {
		return transition
	}
	switch {
	case run.State.NextEventID > maxChecked || run.State.Bytes > maxCheckedBytes || run.Lacks(1) > 0:
		in.ForgetLooks()
		return transition
	case run.State.Started == nil:
		return transition // there is no log to replay yet: the check of the next task has these looks
	case !c.runner.checks.left(run.State.Started.WorkflowType, names...):
		in.DropLooks()
		return transition
	}
	if !c.runner.checks.begin(ctx, c.runner.options.CheckAlways) {
		return transition
	}
	defer c.runner.checks.end()
	found := run.NewCheck(in, before, w, task, transition, c.runner.trials(c.workflowID, in)).Find()
	if found.Compared {
		c.runner.checks.count(run, names)
	}
	if found.Varies != "" {
		c.runner.options.Logger.WarnContext(ctx, "workflow code does not do the same each time that it runs, so its validators and query handlers cannot be checked",
			"workflowId", c.workflowID, "workflowType", in.Info().WorkflowType, "differs", found.Varies,
			"usualCauses", "the order of a map, the time, or chance; run weftvet")
	}
	if found.Impure == nil {
		return transition
	}
	c.Drop()
	failed := run.Fail(w, task, found.Impure)
	failed.Impure = found.WithoutPayloads
	return failed
}

// trials returns a function that gives each trial of a check a new instance. A trial may take as
// long as any code. One that hangs is reported.
func (r *Runner) trials(workflowID string, in *engine.Instance) func(fn func(in *engine.Instance)) bool {
	workflow, id, began := r.registry.Workflow(in.Info().WorkflowType), in.RunID(), r.host.Now()
	return func(fn func(in *engine.Instance)) bool {
		if r.host.Now().Sub(began) > checkFor {
			return false
		}
		fresh := engine.NewInstance(workflow, workflowID, id)
		note := r.Begin(CodeTask, workflowID, id, 0)
		ended := r.host.Guard(r.options.DeadlockAfter, func() {
			defer r.End(note)
			defer fresh.Close()
			fn(fresh)
		})
		if !ended {
			r.reportHung(workflowID, fresh)
		}
		return ended
	}
}
