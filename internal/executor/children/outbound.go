package children

import (
	"context"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
)

// outbound is what a run asks of another workflow, as its log has it.
type outbound struct {
	message  *engine.Message
	child    *engine.PendingChild
	external *engine.PendingExternal
	// own says that the run is of one of Weft's own types.
	own bool
	// request is the request id of the start of the child that external is for.
	request string
	// refused is why the child cannot be started here, or nil. An earlier delivery, to a process of
	// another build, may have started it.
	refused error
	// sent is when external was sent, or an earlier moment.
	sent history.Timestamp
	// holder is the parent of the open run that has the child's workflow id, or nil.
	holder *history.Parent
	// closed says that the run closed at closeTime, so that nobody waits for news.
	closed    bool
	closeTime history.Timestamp
	// done is the target workflow if another delivery has already done everything, and otherwise
	// empty.
	done string
}

// load returns what a message asks for. It returns nil if that is no longer wanted, or is done and
// owes nothing.
func load(ctx context.Context, s *session.Process, m *engine.Message) (e *outbound, found bool, err error) {
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if m.Kind == engine.StartOrCloseChild && m.Attempt > 1 { // the parent has closed, which this process may not know
			if err := t.View.EnsureFresh(ctx); err != nil {
				return err
			}
		}
		run, place, err := inbox.Locate(ctx, t, m)
		found = place != inbox.NotYet
		if err != nil || place != inbox.InLog {
			return err
		}
		needed, closed := run.Needed(m), run.State.Status.Closed()
		if !needed || closed {
			// An earlier delivery may have closed the run, and died before it sent what follows
			// from that.
			if err := inbox.Repair(ctx, t, run, m); err != nil {
				return err
			}
		}
		if !needed {
			command, err := t.View.Command(ctx, run, m.EventID)
			if err != nil {
				return err
			}
			if to := history.InitiatedBy(command).Receiver(); to != "" {
				e = &outbound{message: m, done: to}
			}
			return nil
		}
		e = &outbound{message: m, closed: closed, closeTime: run.State.CloseTime, own: engine.OwnType(run.State.Started.WorkflowType)}
		child := m.EventID
		if m.Kind == engine.DeliverExternal {
			e.external = run.State.Externals[m.EventID]
			if run.State.Reset == nil { // a reset copies what was sent before
				e.sent = run.TimeOf(e.external.Slot)
			}
			child = e.external.ChildEventID
			command, err := t.View.Command(ctx, run, child)
			if err != nil {
				return err
			}
			if start, ok := command.(*history.StartChildWorkflowExecutionInitiated); ok {
				e.request = start.RequestID
			}
		}
		if p := run.State.Children[child]; p != nil {
			now := *p
			if run.State.Reset != nil {
				now.Time = 0 // the run that was reset may have started it, at any time
			}
			e.child = &now
		}
		return nil
	})
	return e, found, err
}

// incoming returns the event by which the message arrives at its workflow. A request to end is
// recognized by the event that sent it.
func (e *outbound) incoming() history.Event {
	return history.Of(e.external.Arrives(fmt.Sprintf("%s.%d", e.message.RunID, e.message.EventID)))
}
