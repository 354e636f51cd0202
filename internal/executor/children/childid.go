package children

import (
	"context"
	"errors"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// errEnding is a child that cannot be started yet: its workflow id has a run that is about to be terminated.
var errEnding = errors.New("turn: the run that has the workflow id is about to end")

// endingDelay is how long what needs that workflow id waits for it.
const endingDelay = time.Second

// AfterEnd has fn do what a message asks for, or the message come again where that cannot be done yet.
func AfterEnd(ctx context.Context, s *session.Process, m *engine.Message, fn func(context.Context, *session.Process, *engine.Message) (bool, error)) (found bool, err error) {
	found, err = fn(ctx, s, m)
	if !errors.Is(err, errEnding) {
		return found, err
	}
	return true, s.Outbox.SendLater(ctx, m, endingDelay)
}

// ends reports whether the run that has the workflow id of a child is about to be terminated: it is a child of a run before of
// the same parent, which has closed. The message that terminates it may come after this one.
func ends(ctx context.Context, s *session.Process, e *outbound) (ends bool, err error) {
	by := e.holder
	if by == nil || by.WorkflowID != e.message.WorkflowID || by.RunID == e.message.RunID {
		return false, nil
	}
	err = s.At(ctx, by.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureLoaded(ctx); err != nil { // or a read of a run before could not tell that its end is missing
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
			id = run.State.Next() // a reset has handed it on, under the same number
		}
		return nil
	})
	return ends, err
}
