package runner

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/observe"
)

// Options are the settings of a Runner.
type Options struct {
	// DeadlockAfter is how long workflow code may run in one go. ValidateFor and QueryFor are how
	// long one validator and the handler of one query may.
	DeadlockAfter, ValidateFor, QueryFor time.Duration
	// LocalFor is how long the local activities of one session may take together.
	LocalFor time.Duration
	// Checks is how many tasks after each validator and query handler are checked for a change of
	// state that it made; 0 checks none. See engine.Check.
	Checks int
	// CheckAlways makes a check wait for another one in the process. Otherwise such a check is
	// skipped and not counted.
	CheckAlways bool
	// Recorder records which code runs, for the process that follows one which code has ended; nil
	// records nothing.
	Recorder Recorder
	// Allocated returns how many bytes the process has allocated; nil if that is not known.
	Allocated func() int64
	// Observe gets events; nil if nobody wants them.
	Observe *observe.Hub
	// Own prepares the context of local activities of Weft's own.
	Own func(context.Context) context.Context
	// Logger gets what operators should know, and Failures the failures of users' code.
	Logger   *slog.Logger
	Failures *observe.Failures
}

// Runner runs code. It is safe for concurrent use.
type Runner struct {
	registry *engine.Registry
	host     host.Host
	options  Options
	checks   checks
	blocks   blocks
	hung     atomic.Int64
}

// New returns a runner of the code in a registry.
func New(registry *engine.Registry, h host.Host, o Options) *Runner {
	if o.Allocated == nil {
		o.Allocated = func() int64 { return 0 }
	}
	return &Runner{registry: registry, host: h, options: o, checks: checks{most: o.Checks, turn: make(chan struct{}, 1)}}
}

// hungRetry is the longest delay between two checks of a run whose code hangs.
const hungRetry = time.Minute

// RetryDelay returns how long a workflow task that has failed this often waits for its next
// attempt. It is a minute at most if code of the run hangs, because the code may return at any
// moment.
func (r *Runner) RetryDelay(workflowID string, runID history.RunID, attempt int) time.Duration {
	delay := engine.TaskRetryDelay(attempt)
	if r.Blocked(workflowID, runID) != nil {
		delay = min(delay, hungRetry)
	}
	return delay
}

func (r *Runner) now() history.Timestamp { return history.At(r.host.Now()) }

// Close ends an instance. Code that does not return counts as hung.
func (r *Runner) Close(workflowID string, in *engine.Instance) {
	if !r.host.Guard(r.options.DeadlockAfter, in.Close) {
		r.reportHung(workflowID, in)
	}
}

// reportHung counts and reports code that did not return, and blocks its run until it does. The
// instance is closed, or is about to be. A Lambda process with hung code ends after it has
// answered.
func (r *Runner) reportHung(workflowID string, in *engine.Instance) {
	r.block(workflowID, in.RunID(), "workflow code", in.Gone)
	r.options.Logger.Error("workflow code does not return; its instance is abandoned", "workflowId", workflowID, "stack", in.Stuck())
}

// block counts hung code, and blocks its run until ended reports true.
func (r *Runner) block(workflowID string, runID history.RunID, what string, ended func() bool) {
	r.hung.Add(1)
	r.blocks.add(runKey{workflowID, runID}, what, r.host.Now(), ended)
	r.options.Observe.Observe(context.Background(), &observe.Hung{WorkflowID: workflowID})
}

// Hung returns the number of instances whose code did not return.
func (r *Runner) Hung() int { return int(r.hung.Load()) }

// HungWorkflows returns the ids of the workflows with code that has not returned, local activities
// included: 1,000 at most.
func (r *Runner) HungWorkflows() []string { return r.blocks.workflows() }

// SkipChecks ends the checks of validators and query handlers.
func (r *Runner) SkipChecks() { r.checks.stop() }
