package runner

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
)

// Waits is where the code of a run waits.
type Waits struct {
	Coroutines []engine.CoroutineWait
	// Updates and Queries are the names of those that the code handles, and Signals of those that
	// it has received or waits for.
	Updates, Queries, Signals []string
	// LastSeen is the last event that the code has seen: see engine.Run.LastSeen.
	LastSeen int64
	// End is the last event of the log.
	End int64
	// Stopped is why the replay ended before the end of the log, or nil.
	Stopped *failure.Failure
}

// WaitsOf replays the whole log of a run on an instance of its own, which is traced and not kept,
// and returns where the code waits. The instance of the latest run stays as it is, unless the code
// does not return. WaitsOf returns an error if a page of the log cannot be read. The caller has
// checked that the code may run.
func WaitsOf(ctx context.Context, c *Code, run *engine.Run) (*Waits, error) {
	in := engine.NewInstance(c.runner.registry.Workflow(run.State.Started.WorkflowType), c.workflowID, run.State.RunID)
	in.Trace()
	defer c.runner.Close(c.workflowID, in)
	var stopped *failure.Failure
	for page, err := range c.log.Pages(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		failed, lost := traced(c, in, func() error { return replay(in, page) })
		if lost != nil {
			return &Waits{Stopped: lost}, nil
		}
		if stopped = failure.FromError(failed); stopped != nil {
			break
		}
	}
	all, lost := traced(c, in, in.Waits)
	if lost != nil { // a condition
		return &Waits{Stopped: lost}, nil
	}
	return &Waits{
		Coroutines: all, Updates: in.UpdateHandlers(), Queries: in.QueryHandlers(), Signals: in.ReceivedSignals(), LastSeen: run.LastSeen(in), End: run.State.NextEventID - 1, Stopped: stopped,
	}, nil
}

// traced runs code of a traced instance, and returns its result. lost is the failure of code that
// did not return, or that ended its goroutine: nothing more can be said about it then.
func traced[T any](c *Code, in *engine.Instance, fn func() T) (result T, lost *failure.Failure) {
	came := make(chan T, 1) // not a variable: code that does not return may still write to it
	note := c.runner.Begin(CodeQuery, c.workflowID, in.RunID(), 0)
	ended := c.guard(c.runner.options.DeadlockAfter, in, func() { defer c.leave(in, note); came <- fn() })
	if !ended || len(came) == 0 {
		return result, c.lost(in, ended, c.runner.options.DeadlockAfter)
	}
	return <-came, nil
}
