package engine

import (
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// State is what a run's log says about it, without running any code. Apply folds it from the
// commits, in order. New commits and commits that were read from the store go through the same
// fold.
type State struct {
	RunID   history.RunID
	Started *history.WorkflowExecutionStarted
	// StartTime is when the run was opened: by a start, by the run that it continues, or by a
	// reset. CloseTime is when it closed.
	StartTime, CloseTime history.Timestamp
	Status               history.Status
	// Close is the event that closed the run, or nil.
	Close history.Attributes

	// NextSlot, NextEventID and LastTime are what the next commit builds on.
	NextSlot    uint32
	NextEventID int64
	LastTime    history.Timestamp
	// Bytes is the stored size of the run so far.
	Bytes int64
	// Expires is when the store may begin to delete commits of the run, if an earlier version of
	// Weft wrote it on them; 0 is never.
	Expires history.Timestamp

	// Pending says what the last commit left undone.
	Pending history.Pending
	// LastTask is the commit of the last task, fences skipped, or nil.
	LastTask *history.Commit
	// RanUnder is the build of the last task that has succeeded or opened the run by a reset, or of
	// the first one if all have failed; empty if there was none.
	RanUnder string
	// Ran reports whether a task of the run has succeeded, or one that a reset has copied:
	// otherwise its code has set no handlers.
	Ran bool
	// Streak is since when and why the run is stuck, or nil if it is not. A Streak never changes.
	Streak *Streak
	// Counts is how much work the run has caused. Run.Append folds it, and Apply does not.
	Counts Counts

	// Activities and Timers are those that have not been resolved, by the id of the event that
	// scheduled them.
	Activities map[int64]*PendingActivity
	Timers     map[int64]*PendingTimer
	// Children and Externals are those that have not been resolved, in the same way.
	Children  map[int64]*PendingChild
	Externals map[int64]*PendingExternal
	// Updates are those that were accepted, by id.
	Updates map[string]*Update
	// UpdatesInFlight is how many of them have not completed, and UpdateBytesInFlight the total
	// size of their inputs.
	UpdatesInFlight, UpdateBytesInFlight int
	// Admitted are the updates of a reset that no task has seen yet: the sizes of their inputs, by
	// id.
	Admitted map[string]int
	// Reset is the origin of the run if a reset opened it, or nil.
	Reset *history.Reset
	// Pinned is the only build that may run the code of the run, or empty if the newest build does.
	Pinned string
	// Paused says since when, and why, the run is paused; nil if it is not.
	Paused *Pause
	// CancelRequested is set if the run was asked to end.
	CancelRequested bool
	// Visibility is what the run shows in lists.
	Visibility Visibility
	// Unread are the signals that the code has not received, by name. Tasks of the first rules do
	// not record them.
	Unread map[string]*history.Unread
	// SetAside are the signals that were set aside, by name: their values did not decode.
	SetAside map[string]*Aside
	// Subscriptions are the notifications of the run's end that somebody asked for, in order.
	Subscriptions []Subscription
	// Topics are those of the run, and those of the run before that it goes on with; nil if there
	// are none.
	Topics Topics

	signals  map[string]bool   // request ids of the signals that arrived
	asked    map[string]bool   // request ids of other workflows' requests that the run end
	steered  map[steering]bool // pauses and resumptions that have arrived
	accepted map[int64]*Update
	payloads int // about the size of the payloads of pending events, and of the results of updates
}

// Aside are the signals of one name that a run has set aside.
type Aside struct {
	Count int
	// Events are the events of the latest of them that are known, in order: at most MaxAside.
	// Earlier versions recorded none.
	Events []int64
}

// MaxAside is how many events of signals that were set aside a State has, of each name.
const MaxAside = 10

// setAside folds in what a task has set aside.
func (s *State) setAside(u history.Unread) {
	one := s.SetAside[u.Name]
	if one == nil {
		one = &Aside{}
		s.SetAside[u.Name] = one
	}
	one.Count += u.Count
	if u.EventID != 0 {
		one.Events = append(one.Events, u.EventID)
		one.Events = one.Events[max(0, len(one.Events)-MaxAside):]
	}
}

// PendingActivity is an activity that has not been resolved.
type PendingActivity struct {
	*history.ActivityTaskScheduled
	EventID int64
	// Slot and Commit name the commit that scheduled it.
	Slot   uint32
	Commit history.CommitID
	// Time is when it was scheduled.
	Time history.Timestamp
	// CancelRequested is set if the code has asked it to end.
	CancelRequested bool
	// Publishing is the execution of an attempt that has published the last batch of items; nil if
	// none has.
	Publishing *Execution

	inline bool // no message asked for its first attempt, as far as is known: see Counts
}

// PendingTimer is a timer that has not fired.
type PendingTimer struct {
	EventID int64
	Slot    uint32
	Commit  history.CommitID
	FireAt  history.Timestamp
	// Point is set on the timer that triggers the next task after a full one: see
	// history.TimerStarted.
	Point int
}

// Update is an accepted update.
type Update struct {
	ID, Name        string
	AcceptedEventID int64
	// Bytes is the size of its input.
	Bytes int
	// Completed is its outcome; nil while its handler runs.
	Completed *history.WorkflowExecutionUpdateCompleted
}

// NewState is the state of a run before its first commit.
func NewState() *State {
	return &State{
		NextEventID: 1,
		Activities:  map[int64]*PendingActivity{}, Timers: map[int64]*PendingTimer{}, Updates: map[string]*Update{},
		Children: map[int64]*PendingChild{}, Externals: map[int64]*PendingExternal{},
		Admitted: map[string]int{}, Unread: map[string]*history.Unread{}, SetAside: map[string]*Aside{},
		signals: map[string]bool{}, asked: map[string]bool{}, steered: map[steering]bool{}, accepted: map[int64]*Update{},
	}
}

// Apply folds in the next commit; size is its stored size. It returns an error if no engine writes
// such a log.
func (s *State) Apply(c *history.Commit, size int) error {
	if err := s.checkNext(c); err != nil {
		return err
	}
	s.RunID, s.Status, s.Pending, s.LastTime = c.RunID, c.Status, c.Pending, max(c.Time, s.LastTime)
	if c.Expires != 0 && (s.Expires == 0 || c.Expires < s.Expires) {
		s.Expires = c.Expires
	}
	if c.Slot == 0 {
		s.StartTime = c.Time
	}
	for part := range c.Parts() {
		if err := s.fold(c, part); err != nil {
			return err
		}
	}
	s.streakAfter(c)
	s.pausedAfter(c)
	if c.Status.Closed() {
		s.CloseTime = c.Time
	}
	s.NextSlot, s.NextEventID, s.Bytes = c.Slot+1, c.NextEventID(), s.Bytes+int64(size)
	return nil
}

// checkNext returns an error if a commit is not the next one of the run.
func (s *State) checkNext(c *history.Commit) error {
	switch {
	case c.Slot != s.NextSlot:
		return corrupt("slot %d follows slot %d", c.Slot, int64(s.NextSlot)-1)
	case c.FirstEventID != s.NextEventID:
		return corrupt("slot %d begins with event %d, want %d", c.Slot, c.FirstEventID, s.NextEventID)
	case s.Status.Closed():
		return corrupt("slot %d stands after the run closed", c.Slot)
	}
	return nil
}

// fold folds in a part of a commit: one that a reset has copied, or what the commit itself adds.
func (s *State) fold(c, part *history.Commit) error {
	id := part.FirstInputEventID()
	for _, e := range part.InputEvents {
		if err := s.bring(id, e); err != nil {
			return err
		}
		id++
	}
	if part.Task != nil {
		s.LastTask = part
		if part.Task.Failure == nil || part.Task.Reset != nil || s.RanUnder == "" {
			s.RanUnder = part.Task.Build
		}
		if part.Task.Reset != nil {
			s.Reset, s.Pinned = part.Task.Reset, part.Task.Reset.Build
			if len(s.Reset.Topics) > 0 {
				s.topics().reset(s.Reset.Topics)
			}
			s.restartExecutions()
		}
	}
	id = part.FirstCommandID()
	for _, e := range part.Commands {
		if err := s.after(c, part, id, e); err != nil {
			return err
		}
		id++
	}
	if part.Task != nil && part.Task.Failure == nil {
		s.Ran = true
		clear(s.Admitted) // the task has seen them, and has rejected those that it did not accept
		clear(s.Unread)
		for _, u := range part.Task.Unread {
			s.Unread[u.Name] = &u
		}
		for _, u := range part.Task.SetAside {
			s.setAside(u)
		}
	}
	return nil
}

// Signaled reports whether a signal with this request id has arrived.
func (s *State) Signaled(requestID string) bool { return s.signals[requestID] }

// Stuck returns the failure of a task that failed and is retried, or nil.
func (s *State) Stuck() *failure.Failure {
	if s.Pending != history.PendingRetry || s.LastTask == nil {
		return nil
	}
	return s.LastTask.Task.Failure
}

// Refused returns the failure of the last task if that had only updates, which it refused because
// the code failed, or nil. Nothing retries it: the next update is tried whatever failed before.
func (s *State) Refused() *failure.Failure {
	if s.Streak == nil || s.Pending == history.PendingRetry {
		return nil
	}
	return s.LastTask.Task.Failure
}

// Outcome returns how the run ended: its result, or its failure. Both are nil while it is open.
func (s *State) Outcome() (history.Payload, *failure.Failure) {
	end := history.EndOf(s.Close)
	return end.Result, end.Failure
}

// Next returns the run that continues this one, or empty.
func (s *State) Next() history.RunID { return history.NextRun(s.Close) }

// OpenedWith returns the run that was opened in the put that closed this one, whether it continues
// this one or not, or empty.
func (s *State) OpenedWith() history.RunID { return history.OpenedWith(s.Close) }

// UpdateOutcome returns the outcome of an accepted update as its caller gets it: nil, nil while it
// is in flight. An update whose run closed first has a failure that is not stored: it follows from
// the log, and never changes.
func (s *State) UpdateOutcome(u *Update) (history.Payload, *failure.Failure, bool) {
	switch {
	case u.Completed != nil:
		return u.Completed.Result, u.Completed.Failure, true
	case s.Status.Closed():
		return nil, failure.FromError(failure.ErrRunClosed), true
	}
	return nil, nil, false
}
