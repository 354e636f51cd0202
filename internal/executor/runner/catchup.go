package runner

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// CatchUp replays, page by page, the commits that a run lacks in memory and its code has not seen.
// The next run of the code replays the rest, and finds out if the code has failed. The caller has
// checked that the code may run.
//
// It returns the failure of code that did not return, or that ended its goroutine. There is no
// instance any more then, and the caller must not run the code. It returns an error if a page
// cannot be read. The code stays where it is, and the next try continues from there.
func (c *Code) CatchUp(ctx context.Context, run *engine.Run, kind CodeKind) (lost *failure.Failure, err error) {
	seen := uint32(0)
	if in := c.kept.Instance; in != nil && in.RunID() == run.State.RunID {
		seen = in.Slot()
	}
	if run.Lacks(max(seen, 1)) == 0 {
		return nil, nil
	}
	return c.replayFrom(ctx, run, kind, seen)
}

// replayFrom replays the commits of a run from a slot on. It returns what CatchUp returns.
func (c *Code) replayFrom(ctx context.Context, run *engine.Run, kind CodeKind, seen uint32) (lost *failure.Failure, err error) {
	in := c.ensure(run, run.State.RunID, run.State.Started)
	for page, err := range c.log.Pages(ctx, run, seen) {
		if err != nil {
			return nil, err
		}
		if page[0].Slot > 0 && run.Lacks(page[0].Slot) == 0 {
			break
		}
		came := make(chan error, 1) // not a variable: code that does not return may still write to it
		note := c.runner.Begin(kind, c.workflowID, in.RunID(), 0)
		ended := c.guard(c.runner.options.DeadlockAfter, in, func() { defer c.leave(in, note); came <- replay(in, page) })
		if !ended || len(came) == 0 {
			lost = c.lost(in, ended, c.runner.options.DeadlockAfter)
			c.Drop()
			return lost, nil
		}
		if <-came != nil {
			break
		}
	}
	return nil, nil
}

// replay replays commits.
func replay(in *engine.Instance, commits []*history.Commit) error {
	for _, c := range commits {
		if err := in.Replay(c); err != nil {
			return err
		}
	}
	return nil
}
