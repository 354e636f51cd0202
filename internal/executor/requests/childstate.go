package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// addChildStates adds the state of the latest runs of up to most children: a read of one commit for
// each. The caller holds no lock.
func addChildStates(ctx context.Context, s *session.Process, children []schema.PendingChild, most int) error {
	ctx, cancel := s.World.WithTimeout(ctx, s.Options.SoftLimit)
	defer cancel()
	for i := range children[:min(len(children), most)] {
		last, err := lastCommit(ctx, s, children[i].WorkflowID)
		if err != nil {
			return err
		}
		if last != nil {
			children[i].Status, children[i].State = &last.Status, stateAfter(last)
		}
	}
	return nil
}

// lastCommit reads the last commit of a workflow, or nil if it has none. It skips void runs.
func lastCommit(ctx context.Context, s *session.Process, workflowID string) (*history.Commit, error) {
	for before := (store.Key{}); ; {
		page, err := s.Log.Backward(ctx, workflowID, before, store.Key{}, 1)
		if err != nil {
			return nil, outcome.OfRead(err)
		}
		if len(page.Items) == 0 {
			return nil, nil
		}
		c, err := history.Decode(page.Items[0].Slot, page.Items[0].Body)
		if err != nil || c.Status != history.Void {
			return c, err
		}
		before = page.Items[0].Key
	}
}

// stateAfter returns the state of an open run as far as its last commit says it.
func stateAfter(last *history.Commit) schema.RunState {
	switch {
	case last.Status.Closed():
		return ""
	case last.Failed() && !last.FromReset(): // it may have refused an update, which leaves nothing pending
		return schema.StateStuck
	}
	return pendingState(last.Pending)
}
