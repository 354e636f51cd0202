package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/turn/host"
	"github.com/seed-41655fb1/weft/internal/turn/outcome"
	"github.com/seed-41655fb1/weft/queue"
)

// settleChild does what the parent of a child wants done with it: starts it, and tells the parent so; or, where the parent
// has closed, what the child's close policy says. What is known of the parent may have grown old meanwhile: a parent that has
// closed while its child was started is looked at again, because whoever came by its close policy found no child.
//
// A crash after the child was started, or the parent was told, leaves the message. Its next delivery finds the child by the
// request id of its start, and sends what either log owes.
func (s *Service) settleChild(ctx context.Context, m *engine.Message) (found bool, err error) {
	for {
		e, found, err := s.errand(ctx, m)
		if e == nil || err != nil {
			return found, err
		}
		if e.done != "" {
			return true, s.repairForeign(ctx, e.done, m)
		}
		if e.closed && e.child.Policy != history.AbandonChild {
			return true, s.endChild(ctx, e)
		}
		news, err := s.ensureChild(ctx, e)
		if err != nil || e.closed {
			return true, err
		}
		closed, err := s.bringNews(ctx, m, news)
		if err != nil || !closed {
			return true, err
		}
	}
}

// errand is what a run wants of another workflow, as its log has it.
type errand struct {
	message  *engine.Message
	child    *engine.PendingChild
	external *engine.PendingExternal
	// request is the request id of the start of the child that external is for.
	request string
	// sent is when external was sent, or before.
	sent history.Timestamp
	// holder is the parent of the open run that has the workflow id of the child; nil where it has none.
	holder *history.Parent
	// closed says that the run has closed, so that nobody waits for news, and closeTime when.
	closed    bool
	closeTime history.Timestamp
	// done is the workflow at which all has been done already, by another delivery; empty where something is to be done.
	done string
}

// errand finds what a message asks for. It is nil where that will not be done, or was and nothing is left to be repaired.
func (s *Service) errand(ctx context.Context, m *engine.Message) (e *errand, found bool, err error) {
	err = s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		if m.Kind == engine.SettleChild && m.Attempt > 1 { // it was sent because the parent has closed, which this process may not know
			if err := t.view.EnsureFresh(ctx); err != nil {
				return err
			}
		}
		run, place, err := t.named(ctx, m)
		found = place != notYet
		if err != nil || place != inLog {
			return err
		}
		needed, closed := run.Needed(m), run.State.Status.Closed()
		if !needed || closed {
			// An earlier delivery may have closed the run, and died before it sent what follows from that.
			if err := t.repair(ctx, run, m); err != nil {
				return err
			}
		}
		if !needed {
			command, err := t.view.Command(ctx, run, m.EventID)
			if err != nil {
				return err
			}
			if to := target(command); to != "" {
				e = &errand{message: m, done: to}
			}
			return nil
		}
		e = &errand{message: m, closed: closed, closeTime: run.State.CloseTime}
		child := m.EventID
		if m.Kind == engine.ReachOut {
			e.external = run.State.Externals[m.EventID]
			if run.State.Reset == nil { // which copies what was sent before
				e.sent = run.TimeOf(e.external.Slot)
			}
			child = e.external.ChildEventID()
			command, err := t.view.Command(ctx, run, child)
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

// target is the workflow that a command reaches out to.
func target(command history.Attributes) string {
	switch a := command.(type) {
	case *history.StartChildWorkflowExecutionInitiated:
		return a.WorkflowID
	case *history.SignalExternalWorkflowExecutionInitiated:
		return a.WorkflowID
	case *history.RequestCancelExternalWorkflowExecutionInitiated:
		return a.WorkflowID
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // stay in the run
	}
	return ""
}

// repairForeign is session.repairForeign, at the gate of a workflow.
func (s *Service) repairForeign(ctx context.Context, workflowID string, m *engine.Message) error {
	return s.at(ctx, workflowID, func(ctx context.Context, t *session) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		return t.repairForeign(ctx, m)
	})
}

// repairForeign sends again what the commits of another workflow owe that an earlier delivery of a message has made. They are
// in runs that were open since it was sent. It reads only if the latest run began after that.
func (t *session) repairForeign(ctx context.Context, m *engine.Message) error {
	run := t.run()
	if run == nil {
		return nil
	}
	trigger := foreign(m)
	repair := func(run *engine.Run) error {
		owed, err := t.view.Owed(ctx, run, []*engine.Message{trigger}, nil)
		if err != nil {
			return err
		}
		if m.Kind == engine.SettleChild { // its handler tells the parent itself
			owed = slices.DeleteFunc(owed, func(o engine.Message) bool { return o.Kind == engine.ReportChild })
		}
		return t.outbox.Send(ctx, owed)
	}
	if err := repair(run); err != nil {
		return err
	}
	for run.State.StartTime.Add(host.ClockSkew) >= m.Sent { // an earlier run was open since
		before, err := t.view.Previous(ctx, run)
		if before == nil || err != nil || before.State.CloseTime.Add(host.ClockSkew) < m.Sent {
			return err
		}
		if err := repair(before); err != nil {
			return err
		}
		run = before
	}
	return nil
}

// foreign is a message as the trigger of a commit in the log of another workflow: Seen is a slot of its own workflow's log.
func foreign(m *engine.Message) *engine.Message {
	other := *m
	other.Seen = 0
	return &other
}

// ensureChild makes sure that a child has started, and returns what there is to tell its parent: that it has, or could not
// be, or how it ended; nil where there is nothing.
func (s *Service) ensureChild(ctx context.Context, e *errand) (history.Attributes, error) {
	child := e.child
	fails := func(f *failure.Failure) (history.Attributes, error) {
		return &history.StartChildWorkflowExecutionFailed{InitiatedEventID: child.EventID, Failure: f}, nil
	}
	var r *api.StartRequest
	var started *history.WorkflowExecutionStarted
	if child.RunID == "" {
		if f := engine.OversizeChild(child.StartChildWorkflowExecutionInitiated, s.options.MaxPayload); f != nil {
			return fails(f)
		}
		var err error
		r = startOf(child)
		if started, err = s.checkStart(ctx, r); err != nil {
			return fails(failure.FromError(failure.New(failure.ErrInvalid.Type, err.Error()).Final()))
		}
		started.Parent = &history.Parent{WorkflowID: e.message.WorkflowID, RunID: e.message.RunID, InitiatedEventID: child.EventID}
	}
	var news history.Attributes
	err := s.at(ctx, child.WorkflowID, func(ctx context.Context, t *session) (err error) {
		news, err = t.ensure(ctx, e, r, started)
		return err
	})
	if errors.Is(err, api.AlreadyOpen) {
		if ends, lookErr := s.ends(ctx, e); lookErr != nil {
			return nil, lookErr
		} else if ends {
			return nil, errEnding
		}
	}
	switch {
	case errors.Is(err, api.AlreadyOpen), errors.Is(err, api.AlreadyUsed):
		return fails(failure.FromError(failure.New(failure.ErrAlreadyStarted.Type, err.Error()).Final()))
	case errors.Is(err, outcome.ErrTooLarge):
		return fails(s.tooLarge())
	}
	return news, err
}

// neverStarted reports whether the log shows that nobody has started a child. A child that had started, closed and been deleted would
// have left a run, or a number that is taken, for as long as runs are kept.
func (t *session) neverStarted(c *engine.PendingChild) bool {
	if t.now().Sub(c.Time) >= t.keep(0) {
		return false
	}
	latest := t.run()
	return latest == nil && t.view.Highest == 0 ||
		latest != nil && latest.Number == t.view.Highest && latest.State.StartTime.Add(host.ClocksApart) < c.Time
}

// startOf is the start of a child as a request.
func startOf(c *engine.PendingChild) *api.StartRequest {
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
func (t *session) ensure(ctx context.Context, e *errand, r *api.StartRequest, started *history.WorkflowExecutionStarted) (history.Attributes, error) {
	if err := t.view.EnsureFresh(ctx); err != nil {
		return nil, err
	}
	run, err := t.childRun(ctx, e.child)
	if err != nil {
		return nil, err
	}
	trigger := foreign(e.message)
	switch {
	case run != nil:
		if err := t.repairForeign(ctx, e.message); err != nil {
			return nil, err
		}
	case started == nil:
		return vanished(e.child), nil
	case e.message.Late && !t.neverStarted(e.child):
		return nil, nil
	default:
		if latest := t.run(); latest != nil && !latest.State.Status.Closed() {
			e.holder = latest.State.Started.Parent
			err = api.AlreadyOpen.New("run %q of workflow %q is open: give the child another workflow id, or start it when that run has closed", latest.State.RunID, t.workflowID)
		} else if latest != nil {
			err = mayReuse(latest, r.IDReusePolicy)
		}
		if err != nil {
			return nil, err
		}
		answer := &api.StartResponse{}
		if run, _, err = t.open(ctx, nil, answer, engine.Task{Brought: []history.Event{history.Of(started)}}, trigger); err != nil {
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
func (t *session) childRun(ctx context.Context, c *engine.PendingChild) (*engine.Run, error) {
	latest := t.run()
	if latest == nil || latest.State.Started.RequestID == c.RequestID {
		return latest, nil
	}
	id := c.RunID
	for at, number := latest.State.StartTime, latest.Number; id == "" && at.Add(host.ClocksApart) >= c.Time; {
		before, err := t.view.RunBefore(ctx, t.workflowID, number)
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
		run, err := t.view.Other(ctx, id)
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
func (s *Service) endChild(ctx context.Context, e *errand) error {
	trigger := foreign(e.message)
	return s.at(ctx, e.child.WorkflowID, func(ctx context.Context, t *session) error {
		if err := t.view.EnsureFresh(ctx); err != nil {
			return err
		}
		run, err := t.childRun(ctx, e.child)
		asks := e.child.Policy == history.RequestCancelChild
		switch {
		case err != nil:
			return err
		case run == nil && e.message.Attempt == 1:
			again := *e.message
			again.Attempt, again.Due = 2, s.now().Add(queue.MaxDelay) // no invocation takes longer
			return t.outbox.Send(ctx, []engine.Message{again})
		case run == nil:
			return nil
		case run.State.Status.Closed(), asks && run.State.CancelRequested:
			return t.repairForeign(ctx, e.message)
		case asks:
			return t.bring(ctx, run, history.Of(&history.WorkflowExecutionCancelRequested{Reason: parentClosed}), trigger)
		}
		t.code.Drop()
		end := history.Of(&history.WorkflowExecutionTerminated{Reason: parentClosed})
		return t.putThenSend(ctx, []*engine.Message{trigger}, &change{run: run, commit: run.End(t.writer(trigger), end)})
	})
}

const parentClosed = "its parent has closed"

// bringNews tells the run that a message is of what came of it. It reports whether the run has closed, which it finds out for
// certain unless it hands the news over.
func (s *Service) bringNews(ctx context.Context, m *engine.Message, news history.Attributes) (closed bool, err error) {
	err = s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		if news == nil { // no put proves that what is known is current
			if err := t.view.EnsureFresh(ctx); err != nil {
				return err
			}
		}
		run, place, err := t.named(ctx, m)
		if err != nil || place != inLog {
			return err
		}
		if closed = run.State.Status.Closed(); closed {
			return nil
		}
		return t.take(ctx, run, m, news)
	})
	if errors.Is(err, outcome.ErrBusy) && news != nil {
		return closed, s.handOverNews(ctx, m, news) // too many others write to this run: its queue brings news together
	}
	return closed, err
}

// take commits news that a message brings to an open run: here, if nothing like it is awaited besides, and otherwise through
// the workflow's queue, where what comes together becomes one commit.
func (t *session) take(ctx context.Context, run *engine.Run, m *engine.Message, news history.Attributes) error {
	var events []history.Event
	if news != nil {
		events = run.Awaited(history.Of(news))
	}
	if len(events) == 0 {
		return t.repair(ctx, run, m)
	}
	many := len(run.State.Children)
	if history.ResolutionOf(events[0].Attributes).External != 0 {
		many = len(run.State.Externals)
	}
	if many > 1 || t.elsewhere(run) || t.registry.Workflow(run.State.Started.WorkflowType) == nil {
		return t.handOverNews(ctx, m, news)
	}
	return t.commitEvents(ctx, run, events, m)
}

// stray is what news of a child comes to if the run that it is for has closed: whoever sent it did not know that. A message that settles
// the child takes its place, and reads. If another run goes on from a reset, and waits for the child as well, the message brings the
// news to that one. Otherwise it is for the run that has closed: the close policy may have found no child. A crash here leaves the news.
func (t *session) stray(m *engine.Message) []engine.Message {
	_, started := m.Result.Attributes.(*history.ChildWorkflowExecutionStarted)
	child := history.ResolutionOf(m.Result.Attributes).Child
	if started {
		child = m.Result.Attributes.(*history.ChildWorkflowExecutionStarted).InitiatedEventID
	}
	if child == 0 {
		return nil
	}
	settles := *m
	settles.Kind, settles.EventID, settles.Result, settles.Due, settles.Sent = engine.SettleChild, child, nil, 0, 0
	settles.Attempt = 2 // whoever handles it looks at the log of the parent
	var all []engine.Message
	if started {
		all = append(all, settles)
	}
	if run := t.run(); run != nil && run.State.RunID != m.RunID && run.State.Reset != nil && !run.State.Status.Closed() && run.State.Children[child] != nil {
		p := run.State.Children[child]
		settles.RunID, settles.Slot, settles.Commit = run.State.RunID, p.Slot, p.Commit
		all = append(all, settles)
	}
	return all
}

// handOverNews sends news to the workflow's queue. What is known of the run may be old: see stray.
func (s *Service) handOverNews(ctx context.Context, m *engine.Message, news history.Attributes) error {
	e := history.Of(news)
	to := *m
	to.Kind, to.Result, to.Due, to.Sent, to.Scheduled, to.Look, to.Copy = engine.TakeResult, &e, 0, 0, 0, 0, 0
	return s.outbox.Send(ctx, []engine.Message{to})
}

// reportChild tells the parent of a child how that has ended. The commit that closed the child is in its log before anybody
// is told.
func (s *Service) reportChild(ctx context.Context, m *engine.Message) (found bool, err error) {
	var child *engine.State
	err = s.at(ctx, m.WorkflowID, func(ctx context.Context, t *session) error {
		run, place, err := t.named(ctx, m)
		found = place != notYet
		if err == nil && place == inLog {
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
	err = s.at(ctx, parent.WorkflowID, func(ctx context.Context, t *session) error {
		to = t.addressed(parent, child.Started.RequestID, m)
		if to == nil {
			if err := t.view.EnsureFresh(ctx); err != nil {
				return err
			}
			to = t.addressed(parent, child.Started.RequestID, m)
		}
		if to == nil {
			return t.repairForeign(ctx, m) // who told it before may have died before he sent what followed
		}
		return t.take(ctx, t.run(), to, news)
	})
	if errors.Is(err, outcome.ErrBusy) && to != nil {
		return true, s.handOverNews(ctx, to, news)
	}
	return true, err
}

// addressed is a message in the name of the run that waits for a child: the run that started it, or one that goes on from
// that after a reset. It is nil where, by what is known, none waits.
func (t *session) addressed(parent *history.Parent, requestID string, m *engine.Message) *engine.Message {
	run := t.run()
	if run == nil || run.State.Status.Closed() {
		return nil
	}
	p := run.State.Children[parent.InitiatedEventID]
	if p == nil || p.RequestID != requestID {
		return nil
	}
	to := foreign(m)
	to.WorkflowID, to.RunID, to.Slot, to.Commit, to.EventID = t.workflowID, run.State.RunID, p.Slot, p.Commit, p.EventID
	return to
}
