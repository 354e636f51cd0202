package turn

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// sendOwed sends what a run owes on behalf of messages.
func (t *session) sendOwed(ctx context.Context, run *engine.Run, triggers []*engine.Message) error {
	owed, err := t.view.Owed(ctx, run, triggers, nil)
	if err != nil {
		return err
	}
	return t.outbox.Send(ctx, owed)
}

// catchUp replays what a run lacks of its log and its code has not seen, page by page. The rest of the log is left to whoever runs the code
// next, who also finds out that the code has failed. The caller has made sure that the code may run.
//
// It returns the failure of code that did not come back, or that took its goroutine with it: there is no instance any more then, and the
// code is not to be run for the caller. A page that cannot be read is an error. The code stays where it is then: whoever tries again goes on
// from there.
func (t *session) catchUp(ctx context.Context, run *engine.Run, kind CodeKind) (lost *failure.Failure, err error) {
	seen := uint32(0)
	if in := t.entry.instance; in != nil && in.RunID() == run.State.RunID {
		seen = in.Slot()
	}
	if run.Lacks(max(seen, 1)) == 0 {
		return nil, nil
	}
	in := t.instance(run, nil, run.State.Started)
	for page, err := range t.view.Pages(ctx, run, seen) {
		if err != nil {
			return nil, err
		}
		if page[0].Slot > 0 && run.Lacks(page[0].Slot) == 0 {
			break
		}
		came := make(chan error, 1) // not a variable: code that does not come back may still write to it
		note := t.noteBegin(kind, t.workflowID, in.RunID(), 0)
		ended := t.guard(in, func() { defer t.leaves(in, note); came <- replay(in, page) })
		if !ended || len(came) == 0 {
			lost = t.lost(in, ended, t.options.DeadlockAfter)
			t.dropInstance()
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
