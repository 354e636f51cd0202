package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-41655fb1/weft/engine/history"
)

// ErrCorrupt is wrapped by the error of a replay of a log that no engine writes.
var ErrCorrupt = errors.New("engine: corrupt history")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

// Activation is what one workflow task delivers to the code.
type Activation struct {
	// FirstEventID is the id of the first event of the next commit.
	FirstEventID int64
	// Time is the task's time.
	Time history.Timestamp
	// InputEvents are the durable events of the task. Activate delivers the input events of
	// earlier, failed tasks before them.
	InputEvents []history.Event
	// Updates are the requests to deliver, in the order of their admission.
	Updates []UpdateRequest
	// Limits bounds the updates that the run accepts.
	Limits Limits
	// MaxBytes and MaxStarts bound the bytes that the task writes and the number of things that it
	// starts. The rest is left for the next task. A MaxBytes of 0 is no limit, and a MaxStarts of 0
	// is 5,000.
	MaxBytes, MaxStarts int
	// MaxConditions is that of Options. It is ignored on replay.
	MaxConditions int
	// Chain is that of Options. It is false on replay.
	Chain bool
	// HistoryBytes and SuggestContinueAsNew are what code can read.
	HistoryBytes         int64
	SuggestContinueAsNew bool
	// Recorded are the commands that history has for the task, on replay. The code gets recorded
	// values from them. Nil in a new task.
	Recorded []history.Event
	// Rules are the rules that the code runs by.
	Rules history.Rules
	// NextRunID is the id of the run that continues this one, if the code continues as new.
	NextRunID history.RunID
}

// Result is what the code did with an activation.
type Result struct {
	// Commands are the events of its commands, in order.
	Commands []history.Event
	// Updates are the verdicts on the requests, in the order of the requests.
	Updates []UpdateResult
	// Status is the run's status if this is committed.
	Status history.Status
	// Unfinished names the update handlers that were running when the run closed, as "name (id)".
	Unfinished []string
	// Locals are the local activities that have to run before the activation can continue: see
	// Resume. If it is set, nothing else is.
	Locals []*LocalActivity
	// Unread are the signals that the code had not received when it continued as new, in the order
	// of arrival.
	Unread []history.Event
	// Left are the signals that the code has not received.
	Left []history.Unread
	// SetAside are the signals that the code has set aside.
	SetAside []SetAside
	// Unhandled are the names of signals that arrived in the task and that the code does not
	// receive.
	Unhandled []string

	// retract restores the instance to its state before the activation. It is nil if code ran that
	// may change state.
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

// activation is an activation in progress.
type activation struct {
	*Activation
	delivered []*update
	// retract restores the instance to its state before the activation, and turns is how many turns
	// its coroutines had had by then. A nil retract says that the activation delivered something
	// that cannot be undone.
	retract func()
	turns   int
}

// Activate runs the code on new events and updates until it waits. It returns an error if the task
// fails: the instance can then only be closed. The instance is ahead of the log until the result is
// committed.
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

// retraction returns a function that restores the instance to its state before an activation that
// delivers only updates and refuses all of them. It returns nil if the activation delivers anything
// else.
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

// onlyRefused reports whether an activation did nothing but refuse each of its updates, in one turn
// for each. The code that ran then may only read, so the instance is unchanged.
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

// Resume continues an activation that waits for local activities. results are the outcomes of those
// that are due.
func (in *Instance) Resume(results []LocalResult) (result *Result, err error) {
	err = recovered(func() error {
		in.locals.results = results
		result, err = in.proceed()
		return err
	})
	return result, err
}

// proceed runs the code of an activation until it waits for local activities, or for an event of a
// later task.
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
	in.topics.fold(result.Commands)
	return result, nil
}

// Replay runs the code again for the task of a commit. It returns an error if the code does
// something else than the commit records, or fails: the instance can then only be closed.
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

// replay is Replay for a part of a commit: one that a reset has copied, or what the commit itself
// adds.
func (in *Instance) replay(c *history.Commit) error {
	if c.Task == nil || c.Failed() {
		// No code ran (a fence, a start delay, an end from outside, the point of a reset), or none
		// that counts.
		in.carry = append(in.carry, in.withoutBatches(numbered(c.FirstInputEventID(), c.InputEvents))...)
		if c.Task != nil && c.Task.Reset != nil {
			in.carry = append(in.carry, numbered(c.FirstCommandID(), c.Commands)...)
			in.departs(c.Task.Reset)
			in.topics.continued(c.Task.Reset.Topics)
		}
		return nil
	}
	in.replaying = true
	defer func() { in.replaying = false }()
	defer in.topics.fold(c.Commands)
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

// unnumbered returns events without their ids.
func unnumbered(numbered []history.Numbered) []history.Event {
	events := make([]history.Event, len(numbered))
	for i, e := range numbered {
		events[i] = e.Event
	}
	return events
}

// acceptedIn returns the requests that the task of a commit accepted. An update is recorded among
// the commands, after the task, although the code got it before.
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
	in.info.Now, in.rules, in.chain = a.Time, a.Rules, a.Chain
	clear(in.setAside)
	if in.looks != nil {
		clear(in.looks.inputs)
	}
	in.info.HistoryLength = a.FirstEventID + int64(len(a.InputEvents)) + 1
	in.info.HistoryBytes = a.HistoryBytes
	in.info.SuggestContinueAsNew = a.SuggestContinueAsNew
	in.updates.limits = a.Limits
	in.splits.begin(a)
	clear(in.topics.published)
	in.limitConditions(a)
	in.finished = in.finished || in.ending // its function returned in the task before
	in.ending = false
	in.markers.begin(in.replaying || a.Recorded != nil, a.Recorded)
	inputEvents := a.InputEvents
	if len(in.carry) > 0 {
		inputEvents = slices.Concat(unnumbered(in.carry), a.InputEvents)
	}
	// First of all: nothing else that arrives may wake them.
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
	// Only now: a canceled wait whose result arrives in the same task gets the result.
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

// maxConditions is how many conditions a task may evaluate: those of 14,000 coroutines that become
// true one at a time. It takes a few seconds, less than a task may.
const maxConditions = 100_000_000

// limitConditions bounds the conditions that are evaluated in a new task. A recorded task was
// within its time.
func (in *Instance) limitConditions(a *Activation) {
	if in.replaying || a.Recorded != nil {
		in.s.LimitConditions(0)
		return
	}
	in.s.LimitConditions(cmp.Or(a.MaxConditions, maxConditions))
}

// run runs the code until it waits. It returns the local activities that have to run before it can
// continue.
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
		// The code waits, or has returned, and has not set their handlers: they run now, find none,
		// and are refused.
		in.releaseUpdates(func(*update) bool { return true })
	}
}
