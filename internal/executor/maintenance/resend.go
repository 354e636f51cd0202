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

// overdue is how long something has to be late before the slow check takes its message for lost: longer than the retries of
// a message whose handlers crash, but not than a backlog of days. Where the message is only late, its receivers bear
// another. They are few: a message is sent again when it is late by this, and then each time its lateness has doubled.
//
// An attempt that is counted and has begun, or that goes on outside, is on record: a message of it that was only late begins no other
// (see begin.go). Any other attempt may be made twice.
const overdue = 24 * time.Hour

// resend sends again what an open run waits for and should long have come, and what ends it where its parent has closed. A crash
// in the middle leaves the walk where it was, and the rest is sent in its next step.
func resend(ctx context.Context, s *session.Process, r *round, workflowID string, number uint32, did *Report) error {
	messages, child, err := missed(ctx, s, r, workflowID, number)
	if err != nil {
		return err
	}
	late := 0
	for _, m := range messages {
		late += oneIf(m.Kind != engine.StartOrCloseChild) // a child may take as long as it likes: this only asks how it is
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
		s.Options.Logger.WarnContext(ctx, "sends again what has not come", "workflowId", workflowID, "run", number, "messages", late)
	}
	if err := s.Outbox.Send(ctx, messages); err != nil {
		return err
	}
	did.Sent += late
	did.Asked += len(messages) - late
	return nil
}

// resendClosed sends again what the commit that closed a run sends to workflows that do not ask for it: signals, requests to end, and
// starts of children that outlive the run. It does so when the run has been closed for a day, and each time that has doubled. Nobody
// waits for an answer, so the log does not say whether the first message arrived; the receiver finds that out (see Message.Late).
// Parents and children look after each other instead (see policy).
//
// It reads nothing if the page has all commits of the run, and otherwise the run. A crash in the middle has the step made again.
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

// owes reports whether a closed run is kept for another round although its retention is over: it wants something of other workflows, and
// no round has looked after that since it had been closed for a day. After an outage of weeks its messages are still in their queues, or
// gone. This round sends them again, or asks the children; the next one deletes the run.
//
// It reads the run if the page lacks commits of it, in such a round only.
func owes(ctx context.Context, s *session.Process, r *round, part []store.Item, last *history.Commit) (bool, error) {
	if r.since(openPart{part[0].Workflow, part[0].Run}).Sub(last.Time) >= overdue {
		return false, nil
	}
	run, err := wholeRun(ctx, s, part, last)
	if run == nil || err != nil {
		return false, err
	}
	return slices.ContainsFunc(run.Messages(run.Last()), func(m engine.Message) bool {
		return (m.Kind == engine.StartOrCloseChild || m.Kind == engine.DeliverExternal) && run.Needed(&m)
	}), nil
}

// wholeRun is the run whose commits a page has, or some of them; nil where it is being deleted.
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

// runOf is the run whose commits a page has; nil if the page lacks some.
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

// unconfirmed lists what a closed run has sent to workflows that do not ask for it, as messages that are marked as late.
func unconfirmed(run *engine.Run) (messages []engine.Message) {
	for _, m := range run.Messages(run.Last()) {
		starts := m.Kind == engine.StartOrCloseChild && run.State.Children[m.EventID] != nil && run.State.Children[m.EventID].Policy == history.AbandonChild
		if (starts || m.Kind == engine.DeliverExternal) && run.Needed(&m) {
			m.Late = true
			messages = append(messages, m)
		}
	}
	return messages
}

// missed is what an open run waits for and should long have come, and what the run is to its parent. It looks at the log itself,
// because what a scan has seen may be old.
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

// end is when what a message asks for should have come about, at the latest.
func end(m *engine.Message) history.Timestamp {
	if m.Activity == nil {
		return max(m.Scheduled, m.Due)
	}
	return max(m.Scheduled, m.Due).Add(time.Duration(max(m.Activity.StartToClose, m.Activity.ScheduleToClose)))
}

// inPlaceOf is what is to be sent in the place of a message that may be lost, by what is recorded of its activity or of the task that
// failed: the message of the next attempt, or the one that looks after an attempt which goes on outside. Such an attempt is not made
// again: it may go on for as long as its options allow. Where a message has claimed the attempt, the new one is a copy of that: another
// sending would have to wait for it (see claim).
func inPlaceOf(s *session.Process, m engine.Message, run *engine.Run, kept map[int64]*attempts.Record) engine.Message {
	event := int64(0)
	switch m.Kind {
	case engine.RunActivity:
		event = m.EventID
	case engine.RetryTask:
		event = run.State.LastTask.TaskScheduledID()
	case engine.FireTimer, engine.EndRun, engine.TakeResult, engine.StartTask, engine.CloseActivity, engine.CloseAttempt, engine.StartOrCloseChild, engine.NotifyParent, engine.DeliverExternal:
		// have no attempts
	}
	a := kept[event]
	if event == 0 || a == nil {
		return m
	}
	m.Attempt, m.Due = a.LastFailed+1, a.Next
	if a.Deadline != 0 {
		m = activities.Outside(run, &m, a).LookAfter(a)
	}
	if m.Kind != engine.RetryTask && a.Number > attempts.Failed(a.LastFailed) {
		m.Send, m.Look, m.Copy = a.By, a.Look, a.Copy
		m = s.Outbox.Copy(&m)
	}
	return m
}

// lost reports whether a message is to be sent again in this round.
func (r *round) lost(run *engine.Run, m *engine.Message) bool {
	return r.reaches(end(m), openPart{run.WorkflowID, run.Number})
}

// reaches reports whether this round is the first that could look after a run since a moment was a day ago, or since its age has
// doubled again.
func (r *round) reaches(moment history.Timestamp, run openPart) bool {
	return doublings(r.Began.Sub(moment), overdue) > doublings(r.since(run).Sub(moment), overdue)
}

// doublings is how often something that is late by d has been found to be late: after a span, and each time that doubles.
func doublings(d, span time.Duration) (n int) {
	for ; d >= span; d /= 2 {
		n++
	}
	return n
}

// mayWait reports whether a run, as a scan has seen it, may wait for something in vain. It is asked of every open run, and
// reads nothing.
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
