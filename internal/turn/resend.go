package turn

import (
	"context"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// overdue is how long something has to be late before the slow check takes its message for lost: longer than the retries of
// a message whose handlers crash, but not than a backlog of days. Where the message is only late, its receivers bear
// another. They are few: a message is sent again when it is late by this, and then each time its lateness has doubled.
//
// An activity that may be tried only once more is another matter, because whoever lost the message may have run it. It
// waits until no queue can hold the message any more, and then the attempt counts as one that was interrupted: the
// activity ends as timed out, instead of running twice.
const (
	overdue        = 24 * time.Hour
	queueRetention = 14 * 24 * time.Hour // the longest that SQS has; infra sets it
	lostAfter      = queueRetention + overdue
)

// resend sends again what an open run waits for and should long have come, and what ends it where its parent has closed. A crash
// in the middle leaves the walk where it was, and the rest is sent in its next step.
func (s *Service) resend(ctx context.Context, r *round, workflowID string, number uint32, did *Upkeep) error {
	messages, child, err := s.missed(ctx, r, workflowID, number)
	if err != nil {
		return err
	}
	late := 0
	for _, m := range messages {
		late += oneIf(m.Kind != engine.SettleChild) // a child may take as long as it likes: this only asks how it is
	}
	policy, err := s.policy(ctx, r, child)
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
		s.options.Logger.WarnContext(ctx, "sends again what has not come", "workflowId", workflowID, "run", number, "messages", late)
	}
	if err := s.send(ctx, messages); err != nil {
		return err
	}
	did.Sent += late
	did.Asked += len(messages) - late
	return nil
}

// missed is what an open run waits for and should long have come, and what the run is to its parent. It looks at the log itself,
// because what a scan has seen may be old.
func (s *Service) missed(ctx context.Context, r *round, workflowID string, number uint32) (messages []engine.Message, child orphan, err error) {
	err = s.at(ctx, workflowID, func(ctx context.Context, t *session) error {
		if err := t.current(ctx); err != nil {
			return err
		}
		run := t.run()
		if run == nil || run.Number != number || run.State.Status.Closed() {
			return nil
		}
		child = orphan{run.State.Started, run.State.StartTime, run.State.CancelRequested}
		kept, err := s.attemptsOf(ctx, run)
		if err != nil {
			return err
		}
		for _, m := range waiting(run) {
			if r.lost(run, &m, kept) {
				messages = append(messages, m)
			}
		}
		return nil
	})
	return messages, child, err
}

// attemptsOf is what is recorded of the attempts of a run, by event.
func (s *Service) attemptsOf(ctx context.Context, run *engine.Run) (map[int64]*attemptState, error) {
	all, err := s.Attempts.ReadAttempts(ctx, run.WorkflowID, run.Number)
	if err != nil {
		return nil, err
	}
	kept := map[int64]*attemptState{}
	for _, a := range all {
		if kept[a.Event], err = decodeAttempt(a); err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// waiting lists what an open run waits for, as messages: each as it was sent first.
func waiting(run *engine.Run) (messages []engine.Message) {
	for _, c := range run.Log {
		for _, m := range run.Messages(c) {
			if run.Needed(&m) {
				messages = append(messages, m)
			}
		}
	}
	return messages
}

// end is when what a message asks for should have come about, at the latest.
func end(m *engine.Message) history.Timestamp {
	if m.Activity == nil {
		return max(m.Scheduled, m.Due)
	}
	return max(m.Scheduled, m.Due).Add(time.Duration(max(m.Activity.StartToClose, m.Activity.ScheduleToClose)))
}

// lost reports whether a message is to be sent again in this round, and makes it that of the next attempt.
func (r *round) lost(run *engine.Run, m *engine.Message, kept map[int64]*attemptState) bool {
	event := m.EventID
	if m.Kind == engine.RetryTask {
		event = run.State.LastTask.TaskScheduledID()
	}
	if a := kept[event]; a != nil && event != 0 {
		m.Attempt, m.Due = a.number+1, a.Next
	}
	span := overdue
	if m.Kind == engine.RunActivity {
		if most := m.Activity.Retry.MaximumAttempts; most > 0 && m.Attempt >= most {
			m.Attempt, span = most+1, lostAfter
		}
	}
	return doublings(r.Began.Sub(end(m)), span) > doublings(r.Before.Sub(end(m)), span)
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
func (s *Service) mayWait(r *round, part []store.Item) bool {
	run := engine.NewRun(part[0].Workflow, part[0].Run)
	for _, item := range part {
		c, err := history.Decode(item.Slot, item.Body)
		if err != nil || run.Append(c, len(item.Body)) != nil {
			return true // the log itself decides
		}
	}
	for _, m := range waiting(run) {
		if r.Began.Sub(end(&m)) >= overdue {
			return true
		}
	}
	started := run.State.Started
	return started.Parent != nil && (started.ContinuedFrom != "" || r.Began.Sub(run.State.StartTime) >= overdue)
}
