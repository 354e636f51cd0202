package engine

import (
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// MessageKind says what a message asks its receiver to do. The numbers stand in queues and never
// change their meaning.
type MessageKind uint8

const (
	// RunActivity asks for an attempt at an activity.
	RunActivity MessageKind = 1
	// FireTimer says that a timer is due.
	FireTimer MessageKind = 2
	// RetryTask asks for the next attempt at a workflow task that failed.
	RetryTask MessageKind = 3
	// EndRun says that a run's timeout has passed, or the execution timeout of its chain.
	EndRun MessageKind = 4
	// TakeResult carries the result of an activity, or an event of a child or of another workflow,
	// to the workflow queue.
	TakeResult MessageKind = 5
	// StartTask asks for a task whose events are in the log and that has not run: the first of a
	// run with a start delay, the first after a reset, or a deferred one.
	StartTask MessageKind = 6
	// CloseActivity says that the time of an activity, all its attempts together, is over.
	CloseActivity MessageKind = 7
	// StartOrCloseChild asks to start a child, or, if its parent has closed, to apply its close
	// policy.
	StartOrCloseChild MessageKind = 8
	// NotifyParent says that a child has closed, and asks to notify its parent.
	NotifyParent MessageKind = 9
	// DeliverExternal asks to deliver a signal to another workflow, or a request that it end.
	DeliverExternal MessageKind = 10
	// CloseAttempt checks an attempt at an activity that continues outside of any process: whether
	// it has taken too long, or has been silent for too long.
	CloseAttempt MessageKind = 11
	// NotifyCaller says that a run has closed, and asks to notify one of those who asked for it.
	NotifyCaller MessageKind = 12
)

var messageKindNames = [...]string{
	"", "activity", "timer", "task retry", "run timeout", "result", "first task", "activity timeout",
	"child", "child result", "external workflow", "attempt timeout", "notification",
}

// String returns the kind in words.
func (k MessageKind) String() string {
	if int(k) < len(messageKindNames) {
		return messageKindNames[k]
	}
	return "unknown"
}

// Message is a message that a commit causes to be sent. It names the commit that schedules it, and
// its receiver acts on it only if that commit is in the log.
type Message struct {
	Kind       MessageKind   `cbor:"1,keyasint"`
	WorkflowID string        `cbor:"2,keyasint"`
	RunID      history.RunID `cbor:"3,keyasint"`
	// Slot and Commit name the commit that schedules it.
	Slot   uint32           `cbor:"4,keyasint,omitempty"`
	Commit history.CommitID `cbor:"5,keyasint"`
	// EventID is the event that scheduled the activity or the timer, or 0.
	EventID int64 `cbor:"6,keyasint,omitempty"`
	// CausationID is the causation id that the message's copies and attempts and its result
	// inherit. It is 0 in what is to be sent again: each sending gets its own.
	CausationID history.CausationID `cbor:"7,keyasint"`
	// Attempt counts attempts: of the activity, or of the workflow task.
	Attempt int `cbor:"8,keyasint,omitempty"`
	// Due is when the receiver has to act on it; 0 is at once.
	Due history.Timestamp `cbor:"9,keyasint,omitempty"`
	// Sent is when it was first sent; copies keep it.
	Sent history.Timestamp `cbor:"10,keyasint,omitempty"`
	// Activity is what an attempt needs; nil if the receiver takes it from the log.
	Activity *history.ActivityTaskScheduled `cbor:"11,keyasint,omitempty"`
	// Scheduled is when the activity was scheduled.
	Scheduled history.Timestamp `cbor:"12,keyasint,omitempty"`
	// Result is the event in a TakeResult message.
	Result *history.Event `cbor:"13,keyasint,omitempty"`
	// Send identifies each sending: two deliveries with the same value are deliveries of one
	// message, or of a copy that replaced it.
	Send uint64 `cbor:"14,keyasint,omitempty"`
	// Seen is the first slot that was free when the message was sent again, and 0 in its first
	// sending: no commit that it causes is in an earlier slot.
	Seen uint32 `cbor:"15,keyasint,omitempty"`
	// Details are the details of the last heartbeat of the attempts before this one.
	Details history.Payload `cbor:"16,keyasint,omitempty"`
	// 17 was Again, which said that it may have been delivered before. Every receiver assumes that
	// now. TaskQueue is that of the activity, also if Activity is nil.
	TaskQueue string `cbor:"18,keyasint,omitempty"`
	// Reserved is when the attempt may begin at the rate of its task queue; 0 is not known yet.
	Reserved history.Timestamp `cbor:"19,keyasint,omitempty"`
	// Look counts the copies that replaced each other before the attempt began, while it waited for
	// its time, its slot or its commit. A next attempt starts at 0.
	Look int `cbor:"20,keyasint,omitempty"`
	// Copy distinguishes copies with the same Look. It is 0 in a message that is no copy.
	Copy uint64 `cbor:"21,keyasint,omitempty"`
	// Late marks a message that the slow check sends for a closed run. Nobody knows whether the
	// first one arrived: the receiver acts on it only if the log shows that it did not.
	Late bool `cbor:"22,keyasint,omitempty"`
	// Duplicate marks the copy of a message that was dropped, because another message continued its
	// activity. The receiver first reads what is recorded of the attempt.
	Duplicate bool `cbor:"23,keyasint,omitempty"`
	// FirstFailed is when the first attempt at the activity failed. It is 0 if none has, or if that
	// is not known.
	FirstFailed history.Timestamp `cbor:"24,keyasint,omitempty"`
	// Since is set in the result of an execution of an attempt. It is the execution that had
	// published the last batch of the activity, or the zero value: see Execution.LetsEnd. A result
	// without it, as earlier versions send them, stands for the attempt.
	Since *Execution `cbor:"25,keyasint,omitempty"`
	// By is set with Since. It is the Send of the attempt's message, whose Look and Copy the result
	// keeps.
	By uint64 `cbor:"26,keyasint,omitempty"`
	// Yields is how many copies in a row replaced an execution that was overtaken, besides the
	// first one. A next attempt starts at 0.
	Yields int `cbor:"27,keyasint,omitempty"`
}

// Overtaken reports whether a message has the result of an execution of an attempt from which
// another execution has taken over: see Execution.LetsEnd. The run has to be read after the message
// was sent: before, it may lack the batches of the execution itself.
func (r *Run) Overtaken(m *Message) bool {
	if m.Kind != TakeResult || m.Since == nil {
		return false
	}
	a := r.State.Activities[m.EventID]
	return a != nil && !a.Publishing.LetsEnd(m.Attempt, *m.Since)
}

// TaskRetryDelay returns how long a failed workflow task waits for its next attempt: 1 s, doubled
// with each attempt, at most 15 minutes, which is the longest delay of a queue.
func TaskRetryDelay(attempt int) time.Duration {
	return min(time.Second<<min(max(attempt-1, 0), 10), longestDelay)
}

// resetPatience is how long after a reset a message runs the first task of the new run, if it has
// not run by then.
const resetPatience = 2 * time.Second

// outbox collects the messages that a commit schedules.
type outbox struct {
	workflowID string
	commit     *history.Commit
	messages   []Message
	nameless   bool // the messages get no causation ids
}

func (o *outbox) add(kind MessageKind, event int64) *Message {
	c, slot := o.commit, o.commit.Slot
	if c.FromReset() {
		slot = 0 // the first of its commits is in the slot with all others, and if it is fenced off, none is
	}
	about := event
	if about == 0 {
		about = -int64(kind) // a run begins and ends by messages of one commit, which answer for different commits
	}
	o.messages = append(o.messages, Message{
		Kind: kind, WorkflowID: o.workflowID, RunID: c.RunID, Slot: slot, Commit: c.ID, EventID: event, Attempt: 1,
	})
	m := &o.messages[len(o.messages)-1]
	if !o.nameless {
		m.CausationID = history.NewCausationID(c.ID, about)
	}
	return m
}

// Messages returns the messages that a commit of the run schedules, in the order of its events. The
// run may have the commit already, or it may be the next. The messages follow from the log alone: a
// writer sends them around its put, and a repair after a crash finds the same. Some messages of a
// commit that a reset has made may no longer be needed, because a later part of the commit resolves
// their event: see Needed.
func (r *Run) Messages(c *history.Commit) []Message {
	o := &outbox{workflowID: r.WorkflowID, commit: c}
	r.schedule(o)
	return o.messages
}

// schedule adds the messages that the outbox's commit schedules.
func (r *Run) schedule(o *outbox) {
	if o.commit.Status.Closed() {
		r.closing(o)
	} else {
		o.opening()
		o.scheduling()
	}
}

// opening adds what a commit schedules besides its commands.
func (o *outbox) opening() {
	c, add := o.commit, o.add
	if started := c.Opens(); started != nil {
		if end, _ := deadline(started, c.Time, c.FromReset()); end != 0 {
			add(EndRun, 0).Due = end
		}
		if c.Pending == history.PendingStart {
			add(StartTask, 0).Due = c.Time.Add(time.Duration(started.StartDelay))
		}
	}
	if c.Pending == history.PendingTask && c.FromReset() {
		add(StartTask, 0).Due = c.Time.Add(resetPatience)
	}
	if c.Deferred() {
		add(StartTask, 0)
	}
	if c.Failed() && c.Pending == history.PendingRetry {
		m := add(RetryTask, 0)
		m.Attempt = c.Task.Attempt + 1
		m.Due = c.Time.Add(TaskRetryDelay(c.Task.Attempt))
	}
}

// scheduling adds what the commands of a commit schedule.
func (o *outbox) scheduling() {
	c, add := o.commit, o.add
	for part := range c.Parts() {
		id := part.FirstCommandID()
		for _, e := range part.Commands {
			switch what := history.InitiatedBy(e.Attributes); {
			case what.Activity != nil:
				m, a := add(RunActivity, id), what.Activity
				m.Activity, m.Scheduled, m.TaskQueue = a, c.Time, a.TaskQueue
				if a.ScheduleToClose > 0 {
					add(CloseActivity, id).Due = c.Time.Add(time.Duration(a.ScheduleToClose))
				}
			case what.Timer != nil:
				add(FireTimer, id).Due = what.Timer.FireAt
			case what.Child != nil:
				add(StartOrCloseChild, id).Scheduled = c.Time
			case what.External != nil:
				add(DeliverExternal, id).Scheduled = c.Time
			}
			id++
		}
	}
}

// Needed reports whether a message still has to be acted on: the run is open, and its activity or
// timer is pending, or its task is still the last one. Messages to other runs outlive their run.
func (r *Run) Needed(m *Message) bool {
	open := !r.State.Status.Closed()
	switch m.Kind {
	case NotifyParent, NotifyCaller:
		return !open
	case StartOrCloseChild:
		return r.State.Children[m.EventID] != nil && r.owns(m.EventID)
	case DeliverExternal:
		return r.State.Externals[m.EventID] != nil && r.owns(m.EventID)
	case RunActivity, CloseActivity, CloseAttempt:
		return open && r.State.Activities[m.EventID] != nil
	case TakeResult:
		return open && len(r.Awaited(*m.Result)) > 0
	case FireTimer:
		return open && r.State.Timers[m.EventID] != nil
	case RetryTask:
		return open && r.State.Pending == history.PendingRetry && r.State.LastTask.ID == m.Commit
	case StartTask:
		return open && (r.State.Pending == history.PendingStart || r.State.Pending == history.PendingTask)
	case EndRun:
		return open
	}
	return false
}

// underWay reports whether the child of a message is known to have started. Whoever started it has
// its message until everything that follows from that has been sent.
func (r *Run) underWay(m *Message) bool {
	return m.Kind == StartOrCloseChild && !r.State.Status.Closed() && r.State.Children[m.EventID].RunID != ""
}

// Owed returns the messages that commits of these messages' causation ids schedule and that are
// still needed, except for those of the commit except. The holder of a message sends them before it
// deletes the message, because the writer of those commits may have died before it sent them.
//
//   - They have no causation id yet, so that each sending gets its own: that sending alone answers
//     for what it causes, and copies of it cause nothing more.
//   - A message that replaces an inline step keeps the causation id. The process that took that
//     step may continue, or have continued, and commits with the causation id, and no other message
//     may be left that answers for it.
//
// caused are the commits in the slots that Caused returns.
func (r *Run) Owed(triggers []*Message, caused []*history.Commit, except *history.Commit) []Message {
	var owed []Message
	for _, c := range caused {
		if c == except {
			continue
		}
		of := causedBy(c, triggers)
		all := r.Messages(c)
		inline := mayBeInline(all)
		for i, m := range all {
			if r.Needed(&m) && !r.underWay(&m) {
				m.CausationID, m.Seen = 0, r.State.NextSlot
				if inline && i == 0 {
					m.CausationID = triggers[of].CausationID
				}
				owed = append(owed, m)
			}
		}
	}
	return owed
}

// mayBeInline reports whether the first message of a commit may not have been sent, because the
// writer of the commit ran the activity itself.
func mayBeInline(all []Message) bool {
	return len(all) > 0 && all[0].Kind == RunActivity && all[0].Activity.Inline && (len(all) == 1 || len(all) == 2 && all[1].Kind == CloseActivity)
}

// OwedFirst is Owed for a message of the run that this one continues: the put that the message
// caused may have opened this run. Later commits were triggered by this run's own messages, which
// repair them.
func (r *Run) OwedFirst(trigger *Message) []Message {
	var owed []Message
	if c := r.First(); slices.Contains(c.CausationIDs, trigger.CausationID) {
		for _, m := range r.Messages(c) {
			if r.Needed(&m) {
				m.CausationID, m.Seen = 0, 1
				owed = append(owed, m)
			}
		}
	}
	return owed
}

// CausationIDs returns the causation ids of messages, each once.
func CausationIDs(triggers []*Message) (causationIDs []history.CausationID) {
	for _, m := range triggers {
		if !slices.Contains(causationIDs, m.CausationID) {
			causationIDs = append(causationIDs, m.CausationID)
		}
	}
	return causationIDs
}

// NextAttempt decides whether an activity that failed in this attempt is retried, and when. now is
// when it failed.
func NextAttempt(a *history.ActivityTaskScheduled, scheduled, now history.Timestamp, attempt int, f *failure.Failure) (at history.Timestamp, again bool) {
	p := a.Retry
	if !f.Retryable(p.NonRetryableTypes) || p.MaximumAttempts > 0 && attempt >= p.MaximumAttempts {
		return 0, false
	}
	at = now.Add(backoff(p, attempt))
	if a.ScheduleToClose > 0 && at >= scheduled.Add(time.Duration(a.ScheduleToClose)) {
		return 0, false
	}
	return at, true
}
