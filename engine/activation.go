package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrCorrupt is wrapped by what replay returns for a log that no engine writes.
var ErrCorrupt = errors.New("engine: corrupt history")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Activation is what one workflow task hands to the code.
type Activation struct {
	// FirstEventID is the id of the first event of the commit that is to be made.
	FirstEventID int64
	// Time is the task's time.
	Time history.Timestamp
	// InputEvents are the durable events of the task. What earlier, failed tasks brought comes before them by itself.
	InputEvents []history.Event
	// Updates are the requests to deliver, in the order of their admission.
	Updates []UpdateRequest
	// Limits bounds what is accepted.
	Limits Limits
	// MaxBytes and MaxStarts bound what the task writes, in bytes and in what it starts: the rest is the next task's. 0 is no limit,
	// and 5,000.
	MaxBytes, MaxStarts int
	// MaxConditions is that of Options. It does not count where the task is done again.
	MaxConditions int
	// HistoryBytes and SuggestContinueAsNew are what code can read.
	HistoryBytes         int64
	SuggestContinueAsNew bool
	// Recorded are the commands of the task that history has, where it is done again: what the code finds out it finds there.
	// Nil in a new task.
	Recorded []history.Event
	// Rules are those that the code runs by.
	Rules history.Rules
	// NextRunID is the id of the run that continues this one, should the code say so.
	NextRunID history.RunID
}

// Result is what the code did with an activation.
type Result struct {
	// Commands are the events of its commands, in order.
	Commands []history.Event
	// Updates are the verdicts on the requests, in the order of the requests.
	Updates []UpdateResult
	// Status is the run's state if this is committed.
	Status history.Status
	// Unfinished names the update handlers that were running when the run closed, as "name (id)".
	Unfinished []string
	// Locals are the local activities that are to be run before the activation can go on: see Resume. Nothing else is set then.
	Locals []*LocalActivity
	// Unread are the signals that the code had not received when it continued as new, in the order of their arrival.
	Unread []history.Event
	// Left are the signals that the code has not received.
	Left []history.Unread
	// SetAside are the signals that the code has set aside.
	SetAside []SetAside
	// Unhandled are the names of signals that arrived in the task and that no code has asked for.
	Unhandled []string

	// retract takes the instance back to where it was before the activation. It is nil if code ran that may change state.
	retract func()
}

// Accepted reports whether any update was accepted.
func (r *Result) Accepted() bool {
	for _, u := range r.Updates {
		if u.Verdict == Accepted {
			return true
		}
	}
	return false
}

// activation is an activation under way.
type activation struct {
	*Activation
	delivered []*update
	// retract takes the instance back to before the activation, and turns is how many turns its coroutines had had by then. A nil
	// retract says that the activation delivered something that cannot be taken back.
	retract func()
	turns   int
}

// Activate runs the code on new events and updates until it waits. An error is a failure of the task: the instance can
// only be closed then. The instance is ahead of the log until the result is committed.
func (in *Instance) Activate(a *Activation) (*Result, error) {
	var result *Result
	err := recovered(func() error {
		active := &activation{Activation: a, retract: in.retraction(a), turns: in.s.Turns()}
		var err error
		if active.delivered, err = in.begin(a); err != nil {
			return err
		}
		in.active = active
		result, err = in.proceed()
		return err
	})
	if err != nil {
		return nil, err
	}
	in.slot++
	return result, nil
}

// retraction returns what takes the instance back to before an activation that delivers updates alone and refuses all of them. It
// returns nil if the activation delivers more than updates.
func (in *Instance) retraction(a *Activation) func() {
	if len(a.InputEvents) > 0 || len(a.Updates) == 0 || len(in.carry) > 0 || len(in.updates.admitted) > 0 || in.returned {
		return nil
	}
	info, rules := in.info, in.rules
	return func() {
		in.info, in.rules = info, rules
		in.slot--
	}
}

// onlyRefused reports whether an activation did nothing but refuse each of its updates: one turn for each, and no more. The code that
// ran then may only look, so the instance is as it was.
func (in *Instance) onlyRefused(a *activation) bool {
	for _, u := range a.delivered {
		if u.result.Verdict == Unanswered || u.result.Verdict == Accepted {
			return false
		}
	}
	return in.s.Turns() == a.turns+len(a.delivered) && len(in.commands) == 0
}

// unchanged reports whether the activation has done nothing so far but refuse its updates.
func (in *Instance) unchanged() bool {
	return in.active != nil && in.active.retract != nil && in.onlyRefused(in.active)
}

// Resume goes on with an activation that waits for local activities. results are what became of those that are due.
func (in *Instance) Resume(results []LocalResult) (result *Result, err error) {
	err = recovered(func() error {
		in.locals.results = results
		result, err = in.proceed()
		return err
	})
	return result, err
}

// proceed runs the code of an activation until it waits for local activities, or for what only another task can bring.
func (in *Instance) proceed() (*Result, error) {
	due, err := in.run()
	if err != nil {
		return nil, err
	}
	if len(due) > 0 {
		return &Result{Locals: due}, nil
	}
	result := &Result{}
	for _, u := range in.active.delivered {
		result.Updates = append(result.Updates, u.result)
	}
	if in.finished {
		result.Status, result.Unfinished = in.close(in.active.NextRunID)
		result.Unread = in.unread()
	}
	result.Left, result.SetAside = in.leftSignals()
	for _, e := range in.active.InputEvents {
		if a, ok := e.Attributes.(*history.WorkflowExecutionSignaled); ok && !in.finished && !in.Handles(a.SignalName) && !slices.Contains(result.Unhandled, a.SignalName) {
			result.Unhandled = append(result.Unhandled, a.SignalName)
		}
	}
	if in.unchanged() {
		result.retract = in.active.retract
	}
	in.active = nil
	result.Commands = in.events(in.info.HistoryLength + 2)
	return result, nil
}

// Replay rebuilds what the code did in the task of a commit. An error says that the code no longer does it, or fails:
// the instance can only be closed then.
func (in *Instance) Replay(c *history.Commit) error {
	if c.Slot != in.slot {
		return corrupt("slot %d follows slot %d", c.Slot, int64(in.slot)-1)
	}
	in.lookAgain(c)
	for part := range c.Parts() {
		if in.failed = in.replay(part); in.failed != nil {
			return in.failed
		}
	}
	in.slot++
	return nil
}

// replay is Replay for a part of a commit: one that a reset has copied, or what the commit itself adds.
func (in *Instance) replay(c *history.Commit) error {
	if c.Task == nil || c.Failed() {
		// Nothing ran (a fence, a start delay, an end from outside, the point of a reset), or nothing that counts.
		in.carry = append(in.carry, numbered(c.FirstInputEventID(), c.InputEvents)...)
		if c.Task != nil && c.Task.Reset != nil {
			in.carry = append(in.carry, numbered(c.FirstCommandID(), c.Commands)...)
			in.departs(c.Task.Reset)
		}
		return nil
	}
	in.replaying = true
	defer func() { in.replaying = false }()
	return recovered(func() error {
		_, err := in.begin(&Activation{
			FirstEventID: c.FirstInputEventID(), Time: c.Time, InputEvents: c.InputEvents, Updates: acceptedIn(c), Recorded: c.Commands, Rules: c.Task.Rules,
			HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew,
		})
		if err != nil {
			return err
		}
		if _, err := in.run(); err != nil {
			return err
		}
		if in.finished {
			in.close("")
		}
		return in.match(c.FirstCommandID(), c.Commands)
	})
}

// numbered gives events their ids.
func numbered(first int64, events []history.Event) []history.Numbered {
	all := make([]history.Numbered, len(events))
	for i, e := range events {
		all[i] = history.Numbered{ID: first + int64(i), Event: e}
	}
	return all
}

// unnumbered is events without their ids.
func unnumbered(numbered []history.Numbered) []history.Event {
	events := make([]history.Event, len(numbered))
	for i, e := range numbered {
		events[i] = e.Event
	}
	return events
}

// acceptedIn are the requests that the task of a commit accepted: what was handed to the code before its task
// completed stands after it, in the commands.
func acceptedIn(c *history.Commit) []UpdateRequest {
	var requests []UpdateRequest
	for _, e := range c.Commands {
		if a, ok := e.Attributes.(*history.WorkflowExecutionUpdateAccepted); ok {
			requests = append(requests, UpdateRequest{ID: a.UpdateID, Name: a.UpdateName, Input: a.Input, sequencing: a.SequencingEventID})
		}
	}
	return requests
}

// begin delivers everything before any code runs.
func (in *Instance) begin(a *Activation) ([]*update, error) {
	in.info.Now, in.rules = a.Time, a.Rules
	clear(in.setAside)
	if in.looks != nil {
		clear(in.looks.inputs)
	}
	in.info.HistoryLength = a.FirstEventID + int64(len(a.InputEvents)) + 1
	in.info.HistoryBytes = a.HistoryBytes
	in.info.SuggestContinueAsNew = a.SuggestContinueAsNew
	in.updates.limits = a.Limits
	in.splits.begin(a)
	in.limitConditions(a)
	in.finished = in.finished || in.ending // its function returned in the task before
	in.ending = false
	in.markers.begin(in.replaying || a.Recorded != nil, a.Recorded)
	inputEvents := a.InputEvents
	if len(in.carry) > 0 {
		inputEvents = slices.Concat(unnumbered(in.carry), a.InputEvents)
	}
	// First of all: whatever else arrives must not wake them.
	cancel, err := in.failUpdates(inputEvents)
	if err != nil {
		return nil, err
	}
	in.lastBlamed = ""
	for _, e := range in.carry {
		if err := in.deliver(e.ID, e.Event); err != nil {
			return nil, err
		}
	}
	in.carry = nil
	for i, e := range a.InputEvents {
		if err := in.deliver(a.FirstEventID+int64(i), e); err != nil {
			return nil, err
		}
	}
	// Only now: what was canceled, and has its result in the same task, has its result.
	cancel()
	cancels := in.cancel != nil && in.root.Err() == nil
	if cancels {
		in.root.Cancel(in.cancel.Reason)
	}
	delivered := in.deliverUpdates(a.Updates)
	if cancels && in.rules >= history.StopAtReturn {
		in.hastenUpdates() // the workflow's function may return at once: they have their outcome before that
	}
	return delivered, nil
}

// maxConditions is how many conditions a task may have asked: those of 14,000 coroutines that become true one at a time. It takes a few
// seconds, less than a task may.
const maxConditions = 100_000_000

// limitConditions bounds the conditions that are asked in a new task. One that is in history was within its time.
func (in *Instance) limitConditions(a *Activation) {
	if in.replaying || a.Recorded != nil {
		in.s.LimitConditions(0)
		return
	}
	in.s.LimitConditions(cmp.Or(a.MaxConditions, maxConditions))
}

// run runs the code until it waits. It returns the local activities that are to be run before it can go on.
func (in *Instance) run() ([]*LocalActivity, error) {
	for {
		if err := in.s.Run(); err != nil {
			return nil, err
		}
		if in.ending {
			return nil, nil
		}
		if in.finished && in.rules >= history.StopAtReturn {
			in.refuseQueued()
			return nil, nil
		}
		if due := in.due(); len(due) > 0 {
			if came, err := in.takeResult(due); err != nil || !came {
				return due, err
			}
			continue
		}
		if len(in.updates.queue) == 0 {
			return nil, nil
		}
		// The code waits, or has returned, and has not set their handlers: they run now and find none.
		in.releaseUpdates(func(*update) bool { return true })
	}
}
