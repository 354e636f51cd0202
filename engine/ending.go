package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
)

// close issues the command that closes the run, after all others, and lists the handlers that still run where the
// author probably did not mean that.
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

// closesNext reports whether the run closes in the next task because its end does not fit into this one. None of the code runs after
// that. A task must answer the updates that it brings: if the code has not come to all of them, the task closes the run, or fails.
// A replay goes by the history: a recorded task that ends this way has no event that closes the run.
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

// NextTask is what brings the next task of a run whose last one was full. It need not be due. Nil is nothing.
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

// unanswered reports whether the code has not come to an update that the task brings.
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

// ContinueAsNew is the error that a workflow's code ends with to go on in another run.
type ContinueAsNew struct {
	WorkflowType string
	Input        history.Payload
}

// Error says what to do with it, to those who do something else.
func (e *ContinueAsNew) Error() string {
	return "continue as new: only the workflow's own function can, by returning this error"
}

// unread are the signals that the code has not received: of each name those that came last.
func (in *Instance) unread() []history.Event {
	left := map[string]int{}
	for name, c := range in.signals {
		left[name] = c.Len()
	}
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

// unfinished lists the update handlers that run when the run closes: a warning for the author, except where the run
// failed or the handler was set with Abandon.
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
