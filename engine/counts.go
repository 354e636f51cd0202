package engine

import (
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Counts is how much work a run has caused, as far as its log says so: it follows from the commits,
// so that nothing more is stored, and logs of earlier versions have it. Package price says what
// that costs.
//
// It leaves out what leaves nothing in the log: refused updates, queries, heartbeats, messages that
// were delivered again, and the rate of a task queue. It assumes the longest delay of a queue, and
// the name of a namespace, that are the default.
type Counts struct {
	// Commits is how many commits the run has. Units are the KiB of their items in DynamoDB, each
	// rounded up, and twice those of items that were put together with others. UnlistedUnits are
	// the same in a deployment without a list. Stored is the size of all items in bytes.
	Commits       int64 `cbor:"1,keyasint,omitempty"`
	Units         int64 `cbor:"2,keyasint,omitempty"`
	UnlistedUnits int64 `cbor:"3,keyasint,omitempty"`
	Stored        int64 `cbor:"4,keyasint,omitempty"`
	// Rows is how many commits have a row of the list, and RowUnits are the KiB of the rows.
	Rows     int64 `cbor:"5,keyasint,omitempty"`
	RowUnits int64 `cbor:"6,keyasint,omitempty"`
	// Requests is how many puts a request caused, rather than a message.
	Requests int64 `cbor:"7,keyasint,omitempty"`
	// Records is how many records of attempts were written: of attempts that failed, that had
	// begun if attempts are counted, and that continued outside.
	Records int64 `cbor:"8,keyasint,omitempty"`
	// Messages is how many messages were sent to the queues. Sends is in how many requests.
	Messages int64 `cbor:"9,keyasint,omitempty"`
	Sends    int64 `cbor:"10,keyasint,omitempty"`
	// Results is how many of the messages carried a result to the workflow queue, and Batches how
	// many commits took them from there.
	Results int64 `cbor:"11,keyasint,omitempty"`
	Batches int64 `cbor:"12,keyasint,omitempty"`
	// Kept is how many messages were kept in the store of timers, because they were due later than
	// a queue can delay them. Released is how many of them are among Messages.
	Kept     int64 `cbor:"13,keyasint,omitempty"`
	Released int64 `cbor:"14,keyasint,omitempty"`
	// Reads is how many reads all this takes if no process knows the run before, and ReadUnits are
	// their units of 4 KiB.
	Reads     int64 `cbor:"15,keyasint,omitempty"`
	ReadUnits int64 `cbor:"16,keyasint,omitempty"`
}

const (
	// longestDelay is the longest delay of a queue.
	longestDelay = 15 * time.Minute
	// sentTogether is how many messages one request to a queue sends.
	sentTogether = 10

	writeUnit = 1 << 10
	readUnit  = 4 << 10

	// itemBytes is the size in DynamoDB of a commit's item without its body and the workflow's id.
	// rowBytes is what a row of the list adds, without its texts, what the run shows and when it
	// closed. Of these, listBytes are its place and its check, which a deployment without a list
	// leaves out. keyBytes is what the index has besides, without the workflow's id. timeBytes is a
	// moment in microseconds.
	itemBytes = 65
	rowBytes  = 113
	listBytes = 71
	keyBytes  = 33
	timeBytes = 9
	// spentBytes is about the size of what a row has of the work of its run.
	spentBytes = 48
)

// units returns a size in units, rounded up; at least one.
func units(size int64, unit int64) int64 { return max((size+unit-1)/unit, 1) }

// read counts reads of the log.
func (n *Counts) read(times int64) {
	n.Reads += times
	n.ReadUnits += times * units(n.Stored, readUnit)
}

// lookUp counts reads of something small.
func (n *Counts) lookUp(times int64) {
	n.Reads += times
	n.ReadUnits += times
}

// deliver counts messages, each sent by a request of its own, and the reads of their receivers.
func (n *Counts) deliver(times int64) {
	n.Messages += times
	n.Sends += times
	n.read(times)
}

// keep counts messages that are kept until they are nearly due. It returns false, and counts
// nothing, if a queue can delay them that long.
func (n *Counts) keep(delay time.Duration, times int64) bool {
	if delay <= longestDelay {
		return false
	}
	n.Kept += times
	return true
}

// release counts messages that were delivered after they had been kept, if their delay was that
// long.
func (n *Counts) release(delay time.Duration, times int64) {
	if delay > longestDelay {
		n.Released += times
		n.deliver(times)
	}
}

// Failed counts attempts at an activity that failed, from the first on: each has a record, and the
// message of the attempt that follows. Those that follow after the longest interval are counted
// together: an activity may fail each second for years.
func (n *Counts) Failed(a *history.ActivityTaskScheduled, attempts int) {
	last := backoff(a.Retry, attempts)
	for number := 1; number <= attempts; {
		times, delay := 1, backoff(a.Retry, number)
		if number > 1 && delay == last {
			times = attempts - number + 1
		}
		n.failed(a, number, delay, int64(times))
		number += times
	}
}

// failed counts attempts that failed, from one on, each with the same delay of the next.
func (n *Counts) failed(a *history.ActivityTaskScheduled, number int, delay time.Duration, times int64) {
	n.begin(a, number, times)
	n.Records += times
	if !n.keep(delay, times) {
		n.deliver(times)
	}
	n.release(delay, times)
	if a.Retry.MaximumAttempts > 0 {
		n.lookUp(times)
	}
}

// Outside counts that an attempt continues outside, with a token: the record of that, the read of
// the key that signs the token, and the message that watches the attempt.
func (n *Counts) Outside(a *history.ActivityTaskScheduled) {
	n.Records++
	n.lookUp(1)
	limit := time.Duration(a.Pending)
	if limit == 0 {
		limit = time.Duration(a.StartToClose)
	}
	if !n.keep(limit, 1) {
		n.deliver(1)
	}
}

// begin counts the records that attempts have begun, from one on, if there are any. The first
// attempt is counted by itself.
func (n *Counts) begin(a *history.ActivityTaskScheduled, number int, times int64) {
	if a.Retry.MaximumAttempts > 0 || a.ScheduleToStart > 0 && number == 1 {
		n.Records += times
	}
}

// Retried counts retries of a failed task that failed again.
func (n *Counts) Retried(times int) {
	n.Records += int64(times)
	n.deliver(int64(times))
}

// countArrival counts what a commit says about the work before it. The run does not have the commit
// yet.
func (n *Counts) countArrival(r *Run, c *history.Commit) {
	if !c.FromReset() {
		n.countResolved(r, c)
		n.countTask(r.State, c)
	}
	if r.requested(c) {
		n.Requests++
		n.read(1)
	}
}

// requested reports whether a request caused the put of a commit, and the commit is the first of
// its put that stays open.
func (r *Run) requested(c *history.Commit) bool {
	last := r.State.LastTask
	end, _ := closedBy(c).(*history.WorkflowExecutionTerminated)
	switch {
	case len(c.CausationIDs) > 0, c.FromReset() && c.Slot > 0:
		return false
	case c.Publishes(): // the process that makes the attempt has put it
		return false
	case end != nil && history.OpenedWith(end) != "": // the run that was opened counts it
		return false
	case last != nil && last.Task.Reset != nil: // the first task after a reset
		return false
	}
	return c.FromReset() || c.Slot > 0 || c.Opens() == nil || c.Opens().ContinuedFrom == ""
}

// countTask counts what the task of a commit says of the messages before it.
func (n *Counts) countTask(s *State, c *history.Commit) {
	byMessage := len(c.CausationIDs) > 0 && s.Started != nil // otherwise the log is damaged
	switch {
	case c.Task != nil && c.Task.Kind == history.Transient:
		n.Retried(max(c.Task.Attempt-2, 0)) // a commit sent the message of the second attempt
	case byMessage && s.Pending == history.PendingStart && len(c.InputEvents) == 0:
		n.release(time.Duration(s.Started.StartDelay), 1)
	}
	if _, ok := closedBy(c).(*history.WorkflowExecutionTimedOut); ok && byMessage {
		end, _ := deadline(s.Started, s.StartTime, s.Reset != nil)
		n.release(end.Sub(s.StartTime), 1)
	}
}

// countResolved counts the attempts and the messages that led to the events of a commit.
func (n *Counts) countResolved(r *Run, c *history.Commit) {
	s, queued := r.State, len(c.CausationIDs) > 1
	for _, e := range c.InputEvents {
		what := history.ResolutionOf(e.Attributes)
		switch _, started := e.Attributes.(*history.ChildWorkflowExecutionStarted); {
		case what.Timer != 0:
			if t := s.Timers[what.Timer]; t != nil {
				n.release(t.FireAt.Sub(r.TimeOf(t.Slot)), 1)
			}
		case what.Activity != 0:
			queued = queued || len(s.Activities) > 1
			if a := s.Activities[what.Activity]; a != nil {
				n.countActivity(a, c, e.Attributes)
			}
		case what.Child != 0, started:
			queued = queued || len(s.Children) > 1
		case what.External != 0:
			queued = queued || len(s.Externals) > 1
		}
	}
	if ids := int64(len(c.CausationIDs)); queued && ids > 0 {
		n.Messages += ids
		n.Results += ids
		n.Batches++
		n.read(1)
	}
}

// countActivity counts the attempts at an activity that a commit resolves.
func (n *Counts) countActivity(a *PendingActivity, c *history.Commit, e history.Attributes) {
	attempt, byHand, f := ending(e)
	if a.inline && slices.Contains(c.CausationIDs, history.NewCausationID(a.Commit, a.EventID)) {
		n.deliver(1) // a message asked for it after all
	}
	if f != nil && f.Timeout == failure.ScheduleToClose && attempt == 0 {
		n.release(time.Duration(a.ScheduleToClose), 1)
	}
	n.Failed(a.ActivityTaskScheduled, max(attempt-1, 0))
	if byHand {
		n.lookUp(1) // the record
	}
	if byHand || attempt == 0 || f != nil && f.Timeout == failure.ScheduleToStart {
		return // it ended between attempts, or before the first
	}
	n.begin(a.ActivityTaskScheduled, attempt, 1)
	if len(c.CausationIDs) == 0 {
		n.Outside(a.ActivityTaskScheduled)
		n.lookUp(2) // the key that has signed the token, and the record
	}
}

// ending returns the last attempt of an activity that an event resolves, whether an operator
// resolved it, and why it failed.
func ending(e history.Attributes) (attempt int, byHand bool, f *failure.Failure) {
	switch a := e.(type) {
	case *history.ActivityTaskCompleted:
		return a.Attempt, a.ByHand != "", nil
	case *history.ActivityTaskFailed:
		return a.Attempt, a.ByHand != "", a.Failure
	case *history.ActivityTaskTimedOut:
		return a.Attempt, false, a.Failure
	case *history.ActivityTaskCanceled:
		return a.Attempt, false, a.Failure
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // resolve no activity
	}
	return 0, false, nil
}

// countCommit counts a commit itself, and the messages that it schedules. row is the size of its
// row of the list, or 0. The run has the commit.
func (n *Counts) countCommit(r *Run, c *history.Commit, size int, row int64) {
	workflow := int64(len(r.WorkflowID))
	bytes := itemBytes + workflow + int64(size) + row
	if row > 0 {
		n.Rows++
		n.RowUnits += units(keyBytes+workflow+row, writeUnit)
	}
	n.Commits++
	n.Stored += bytes
	put, unlisted := units(bytes, writeUnit), units(bytes, writeUnit)
	if row > 0 {
		unlisted = units(bytes-listBytes, writeUnit)
	}
	if isTogether(c) {
		put, unlisted = 2*put, 2*unlisted
	}
	n.Units, n.UnlistedUnits = n.Units+put, n.UnlistedUnits+unlisted
	switch {
	case !c.FromReset():
		n.countMessages(r, c, r.counted(c))
	case c.Task != nil && c.Task.Reset != nil: // the last commit of a reset, which sends what the new run waits for
		for _, copied := range r.Log {
			if copied != nil {
				n.countMessages(r, c, slices.DeleteFunc(r.counted(copied), func(m Message) bool { return !r.Needed(&m) }))
			}
		}
	}
	r.counting.end()
}

// counted is Messages without causation ids. Its result is valid until the next call.
func (r *Run) counted(c *history.Commit) []Message {
	o := &r.counting
	o.commit, o.nameless, o.messages = c, true, o.messages[:0]
	r.schedule(o)
	return o.messages
}

// end lets go of the messages that were counted, and of the space of many.
func (o *outbox) end() {
	const few = 4
	o.commit = nil
	clear(o.messages)
	if o.messages = o.messages[:0]; cap(o.messages) > few {
		o.messages = nil
	}
}

// isTogether reports whether a commit was put together with one of another run, in a transaction.
func isTogether(c *history.Commit) bool {
	if c.FromReset() || c.Status.Closed() && history.OpenedWith(closedBy(c)) != "" {
		return true
	}
	opens := c.Opens()
	return opens != nil && opens.ContinuedFrom != ""
}

// closedBy returns the event by which a commit closes its run, or nil.
func closedBy(c *history.Commit) history.Attributes {
	if !c.Status.Closed() || len(c.Commands)+len(c.InputEvents) == 0 {
		return nil
	}
	return closing(c)
}

// countMessages counts the messages that a commit sends.
func (n *Counts) countMessages(r *Run, c *history.Commit, messages []Message) {
	if inline := r.followsInline(c, messages); inline != nil {
		inline.inline = true
		messages = messages[1:]
	}
	var sent map[string]int64 // by queue
	if len(messages) > 1 {
		sent = map[string]int64{}
	}
	for i := range messages {
		m := &messages[i]
		if m.Due != 0 && n.keep(m.Due.Sub(c.Time), 1) {
			continue
		}
		queue := "/timers" // no task queue has such a name
		if m.Kind == RunActivity || m.Kind == NotifyCaller {
			queue = m.TaskQueue
		}
		if sent[queue]%sentTogether == 0 {
			n.Sends++
		}
		if sent != nil {
			sent[queue]++
		}
		n.Messages++
		n.read(1)
		switch m.Kind {
		case StartOrCloseChild, NotifyParent, DeliverExternal, NotifyCaller:
			n.lookUp(1) // the log of the other workflow
		case RunActivity, FireTimer, RetryTask, EndRun, TakeResult, StartTask, CloseActivity, CloseAttempt:
		}
	}
}

// followsInline returns the activity that the writer of a commit probably ran itself, instead of
// sending the first of its messages; nil if it sent all. The causation id of the result says which,
// when it is there.
func (r *Run) followsInline(c *history.Commit, messages []Message) *PendingActivity {
	if len(c.CausationIDs) != 1 || len(c.InputEvents) != 1 || !mayBeInline(messages) {
		return nil
	}
	next := r.State.Activities[messages[0].EventID]
	if history.ResolutionOf(c.InputEvents[0].Attributes).Activity == 0 || next == nil || next.TaskQueue != "" || next.Retry.MaximumAttempts == 1 {
		return nil
	}
	return next
}
