package children

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/commit"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/outcome"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/executor/starts"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/queue"
)

// StartOrClose starts a child and reports that to its parent. If the parent has closed, it applies
// the child's close policy instead. The parent may close while its child is started, and the close
// policy may then find no child. So StartOrClose reads the parent again if that has closed.
//
// If the process crashes after the child was started or the parent informed, the message stays. Its
// next delivery finds the child by the request id of its start, and sends what either log owes.
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

// ensureChild starts a child that has not started yet. It returns the news for the parent: that the
// child has started, could not be started, or how it ended. It returns nil if there is no news.
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
		if start, e.refused = s.Parser().StartChild(requestOf(child), e.own); e.refused == nil {
			started = starts.Event(ctx, s, start)
			started.Parent = &history.Parent{WorkflowID: e.message.WorkflowID, RunID: e.message.RunID, InitiatedEventID: child.EventID}
		}
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

// neverStarted reports whether the log shows that nobody has started a child. A child that had
// started, closed and been deleted would have left a run or a taken number for as long as runs are
// kept.
func neverStarted(t *session.Session, c *engine.PendingChild) bool {
	if t.Process.Timestamp().Sub(c.Time) >= t.Process.Keep(0) {
		return false
	}
	latest := t.Run()
	return latest == nil && t.View.Known.Highest == 0 ||
		latest != nil && latest.Number == t.View.Known.Highest && latest.State.StartTime.Add(host.ClockGap) < c.Time
}

// requestOf returns the request that starts a child, as a caller would send it.
func requestOf(c *engine.PendingChild) *schema.StartRequest {
	id := c.WorkflowID
	r := &schema.StartRequest{
		WorkflowID: &id, Type: c.WorkflowType, Input: json.RawMessage(c.Input), RequestID: c.RequestID, IDReusePolicy: c.IDReusePolicy,
		RunTimeout: schema.Duration(c.RunTimeout), StartDelay: schema.Duration(c.StartDelay), Cron: c.Cron, ExecutionTimeout: schema.Duration(c.ExecutionTimeout),
		Header: c.Header, Memo: c.Memo, SearchAttributes: c.SearchAttributes,
	}
	if p := c.Retry; p != nil {
		r.Retry = schema.RetryOf(*p)
	}
	return r
}

// ensure is ensureChild for a caller that holds the lock of the child's workflow.
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
	case errors.Is(e.refused, refusal.NotReady): // a decoder hangs, or was slow: the message is redelivered
		return nil, e.refused
	case e.refused != nil:
		f := failure.FromError(failure.New(failure.ErrInvalid.Type, e.refused.Error()).Final())
		return &history.StartChildWorkflowExecutionFailed{InitiatedEventID: e.child.EventID, Failure: f}, nil
	case started == nil:
		return vanished(e.child), nil
	case e.message.Late && !neverStarted(t, e.child):
		return nil, nil
	default:
		if latest := t.Run(); latest != nil && !latest.State.Status.Closed() {
			e.holder = latest.State.Started.Parent
			err = refusal.AlreadyOpen.New("run %q of workflow %q is open: give the child another workflow id, or start it when that run has closed", latest.State.RunID, t.WorkflowID)
		} else if latest != nil {
			err = starts.CheckReuse(latest, start)
		}
		if err != nil {
			return nil, err
		}
		answer := &schema.StartResponse{}
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

// vanished returns the outcome of a child that was deleted before its parent learned how it ended.
func vanished(c *engine.PendingChild) history.Attributes {
	f := &failure.Failure{Kind: failure.KindTerminated, Message: fmt.Sprintf("workflow %q is no longer there: nobody knows how it ended", c.WorkflowID)}
	return &history.ChildWorkflowExecutionTerminated{InitiatedEventID: c.EventID, RunID: c.RunID, Failure: f}
}

// childRun returns the last run of a child so far, which it finds by the request id of the child's
// start. It returns nil if the child has not been started, or is no longer there. The caller must
// have read the workflow. If others have started the workflow since, childRun reads: once for each
// run that began after the child was requested.
func childRun(ctx context.Context, t *session.Session, c *engine.PendingChild) (*engine.Run, error) {
	latest := t.Run()
	if latest == nil || latest.State.Started.RequestID == c.RequestID {
		return latest, nil
	}
	id := c.RunID
	for at, number := latest.State.StartTime, latest.Number; id == "" && at.Add(host.ClockGap) >= c.Time; {
		before, err := t.View.Reader.RunBefore(ctx, t.WorkflowID, number)
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

// endChild applies the close policy of a closed parent to its child. A child that nobody has
// started yet will not start, because its starter checks the parent afterwards. The exception is an
// earlier delivery of this message that dies before that check. So endChild checks for the child
// once more, when no such delivery can still run.
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
			return t.Process.Outbox.Send(ctx, []engine.Message{again})
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

// bringNews commits news to the run of a message. It reports whether the run has closed. That is
// certain unless bringNews hands the news over to the workflow's queue.
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
		return closed, handOverNews(ctx, s, m, news) // too many others write to this run: its queue batches news
	}
	return closed, err
}

// takeNews commits the news of a message to an open run. It commits here if the run awaits nothing
// else of the kind. Otherwise it uses the workflow's queue, where concurrent news becomes one
// commit.
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
	if many > 1 || commit.IsPinnedElsewhere(t, run) || commit.IsOwnedElsewhere(ctx, t, run) || t.Process.Registry.Workflow(run.State.Started.WorkflowType) == nil {
		return handOverNews(ctx, t.Process, m, news)
	}
	return commit.Events(ctx, t, run, events, m)
}

// RedirectStray handles news of a child for a run that has closed, which the sender did not know.
// It returns the messages that replace the news:
//
//   - If a reset continued the closed run in another run, and that run also waits for the child, a
//     message for that run.
//   - If the child has started, a message for the closed run: its close policy may have found no
//     child.
//
// Both start or close the child, and their handlers read the log. A crash here leaves the news.
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
	settles.Attempt = 2 // its handler reads the log of the parent
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

// handOverNews sends news to the workflow's queue. The run may have closed meanwhile: see
// RedirectStray.
func handOverNews(ctx context.Context, s *session.Process, m *engine.Message, news history.Attributes) error {
	e := history.Of(news)
	to := *m
	to.Kind, to.Result, to.Due, to.Sent, to.Scheduled, to.Look, to.Copy = engine.TakeResult, &e, 0, 0, 0, 0, 0
	return s.Outbox.Send(ctx, []engine.Message{to})
}

// NotifyParent reports to the parent of a child how the child ended. The commit that closed the
// child is in its log before anybody is told.
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
			return inbox.RepairForeign(ctx, t, m) // an earlier delivery may have died before it sent what follows
		}
		return takeNews(ctx, t, t.Run(), to, news)
	})
	if errors.Is(err, outcome.ErrBusy) && to != nil {
		return true, handOverNews(ctx, s, to, news)
	}
	return true, err
}

// addressedTo returns a message in the name of the run that waits for a child: the run that started
// it, or one that continues that run after a reset. It returns nil if no run is known to wait.
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
