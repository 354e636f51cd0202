package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/queue"
)

// StartOrClose does what the parent of a child wants done with it: starts it, and tells the parent so; or, where the parent
// has closed, what the child's close policy says. What is known of the parent may have grown old meanwhile: a parent that has
// closed while its child was started is looked at again, because whoever came by its close policy found no child.
//
// A crash after the child was started, or the parent was told, leaves the message. Its next delivery finds the child by the
// request id of its start, and sends what either log owes.
func StartOrClose(ctx context.Context, s *session.Process, m *engine.Message) (found bool, err error) {
	for {
		e, found, err := load(ctx, s, m)
		if e == nil || err != nil {
			return found, err
		}
		if e.done != "" {
			return true, inbox.RepairForeignAt(ctx, s, e.done, m)
		}
		if e.closed && e.child.Policy != history.AbandonChild {
			return true, endChild(ctx, s, e)
		}
		news, err := ensureChild(ctx, s, e)
		if err != nil || e.closed {
			return true, err
		}
		closed, err := bringNews(ctx, s, m, news)
		if err != nil || !closed {
			return true, err
		}
	}
}

// ensureChild makes sure that a child has started, and returns what there is to tell its parent: that it has, or could not
// be, or how it ended; nil where there is nothing.
func ensureChild(ctx context.Context, s *session.Process, e *outbound) (history.Attributes, error) {
	child := e.child
	fails := func(f *failure.Failure) (history.Attributes, error) {
		return &history.StartChildWorkflowExecutionFailed{InitiatedEventID: child.EventID, Failure: f}, nil
	}
	var start *command.Start
	var started *history.WorkflowExecutionStarted
	if child.RunID == "" {
		if f := engine.OversizeChild(child.StartChildWorkflowExecutionInitiated, s.Options.MaxPayload); f != nil {
			return fails(f)
		}
		var err error
		if start, err = s.Parser().Start(requestOf(child)); err != nil {
			return fails(failure.FromError(failure.New(failure.ErrInvalid.Type, err.Error()).Final()))
		}
		started = starts.Event(ctx, s, start)
		started.Parent = &history.Parent{WorkflowID: e.message.WorkflowID, RunID: e.message.RunID, InitiatedEventID: child.EventID}
	}
	var news history.Attributes
	err := s.At(ctx, child.WorkflowID, func(ctx context.Context, t *session.Session) (err error) {
		news, err = ensure(ctx, t, e, start, started)
		return err
	})
	if errors.Is(err, refusal.AlreadyOpen) {
		if ends, lookErr := ends(ctx, s, e); lookErr != nil {
			return nil, lookErr
		} else if ends {
			return nil, errEnding
		}
	}
	switch {
	case errors.Is(err, refusal.AlreadyOpen), errors.Is(err, refusal.AlreadyUsed):
		return fails(failure.FromError(failure.New(failure.ErrAlreadyStarted.Type, err.Error()).Final()))
	case errors.Is(err, outcome.ErrTooLarge):
		return fails(s.TooLarge())
	}
	return news, err
}

// neverStarted reports whether the log shows that nobody has started a child. A child that had started, closed and been deleted would
// have left a run, or a number that is taken, for as long as runs are kept.
func neverStarted(t *session.Session, c *engine.PendingChild) bool {
	if t.Timestamp().Sub(c.Time) >= t.Keep(0) {
		return false
	}
	latest := t.Run()
	return latest == nil && t.View.Highest == 0 ||
		latest != nil && latest.Number == t.View.Highest && latest.State.StartTime.Add(host.ClocksApart) < c.Time
}

// requestOf returns the request that starts a child, as a caller would send it.
func requestOf(c *engine.PendingChild) *api.StartRequest {
	id := c.WorkflowID
	r := &api.StartRequest{
		WorkflowID: &id, Type: c.WorkflowType, Input: json.RawMessage(c.Input), RequestID: c.RequestID, IDReusePolicy: c.IDReusePolicy,
		RunTimeout: api.Duration(c.RunTimeout), StartDelay: api.Duration(c.StartDelay), Cron: c.Cron, ExecutionTimeout: api.Duration(c.ExecutionTimeout),
		Header: c.Header, Memo: c.Memo, SearchAttributes: c.SearchAttributes,
	}
	if p := c.Retry; p != nil {
		r.Retry = api.RetryOf(*p)
	}
	return r
}

// ensure is ensureChild at the child's gate.
func ensure(ctx context.Context, t *session.Session, e *outbound, start *command.Start, started *history.WorkflowExecutionStarted) (history.Attributes, error) {
	if err := t.View.EnsureFresh(ctx); err != nil {
		return nil, err
	}
	run, err := childRun(ctx, t, e.child)
	if err != nil {
		return nil, err
	}
	trigger := inbox.Foreign(e.message)
	switch {
	case run != nil:
		if err := inbox.RepairForeign(ctx, t, e.message); err != nil {
			return nil, err
		}
	case started == nil:
		return vanished(e.child), nil
	case e.message.Late && !neverStarted(t, e.child):
		return nil, nil
	default:
		if latest := t.Run(); latest != nil && !latest.State.Status.Closed() {
			e.holder = latest.State.Started.Parent
			err = refusal.AlreadyOpen.New("run %q of workflow %q is open: give the child another workflow id, or start it when that run has closed", latest.State.RunID, t.WorkflowID)
		} else if latest != nil {
			err = starts.MayReuse(latest, start)
		}
		if err != nil {
			return nil, err
		}
		answer := &api.StartResponse{}
		if run, _, err = commit.Open(ctx, t, nil, answer, engine.Task{InputEvents: []history.Event{history.Of(started)}}, trigger); err != nil {
			return nil, err
		}
	}
	if run.State.Status.Closed() {
		return run.State.Report(e.child.EventID), nil
	}
	if e.child.Quiet || e.child.RunID != "" {
		return nil, nil
	}
	return &history.ChildWorkflowExecutionStarted{InitiatedEventID: e.child.EventID, RunID: run.State.FirstRunID()}, nil
}

// vanished is the outcome of a child that has been deleted before its parent was told how it ended.
func vanished(c *engine.PendingChild) history.Attributes {
	f := &failure.Failure{Kind: failure.KindTerminated, Message: fmt.Sprintf("workflow %q is no longer there: nobody knows how it ended", c.WorkflowID)}
	return &history.ChildWorkflowExecutionTerminated{InitiatedEventID: c.EventID, RunID: c.RunID, Failure: f}
}

// childRun is the last run of a child so far, by the request id of its start; nil where it has not been started, or is no
// longer there. What is known of the workflow has to be current. It reads where others have started the workflow since: once for each
// run that began after the child was asked for.
func childRun(ctx context.Context, t *session.Session, c *engine.PendingChild) (*engine.Run, error) {
	latest := t.Run()
	if latest == nil || latest.State.Started.RequestID == c.RequestID {
		return latest, nil
	}
	id := c.RunID
	for at, number := latest.State.StartTime, latest.Number; id == "" && at.Add(host.ClocksApart) >= c.Time; {
		before, err := t.View.RunBefore(ctx, t.WorkflowID, number)
		if err != nil {
			return nil, err
		}
		if before == nil {
			break
		}
		if before.Opens() != nil && before.Opens().RequestID == c.RequestID {
			id = before.RunID
		}
		at, number = before.Time, before.RunID.Number()
	}
	for id != "" { // somebody has started the workflow again since
		run, err := t.View.Other(ctx, id)
		if run == nil || err != nil || run.State.Next() == "" {
			return run, err
		}
		id = run.State.Next()
	}
	return nil, nil
}

// endChild does with the child of a parent that has closed what its close policy says. One that nobody has started yet never
// will be: whoever starts it looks at its parent afterwards. Only an earlier delivery of this message might start it still, and die
// before it looks: so it is looked for once more when that has to have come to its end.
func endChild(ctx context.Context, s *session.Process, e *outbound) error {
	trigger := inbox.Foreign(e.message)
	return s.At(ctx, e.child.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := childRun(ctx, t, e.child)
		asks := e.child.Policy == history.RequestCancelChild
		switch {
		case err != nil:
			return err
		case run == nil && e.message.Attempt == 1:
			again := *e.message
			again.Attempt, again.Due = 2, s.Timestamp().Add(queue.MaxDelay) // no invocation takes longer
			return t.Outbox.Send(ctx, []engine.Message{again})
		case run == nil:
			return nil
		case run.State.Status.Closed(), asks && run.State.CancelRequested:
			return inbox.RepairForeign(ctx, t, e.message)
		case asks:
			return commit.Event(ctx, t, run, history.Of(&history.WorkflowExecutionCancelRequested{Reason: parentClosed}), trigger)
		}
		t.Code.Drop()
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: parentClosed})
		return t.Commit(ctx, []*session.Change{{Run: run, Commit: run.End(t.Writer(trigger), end)}}, []*engine.Message{trigger})
	})
}

const parentClosed = "its parent has closed"

// bringNews tells the run that a message is of what came of it. It reports whether the run has closed, which it finds out for
// certain unless it hands the news over.
func bringNews(ctx context.Context, s *session.Process, m *engine.Message, news history.Attributes) (closed bool, err error) {
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		if news == nil { // no put proves that what is known is current
			if err := t.View.EnsureFresh(ctx); err != nil {
				return err
			}
		}
		run, place, err := inbox.Locate(ctx, t, m)
		if err != nil || place != inbox.InLog {
			return err
		}
		if closed = run.State.Status.Closed(); closed {
			return nil
		}
		return takeNews(ctx, t, run, m, news)
	})
	if errors.Is(err, outcome.ErrBusy) && news != nil {
		return closed, handOverNews(ctx, s, m, news) // too many others write to this run: its queue brings news together
	}
	return closed, err
}

// takeNews commits news that a message brings to an open run: here, if nothing like it is awaited besides, and otherwise through
// the workflow's queue, where what comes together becomes one commit.
func takeNews(ctx context.Context, t *session.Session, run *engine.Run, m *engine.Message, news history.Attributes) error {
	var events []history.Event
	if news != nil {
		events = run.Awaited(history.Of(news))
	}
	if len(events) == 0 {
		return inbox.Repair(ctx, t, run, m)
	}
	many := len(run.State.Children)
	if history.ResolutionOf(events[0].Attributes).External != 0 {
		many = len(run.State.Externals)
	}
	if many > 1 || commit.IsPinnedElsewhere(t, run) || t.Registry.Workflow(run.State.Started.WorkflowType) == nil {
		return handOverNews(ctx, t.Process, m, news)
	}
	return commit.Events(ctx, t, run, events, m)
}

// RedirectStray is what news of a child comes to if the run that it is for has closed: whoever sent it did not know that. A message that settles
// the child takes its place, and reads. If another run goes on from a reset, and waits for the child as well, the message brings the
// news to that one. Otherwise it is for the run that has closed: the close policy may have found no child. A crash here leaves the news.
func RedirectStray(t *session.Session, m *engine.Message) []engine.Message {
	_, started := m.Result.Attributes.(*history.ChildWorkflowExecutionStarted)
	child := history.ResolutionOf(m.Result.Attributes).Child
	if started {
		child = m.Result.Attributes.(*history.ChildWorkflowExecutionStarted).InitiatedEventID
	}
	if child == 0 {
		return nil
	}
	settles := *m
	settles.Kind, settles.EventID, settles.Result, settles.Due, settles.Sent = engine.StartOrCloseChild, child, nil, 0, 0
	settles.Attempt = 2 // whoever handles it looks at the log of the parent
	var all []engine.Message
	if started {
		all = append(all, settles)
	}
	if run := t.Run(); run != nil && run.State.RunID != m.RunID && run.State.Reset != nil && !run.State.Status.Closed() && run.State.Children[child] != nil {
		p := run.State.Children[child]
		settles.RunID, settles.Slot, settles.Commit = run.State.RunID, p.Slot, p.Commit
		all = append(all, settles)
	}
	return all
}

// handOverNews sends news to the workflow's queue. What is known of the run may be old: see stray.
func handOverNews(ctx context.Context, s *session.Process, m *engine.Message, news history.Attributes) error {
	e := history.Of(news)
	to := *m
	to.Kind, to.Result, to.Due, to.Sent, to.Scheduled, to.Look, to.Copy = engine.TakeResult, &e, 0, 0, 0, 0, 0
	return s.Outbox.Send(ctx, []engine.Message{to})
}

// NotifyParent tells the parent of a child how that has ended. The commit that closed the child is in its log before anybody
// is told.
func NotifyParent(ctx context.Context, s *session.Process, m *engine.Message) (found bool, err error) {
	var child *engine.State
	err = s.At(ctx, m.WorkflowID, func(ctx context.Context, t *session.Session) error {
		run, place, err := inbox.Locate(ctx, t, m)
		found = place != inbox.NotYet
		if err == nil && place == inbox.InLog {
			child = run.State
		}
		return err
	})
	if err != nil || child == nil || child.Started.Parent == nil {
		return found, err
	}
	parent := child.Started.Parent
	news := child.Report(parent.InitiatedEventID)
	if news == nil {
		return true, nil
	}
	var to *engine.Message
	err = s.At(ctx, parent.WorkflowID, func(ctx context.Context, t *session.Session) error {
		to = addressedTo(t, parent, child.Started.RequestID, m)
		if to == nil {
			if err := t.View.EnsureFresh(ctx); err != nil {
				return err
			}
			to = addressedTo(t, parent, child.Started.RequestID, m)
		}
		if to == nil {
			return inbox.RepairForeign(ctx, t, m) // who told it before may have died before he sent what followed
		}
		return takeNews(ctx, t, t.Run(), to, news)
	})
	if errors.Is(err, outcome.ErrBusy) && to != nil {
		return true, handOverNews(ctx, s, to, news)
	}
	return true, err
}

// addressedTo is a message in the name of the run that waits for a child: the run that started it, or one that goes on from
// that after a reset. It is nil where, by what is known, none waits.
func addressedTo(t *session.Session, parent *history.Parent, requestID string, m *engine.Message) *engine.Message {
	run := t.Run()
	if run == nil || run.State.Status.Closed() {
		return nil
	}
	p := run.State.Children[parent.InitiatedEventID]
	if p == nil || p.RequestID != requestID {
		return nil
	}
	to := inbox.Foreign(m)
	to.WorkflowID, to.RunID, to.Slot, to.Commit, to.EventID = t.WorkflowID, run.State.RunID, p.Slot, p.Commit, p.EventID
	return to
}
