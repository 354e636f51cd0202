package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// close issues the command that closes the run, after all others. It returns the handlers that
// still run, unless their author allowed that.
func (in *Instance) close(nextRunID history.RunID) (history.Status, []string) {
	a := in.closing(nextRunID)
	in.issue(&command{event: a})
	status := history.EndOf(a).Status
	return status, in.unfinished(status)
}

// closes reports whether an event is one by which code closes its run.
func closes(e history.Event) bool {
	_, ok := e.Attributes.(history.Closing)
	return ok
}

// closesNext reports whether the run closes in the next task because its end does not fit into this
// one. No code runs after that. A task must answer its updates: if the code has not reached all of
// them, the task closes the run, or fails. A replay follows the history: a recorded task that ends
// this way has no event that closes the run.
func (in *Instance) closesNext() bool {
	s := &in.splits
	switch {
	case in.rules < history.CloseInNextTask:
		return false
	case in.markers.recorded && (s.closes || s.recorded == 0):
		return false
	case !in.markers.recorded:
		a := in.closing("")
		if n := sizeOf(a) + eventBytes; in.unanswered() || s.limit == 0 || s.bytes+n <= s.limit || n > s.limit-eventBytes {
			return false
		}
	}
	if s.timer == nil {
		s.points++
		s.timer = in.newTimer(&Timer{in: in, scope: in.s.NewScope()}, in.info.Now.Add(time.Millisecond), s.points)
	}
	return true
}

// NextTask returns the timer event that starts the next task of a run whose last one was full, or
// nil. The timer need not be due.
func (r *Run) NextTask() *history.TimerFired {
	first := int64(0)
	for id, t := range r.State.Timers {
		if t.Point > 0 && (first == 0 || id < first) {
			first = id
		}
	}
	if first == 0 {
		return nil
	}
	return &history.TimerFired{StartedEventID: first}
}

// unanswered reports whether the code has not reached an update of the task.
func (in *Instance) unanswered() bool {
	return in.active != nil && slices.ContainsFunc(in.active.delivered, func(u *update) bool { return u.result.Verdict == Unanswered })
}

// closing returns the event that closes the run.
func (in *Instance) closing(nextRunID history.RunID) history.Closing {
	var canceled *failure.CanceledError
	var next *ContinueAsNew
	large := in.tooLarge("the result of the workflow", len(in.result))
	if errors.As(in.err, &next) {
		large = in.tooLarge("the input of the run that continues this one", len(next.Input))
	}
	switch {
	case large != nil:
		return &history.WorkflowExecutionFailed{Failure: large}
	case next != nil:
		return &history.WorkflowExecutionContinuedAsNew{NewRunID: nextRunID, WorkflowType: next.WorkflowType, Input: next.Input}
	case in.err == nil:
		return &history.WorkflowExecutionCompleted{Result: in.result}
	case in.root.Err() != nil && errors.As(in.err, &canceled):
		return &history.WorkflowExecutionCanceled{Failure: failure.FromError(in.err)}
	}
	return &history.WorkflowExecutionFailed{Failure: failure.FromError(in.err)}
}

// ContinueAsNew is the error by which a workflow's code continues in another run.
type ContinueAsNew struct {
	WorkflowType string
	Input        history.Payload
}

// Error returns a text for code that does not return the error, and says what to do with it.
func (e *ContinueAsNew) Error() string {
	return "continue as new: only the workflow's own function can, by returning this error"
}

// checkNext panics if the code of a program continues as new in one of Weft's own types. A recorded
// run may have done so: earlier versions allowed it.
func (in *Instance) checkNext() {
	var next *ContinueAsNew
	if in.replaying || !errors.As(in.err, &next) || !OwnType(next.WorkflowType) || next.WorkflowType == in.info.WorkflowType {
		return
	}
	panic(&failure.OtherError{
		Kind:    failure.KindMisuse,
		Message: fmt.Sprintf("the workflow continues as new in workflow type %q, which is one of Weft's own: continue in a type of the program", next.WorkflowType),
	})
}

// unread returns the signals that the code has not received: of each name the last ones.
func (in *Instance) unread() []history.Event {
	left := in.leftOf()
	var unread []history.Event
	for _, e := range slices.Backward(in.signaled) {
		name := e.Attributes.(*history.WorkflowExecutionSignaled).SignalName
		if left[name] > 0 {
			left[name]--
			unread = append(unread, e)
		}
	}
	slices.Reverse(unread)
	return unread
}

// unfinished returns the update handlers that run when the run closes, for a warning to the author.
// It leaves out all if the run failed, and those that were set with Abandon.
func (in *Instance) unfinished(status history.Status) []string {
	if status == history.Failed {
		return nil
	}
	var names []string
	for _, u := range in.updates.running {
		if !u.handler.Abandon {
			names = append(names, fmt.Sprintf("%s (%s)", u.request.Name, u.request.ID))
		}
	}
	return names
}
