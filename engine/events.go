package engine

import (
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// This file has the effect of each event: on the state of its run (State.after, bring and command),
// on the code (Instance.deliver), and on the new run of a reset (resetting.readmit). The table of
// package history has what follows from its type alone: also what a command starts, what an event
// resolves, and how it closes its run.

// after folds in an event that follows a task: a command of its code, or, if the task marks a
// reset, an event of the reset.
func (s *State) after(c, part *history.Commit, id int64, e history.Event) error {
	if part.Task == nil || part.Task.Reset == nil {
		return s.command(c, id, e)
	}
	switch a := e.Attributes.(type) {
	case *history.WorkflowExecutionUpdateAdmitted:
		s.Admitted[a.UpdateID] = len(a.Input)
	case *history.WorkflowExecutionSignaled, *history.CompletionSubscribed:
		return s.bring(id, e)
	case history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing:
		return corrupt("event %d (%s) is not what a reset brings", id, e.Type())
	}
	return nil
}

// bring folds in an input event of a task.
func (s *State) bring(id int64, e history.Event) error {
	switch a := e.Attributes.(type) {
	case *history.WorkflowExecutionStarted:
		if id != 1 {
			return corrupt("event %d starts the run again", id)
		}
		s.Started, s.Pinned, s.Visibility = a, a.Build, s.Visibility.after(e)
		if len(a.Topics) > 0 {
			s.topics().continued(a.Topics)
		}
	case *history.WorkflowExecutionOptionsUpdated:
		s.Pinned = a.Build
	case *history.WorkflowExecutionPaused:
		s.steered[steering{a.Type(), a.RequestID}] = true
	case *history.WorkflowExecutionUnpaused:
		s.steered[steering{a.Type(), a.RequestID}] = true
	case *history.ActivityItemsPublished:
		return s.batched(s.NextSlot, id, a)
	case *history.CompletionSubscribed:
		s.Subscriptions = append(s.Subscriptions, Subscription{a, id})
	case *history.WorkflowExecutionSignaled:
		if a.RequestID != "" {
			s.signals[a.RequestID] = true
		}
		if s.Unread[a.SignalName] == nil {
			s.Unread[a.SignalName] = &history.Unread{Name: a.SignalName, EventID: id}
		}
		s.Unread[a.SignalName].Count++
	case *history.WorkflowExecutionUpdateFailed:
		u := s.accepted[a.AcceptedEventID]
		if u == nil || u.Completed != nil {
			return corrupt("event %d fails an update that is not in flight", id)
		}
		u.Completed = &history.WorkflowExecutionUpdateCompleted{UpdateID: a.UpdateID, AcceptedEventID: a.AcceptedEventID, Failure: a.Failure}
		s.UpdatesInFlight--
		s.UpdateBytesInFlight -= u.Bytes
	case *history.WorkflowExecutionCancelRequested:
		s.CancelRequested, s.asked[a.RequestID] = true, true
	case *history.WorkflowExecutionTerminated:
		s.Close, s.asked[a.RequestID] = a, true
	case *history.WorkflowExecutionTimedOut:
		s.Close = a
	case *history.ChildWorkflowExecutionStarted:
		return s.childStarted(id, a)
	case *history.WorkflowExecutionUpdateAdmitted, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing:
		return s.resolve(id, e)
	}
	return nil
}

// Received reports whether an event from another workflow has arrived, by its request id.
func (s *State) Received(e history.Attributes) bool {
	switch a := e.(type) {
	case *history.WorkflowExecutionSignaled:
		return s.signals[a.RequestID]
	case *history.WorkflowExecutionCancelRequested:
		return s.asked[a.RequestID]
	case *history.WorkflowExecutionTerminated:
		return s.asked[a.RequestID]
	case *history.WorkflowExecutionStarted, *history.WorkflowExecutionUpdateAdmitted, *history.WorkflowExecutionUpdateFailed,
		*history.WorkflowExecutionOptionsUpdated, *history.WorkflowExecutionTimedOut,
		*history.WorkflowExecutionPaused, *history.WorkflowExecutionUnpaused, *history.ActivityItemsPublished,
		*history.CompletionSubscribed:
		// no other workflow sends them
	case history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // do not arrive
	}
	return false
}

// command folds in an event that a command became.
func (s *State) command(c *history.Commit, id int64, e history.Event) error {
	switch a := e.Attributes.(type) {
	case history.Initiation:
		s.initiate(c, id, a)
	case *history.ActivityTaskCancelRequested:
		if p := s.Activities[a.ScheduledEventID]; p != nil {
			p.CancelRequested = true
		}
	case *history.TimerCanceled:
		return s.resolve(id, e)
	case *history.WorkflowExecutionUpdateAccepted:
		if s.Updates[a.UpdateID] != nil {
			return corrupt("event %d accepts update %q a second time", id, a.UpdateID)
		}
		u := &Update{ID: a.UpdateID, Name: a.UpdateName, AcceptedEventID: id, Bytes: len(a.Input) + s.Admitted[a.UpdateID]}
		s.Updates[a.UpdateID], s.accepted[id] = u, u
		s.UpdatesInFlight++
		s.UpdateBytesInFlight += u.Bytes
	case *history.WorkflowExecutionUpdateCompleted:
		u := s.accepted[a.AcceptedEventID]
		if u == nil || u.Completed != nil {
			return corrupt("event %d completes an update that is not in flight", id)
		}
		u.Completed = a
		s.payloads += len(a.Result)
		s.UpdatesInFlight--
		s.UpdateBytesInFlight -= u.Bytes
	case *history.MarkerRecorded: // the code's own
	case *history.UpsertWorkflowSearchAttributes, *history.WorkflowPropertiesModified:
		s.Visibility = s.Visibility.after(e)
	case *history.TopicItemsPublished, *history.TopicTruncated:
		return s.topics().fold(c.Slot, a)
	case history.Closing:
		s.Close = a
	case history.Arrival, history.News, history.TaskStep:
		return corrupt("event %d (%s) is not a command", id, e.Type())
	}
	return nil
}

// initiate folds in a command that starts something.
func (s *State) initiate(c *history.Commit, id int64, command history.Initiation) {
	switch what := history.InitiatedBy(command); {
	case what.Activity != nil:
		s.Activities[id] = &PendingActivity{ActivityTaskScheduled: what.Activity, EventID: id, Slot: c.Slot, Commit: c.ID, Time: c.Time}
		s.payloads += len(what.Activity.Input)
	case what.Timer != nil:
		s.Timers[id] = &PendingTimer{EventID: id, Slot: c.Slot, Commit: c.ID, FireAt: what.Timer.FireAt, Point: what.Timer.Point}
	case what.Child != nil:
		s.Children[id] = newChild(c, id, what.Child)
		s.payloads += len(what.Child.Input)
	case what.External != nil:
		s.Externals[id] = &PendingExternal{Delivery: what.External, EventID: id, Slot: c.Slot, Commit: c.ID}
		s.payloads += what.External.Bytes
		if p := s.Children[what.External.ChildEventID]; p != nil && what.External.Ends {
			p.CancelRequested = true
		}
	}
}

// deliver applies an input event of a task, without running any code.
func (in *Instance) deliver(id int64, e history.Event) error {
	switch a := e.Attributes.(type) {
	case *history.WorkflowExecutionStarted:
		in.start(a)
	case *history.WorkflowExecutionSignaled:
		in.forgetSignals()
		in.signaled, in.signaledIDs = append(in.signaled, e), append(in.signaledIDs, id)
		in.sendSignal(a.SignalName, a.Input)
	case *history.WorkflowExecutionUpdateAdmitted:
		in.updates.admitted = append(in.updates.admitted, UpdateRequest{ID: a.UpdateID, Name: a.UpdateName, Input: a.Input, sequencing: id})
	case *history.WorkflowExecutionCancelRequested:
		in.cancel = a
	case *history.WorkflowExecutionUpdateFailed: // see failUpdates
	case *history.WorkflowExecutionOptionsUpdated: // says which build runs the code, which cannot see that
	case *history.WorkflowExecutionPaused, *history.WorkflowExecutionUnpaused, *history.CompletionSubscribed: // code cannot see them
	case *history.ActivityItemsPublished:
		in.topics.raise(a.Topic, a.Offset+int64(a.Count)) // code sees no more of it
	case *history.ChildWorkflowExecutionStarted:
		return in.childStarted(a)
	case history.News:
		return in.resolve(e)
	case *history.WorkflowExecutionTerminated, *history.WorkflowExecutionTimedOut, history.TaskStep, history.Initiation, history.Record, history.Closing:
		return corrupt("event %s belongs to an input, and a task recorded it", e.Type())
	}
	return nil
}

// resolve passes the outcome of something to the code that waits for it.
func (in *Instance) resolve(e history.Event) error {
	switch r := history.ResolutionOf(e.Attributes); {
	case r.Activity != 0:
		return in.resolveActivity(r.Activity, r.Result, r.Failure)
	case r.Timer != 0:
		return in.fireTimer(r.Timer)
	case r.Child != 0:
		return in.resolveChild(r)
	case r.External != 0:
		return in.resolveExternal(r.External, r.Failure)
	}
	return corrupt("event %s resolves nothing", e.Type())
}

// readmit delivers again those of these events that came to the run after the task's input events.
func (r *resetting) readmit(came ...[]history.Event) error {
	for _, e := range slices.Concat(came...) {
		switch a := e.Attributes.(type) {
		case *history.WorkflowExecutionSignaled:
			if !r.LeaveSignals {
				r.readmitted = append(r.readmitted, e)
				r.total += len(a.Input)
			}
		case *history.CompletionSubscribed:
			r.readmitted = append(r.readmitted, e)
			r.total += len(a.URL)
		case *history.WorkflowExecutionUpdateAdmitted:
			r.admit(a)
		case *history.WorkflowExecutionUpdateAccepted:
			if !r.admitted[a.SequencingEventID] { // one that an earlier reset has delivered is there already
				r.admit(&history.WorkflowExecutionUpdateAdmitted{UpdateID: a.UpdateID, UpdateName: a.UpdateName, Input: a.Input})
			}
		case *history.WorkflowExecutionStarted, *history.WorkflowExecutionCancelRequested, *history.WorkflowExecutionUpdateFailed,
			*history.WorkflowExecutionOptionsUpdated, *history.WorkflowExecutionTerminated, *history.WorkflowExecutionTimedOut,
			*history.WorkflowExecutionPaused, *history.WorkflowExecutionUnpaused, *history.ActivityItemsPublished:
			// are this run's alone
		case history.News, history.TaskStep, history.Initiation, history.Record, history.Closing: // are caused anew by the new run
		}
	}
	return r.grow(0)
}
