package maintenance

import (
	"context"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor/activities"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/inbox"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/store"
)

// overdue is how late something must be before the slow check considers its message lost: longer
// than the retries of a message whose handlers crash, but shorter than a backlog of days. If the
// message is only late, its receivers tolerate another. There are few: a message is sent again when
// it is this late, and then each time that its lateness has doubled.
//
// An attempt that is counted and has begun, or that continues outside, is on record: its late
// message begins no other attempt (see begin.go). Any other attempt may be made twice.
const overdue = 24 * time.Hour

// resend sends again what an open run has waited for too long, and what ends the run if its parent
// has closed. A crash in the middle leaves the position of the walk, and the next step sends the
// rest.
func resend(ctx context.Context, s *session.Process, r *round, workflowID string, number uint32, did *Report) error {
	messages, child, err := missed(ctx, s, r, workflowID, number)
	if err != nil {
		return err
	}
	late := 0
	for _, m := range messages {
		late += oneIf(m.Kind != engine.StartOrCloseChild) // a child may take as long as it likes: this only asks for its state
	}
	policy, err := lostCloseMessage(ctx, s, r, child)
	if err != nil {
		return err
	}
	if policy != nil {
		messages, late = append(messages, *policy), late+1
	}
	if len(messages) == 0 {
		return nil
	}
	if late > 0 {
		s.Options.Logger.WarnContext(ctx, "resends messages that are overdue", "workflowId", workflowID, "run", number, "messages", late)
	}
	if err := s.Outbox.Send(ctx, messages); err != nil {
		return err
	}
	did.Sent += late
	did.Asked += len(messages) - late
	return nil
}

// resendClosed sends again what the commit that closed a run sends to workflows that do not ask for
// it: signals, requests to end, notifications, and starts of children that outlive the run. It does
// so when the run has been closed for a day, and each time that age has doubled. Nobody waits for
// an answer, so the log does not say whether the first message arrived. Its receiver finds out (see
// Message.Late). Parents and children check each other instead (see lostCloseMessage).
//
// It reads the run unless the page has all its commits. A crash in the middle repeats the step.
func resendClosed(ctx context.Context, s *session.Process, r *round, part []store.Item, last *history.Commit, did *Report) error {
	if !r.reaches(last.Time, openPart{part[0].Workflow, part[0].Run}) {
		return nil
	}
	run, err := wholeRun(ctx, s, part, last)
	if run == nil || err != nil {
		return err
	}
	messages := unconfirmed(run)
	if len(messages) == 0 {
		return nil
	}
	if err := s.Outbox.Send(ctx, messages); err != nil {
		return err
	}
	did.Late += len(messages)
	return nil
}

// owes reports whether a closed run must be kept for another round although its retention is over:
// it sends something to other workflows, and no round has handled that since the run had been
// closed for a day. After an outage of weeks its messages may still be in their queues, or gone.
// This round sends them again, or asks the children. The next one deletes the run.
//
// In such a round it reads the run if the page lacks some of its commits.
func owes(ctx context.Context, s *session.Process, r *round, part []store.Item, last *history.Commit) (bool, error) {
	if r.since(openPart{part[0].Workflow, part[0].Run}).Sub(last.Time) >= overdue {
		return false, nil
	}
	run, err := wholeRun(ctx, s, part, last)
	if run == nil || err != nil {
		return false, err
	}
	return slices.ContainsFunc(run.Messages(run.Last()), func(m engine.Message) bool {
		return (m.Kind == engine.StartOrCloseChild || m.Kind == engine.DeliverExternal || m.Kind == engine.NotifyCaller) && run.Needed(&m)
	}), nil
}

// wholeRun returns the run of which a page has some commits, or nil if the run is being deleted.
func wholeRun(ctx context.Context, s *session.Process, part []store.Item, last *history.Commit) (*engine.Run, error) {
	if run := runOf(part); run != nil {
		return run, nil
	}
	t, err := s.Open(ctx, part[0].Workflow)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.View.Other(ctx, last.RunID)
}

// runOf returns the run whose commits a page has, or nil if the page lacks some.
func runOf(part []store.Item) *engine.Run {
	run := engine.NewRun(part[0].Workflow, part[0].Run)
	for _, item := range part {
		c, err := history.Decode(item.Slot, item.Body)
		if err != nil || run.Append(c, len(item.Body)) != nil {
			return nil
		}
	}
	return run
}

// unconfirmed returns the messages of a closed run to workflows that do not ask for them. They are
// marked as late.
func unconfirmed(run *engine.Run) (messages []engine.Message) {
	for _, m := range run.Messages(run.Last()) {
		starts := m.Kind == engine.StartOrCloseChild && run.State.Children[m.EventID] != nil && run.State.Children[m.EventID].Policy == history.AbandonChild
		if (starts || m.Kind == engine.DeliverExternal || m.Kind == engine.NotifyCaller) && run.Needed(&m) {
			m.Late = true
			messages = append(messages, m)
		}
	}
	return messages
}

// missed returns the messages that an open run has waited for too long, and the run as a child of
// its parent. It reads the log, because the scan may be outdated.
func missed(ctx context.Context, s *session.Process, r *round, workflowID string, number uint32) (messages []engine.Message, child orphan, err error) {
	err = s.At(ctx, workflowID, func(ctx context.Context, t *session.Session) error {
		if err := t.View.EnsureFresh(ctx); err != nil {
			return err
		}
		run := t.Run()
		if run == nil || run.Number != number || run.State.Status.Closed() {
			return nil
		}
		child = orphan{openPart{run.WorkflowID, run.Number}, run.State.Started, run.State.StartTime, run.State.CancelRequested}
		kept, err := s.Attempts.All(ctx, run)
		if err != nil {
			return err
		}
		for m, err := range inbox.Waiting(run, t.View.Commits(ctx, run, 0)) {
			if err != nil {
				return err
			}
			if m = inPlaceOf(s, m, run, kept); r.lost(run, &m) {
				messages = append(messages, m)
			}
		}
		return nil
	})
	return messages, child, err
}

// end returns the latest moment at which the effect of a message was due.
func end(m *engine.Message) history.Timestamp {
	if m.Activity == nil {
		return max(m.Scheduled, m.Due)
	}
	return max(m.Scheduled, m.Due).Add(time.Duration(max(m.Activity.StartToClose, m.Activity.ScheduleToClose)))
}

// inPlaceOf returns the message to send instead of one that may be lost, by the records of
// attempts:
//
//   - the message of the next attempt at its activity or its failed task;
//   - for an attempt outside, the message that watches it. Such an attempt is not repeated, because
//     it may take as long as its options allow;
//   - if a message has claimed the attempt, a copy of that message. Another send would have to wait
//     for it (see claim).
func inPlaceOf(s *session.Process, m engine.Message, run *engine.Run, kept map[int64]*attempts.Record) engine.Message {
	event := int64(0)
	switch m.Kind {
	case engine.RunActivity:
		event = m.EventID
	case engine.RetryTask:
		event = run.State.LastTask.TaskScheduledID()
	case engine.FireTimer, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt, engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal, engine.NotifyCaller:
		// have no attempts
	}
	a := kept[event]
	if event == 0 || a == nil {
		return m
	}
	m.Attempt, m.Due, m.Details, m.FirstFailed = a.LastFailed+1, a.Next, a.Details, a.FirstFailed
	if a.Deadline != 0 {
		m = activities.Outside(run, &m, a).LookAfter(a)
	}
	if m.Kind != engine.RetryTask && a.Number > attempts.Failed(a.LastFailed) {
		m.Send, m.Look, m.Copy = a.By, a.Look, a.Copy
		m = s.Outbox.Copy(&m)
	}
	return m
}

// lost reports whether a message must be sent again in this round.
func (r *round) lost(run *engine.Run, m *engine.Message) bool {
	return r.reaches(end(m), openPart{run.WorkflowID, run.Number})
}

// reaches reports whether this round is the first that could handle a run since a moment was a day
// ago, or since the moment's age has doubled again.
func (r *round) reaches(moment history.Timestamp, run openPart) bool {
	return doublings(r.Began.Sub(moment), overdue) > doublings(r.since(run).Sub(moment), overdue)
}

// doublings returns how often something that is late by d has been found late: after a span, and
// each time that doubles.
func doublings(d, span time.Duration) (n int) {
	for ; d >= span; d /= 2 {
		n++
	}
	return n
}

// mayWait reports whether a run, as a scan has seen it, may be waiting in vain. It is called for
// every open run, and reads nothing.
func mayWait(s *session.Process, r *round, part []store.Item) bool {
	run := runOf(part)
	if run == nil {
		return true // the log itself decides
	}
	for m := range inbox.Waiting(run, run.Commits()) {
		if r.Began.Sub(end(&m)) >= overdue {
			return true
		}
	}
	started := run.State.Started
	return started.Parent != nil && (started.ContinuedFrom != "" || r.Began.Sub(run.State.StartTime) >= overdue)
}
