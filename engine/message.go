package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// MessageKind says what a message asks its receiver to do. The numbers stand in queues and never change their meaning.
type MessageKind uint8

const (
	// RunActivity asks for an attempt at an activity.
	RunActivity MessageKind = 1
	// FireTimer says that a timer's moment has come.
	FireTimer MessageKind = 2
	// RetryTask asks for the next attempt at a workflow task that failed.
	RetryTask MessageKind = 3
	// EndRun says that a run's timeout has passed.
	EndRun MessageKind = 4
	// TakeResult brings the result of an activity to the workflow queue.
	TakeResult MessageKind = 5
)

var messageKindNames = [...]string{"", "activity", "timer", "task retry", "run timeout", "activity result"}

// String is the kind in words.
func (k MessageKind) String() string {
	if int(k) < len(messageKindNames) {
		return messageKindNames[k]
	}
	return "unknown"
}

// Message is what a commit causes to be sent. It names the commit that schedules it, and nobody acts on it unless that
// commit is in the log.
type Message struct {
	Kind       MessageKind
	WorkflowID string
	RunID      history.RunID
	// Slot and Commit name the commit that schedules it.
	Slot   uint32
	Commit history.CommitID
	// EventID is the event that scheduled the activity or the timer; 0 for the other kinds.
	EventID int64
	// Wave is what the message's own consequences, copies and attempts inherit.
	Wave history.Wave
	// Attempt counts attempts: of the activity, or of the workflow task.
	Attempt int
	// Due is when it is to be acted on; 0 is at once.
	Due history.Timestamp
	// Sent is when it was first sent.
	Sent history.Timestamp
	// Activity is what an attempt needs to know; nil where the receiver takes it from the log.
	Activity *history.ActivityTaskScheduled
	// Scheduled is when the activity was scheduled.
	Scheduled history.Timestamp
	// Result is the event that a TakeResult message brings.
	Result *history.Event
}

// TaskRetryDelay is how long a workflow task that failed waits for its next attempt: 1 s, doubled with each attempt, at
// most 15 minutes, which is the longest delay of a queue.
func TaskRetryDelay(attempt int) history.Duration {
	const longest = 15 * 60
	seconds := 1 << min(max(attempt-1, 0), 10)
	return history.Duration(min(seconds, longest)) * 1e9
}

// Owed lists the messages that a commit of the run schedules and that are still needed, in the order of the events. Of
// a commit that has just been made or put, that is all it schedules.
func (r *Run) Owed(c *history.Commit) []Message {
	var owed []Message
	add := func(kind MessageKind, event int64) *Message {
		owed = append(owed, Message{
			Kind: kind, WorkflowID: r.WorkflowID, RunID: c.RunID, Slot: c.Slot, Commit: c.ID,
			EventID: event, Wave: history.NewWave(c.ID, event), Attempt: 1,
		})
		return &owed[len(owed)-1]
	}
	if r.State.Status.Closed() {
		return nil
	}
	if c.Slot == 0 && r.State.Started.RunTimeout > 0 {
		add(EndRun, 0).Due = r.deadline()
	}
	if c.Failed() && c.Pending == history.PendingRetry && c == r.State.LastTask {
		m := add(RetryTask, 0)
		m.Attempt = c.Task.Attempt + 1
		m.Due = c.Time.Add(timeDuration(TaskRetryDelay(c.Task.Attempt)))
	}
	id := c.FirstCommandID()
	for _, e := range c.Commands {
		if p := r.State.Activities[id]; p != nil && e.Type() == history.TypeActivityTaskScheduled {
			m := add(RunActivity, id)
			m.Activity, m.Scheduled = p.ActivityTaskScheduled, p.Time
		}
		if p := r.State.Timers[id]; p != nil && e.Type() == history.TypeTimerStarted {
			add(FireTimer, id).Due = p.FireAt
		}
		id++
	}
	return owed
}

// OwedByWave lists what the commits of a wave schedule and what is still needed, except those of the commit except.
// Whoever holds a message sends these again, with the message's wave, before it deletes the message: the one who made
// those commits may have died before it sent them.
func (r *Run) OwedByWave(wave history.Wave, except *history.Commit) []Message {
	var owed []Message
	for _, c := range r.Log {
		if c != except && slices.Contains(c.Waves, wave) {
			for _, m := range r.Owed(c) {
				m.Wave = wave
				owed = append(owed, m)
			}
		}
	}
	return owed
}

// NextAttempt decides whether an activity that failed in this attempt is tried again, and when. now is when it failed.
func NextAttempt(a *history.ActivityTaskScheduled, scheduled, now history.Timestamp, attempt int, f *failure.Failure) (at history.Timestamp, again bool) {
	p := a.Retry
	if !f.Retryable(p.NonRetryableTypes) || p.MaximumAttempts > 0 && attempt >= p.MaximumAttempts {
		return 0, false
	}
	at = now.Add(backoff(p, attempt))
	if a.ScheduleToClose > 0 && at >= scheduled.Add(timeDuration(a.ScheduleToClose)) {
		return 0, false
	}
	return at, true
}
