package children

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// errEnding says that a child cannot start yet: the open run with its workflow id is about to be
// terminated.
var errEnding = errors.New("executor: the run that has the workflow id is about to end")

// endingDelay is how long a message waits for that workflow id.
const endingDelay = time.Second

// AfterEnd calls fn with a message. If fn has to wait for a workflow id, AfterEnd sends the message
// again, with a delay.
func AfterEnd(ctx context.Context, s *session.Process, m *engine.Message, fn func(context.Context, *session.Process, *engine.Message) (bool, error)) (found bool, err error) {
	found, err = fn(ctx, s, m)
	if !errors.Is(err, errEnding) {
		return found, err
	}
	return true, s.Outbox.SendLater(ctx, m, endingDelay)
}

// ends reports whether the run with the workflow id of a child is about to be terminated. That run
// is a child of a closed earlier run of the same parent. The message that terminates it may arrive
// later.
func ends(ctx context.Context, s *session.Process, e *outbound) (ends bool, err error) {
	by := e.holder
	if by == nil || by.WorkflowID != e.message.WorkflowID || by.RunID == e.message.RunID {
		return false, nil
	}
	err = s.At(ctx, by.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureLoaded(ctx); err != nil { // otherwise a read of an earlier run could not see that its end is missing
			return err
		}
		for id := by.RunID; id != ""; {
			run, err := t.View.Other(ctx, id)
			if run == nil || err != nil {
				return err
			}
			child := run.State.Children[by.InitiatedEventID]
			switch {
			case child == nil:
				return nil
			case run.Needed(&engine.Message{Kind: engine.StartOrCloseChild, EventID: by.InitiatedEventID}):
				ends = child.Policy == history.TerminateChild
				return nil
			}
			id = run.State.Next() // a reset has passed the child on, with the same event id
		}
		return nil
	})
	return ends, err
}
