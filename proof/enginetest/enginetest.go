// Package enginetest plays one run in a test, without a deployment. The test supplies the input
// events, task by task, and sees the commits. Nothing else happens, and time passes only if the
// test lets it.
package enginetest

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// TB is the part of testing.TB that a harness needs.
type TB interface {
	testbed.Reporter
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// WorkflowID is the id of the workflow on every harness.
const WorkflowID = "stage"

// Type is the name under which New registers its code.
const Type = "stage"

// Harness is one run and its code.
type Harness struct {
	t    TB
	Run  *engine.Run
	code *engine.Workflow
	in   *engine.Instance
	now  history.Timestamp
	ids  uint64
	// build is the number of the current build.
	build int
	// Cold rebuilds the code from the log before each task.
	Cold bool
	// Limits limits updates; zero means no limit.
	Limits engine.Limits
	// Starts is how many activities, timers and similar things one task may start; zero means no
	// limit.
	Starts int
	// Chain is that of engine.Options.
	Chain bool
	// Commit is how many bytes one task may write; zero means no limit.
	Commit int
	// Suggest is the length of the history from which the code gets the hint to continue as new;
	// zero means never.
	Suggest int64
	// Plain leaves the stacks of failed tasks out of the log, because they differ from run to
	// run.
	Plain bool
	// Local returns the outcome of a local activity. If it is nil, each local activity succeeds
	// with its input as its result.
	Local func(a *engine.LocalActivity) engine.LocalResult
	// Bodies are the commits so far, encoded.
	Bodies [][]byte
}

// Open returns a harness whose run has not started. When the test ends, the harness replays the
// run from the log. Without options the code may handle all names.
func Open[In, Out any](t TB, code func(workflow.Context, In) (Out, error), sets ...workflow.BindOptions) *Harness {
	t.Helper()
	types := &engine.Registry{}
	if err := bridge.Register(types, workflow.Bind(workflow.NewWorkflow[In, Out](Type), code, sets...)); err != nil {
		t.Fatalf("%v", err)
	}
	if len(sets) == 0 {
		types.Workflow(Type).Names = nil
	}
	s := &Harness{
		t: t, Run: engine.NewRun(WorkflowID, 1), code: types.Workflow(Type),
		now: history.At(time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)),
	}
	t.Cleanup(func() {
		s.drop()
		testbed.ReplayRun(t, s.code, WorkflowID, s.Run.Log)
	})
	return s
}

// New returns a harness whose run has started. It takes the options of Open.
func New[In, Out any](t TB, code func(workflow.Context, In) (Out, error), in In, sets ...workflow.BindOptions) *Harness {
	t.Helper()
	s := Open(t, code, sets...)
	s.Start(in)
	return s
}

// Start starts the run.
func (s *Harness) Start(in any) *engine.Transition {
	s.t.Helper()
	return s.Bring(&history.WorkflowExecutionStarted{WorkflowType: Type, Input: s.encode(in)})
}

func (s *Harness) encode(v any) history.Payload {
	s.t.Helper()
	if p, ok := v.(history.Payload); ok {
		return p
	}
	data, err := json.Marshal(v)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	return data
}

func (s *Harness) drop() {
	if s.in != nil {
		s.in.Close()
		s.in = nil
	}
}

// Writer returns the writer of the next commit.
func (s *Harness) Writer() *engine.Writer {
	w := &engine.Writer{Now: s.now, Build: fmt.Sprint("build-", s.build), RunID: history.NewRunID(1, [8]byte{7}), Options: engine.Options{Limits: s.Limits, SuggestAfterEvents: s.Suggest, MaxStarts: s.Starts, MaxCommit: s.Commit, Chain: s.Chain, TaskQueues: []string{"reports"}}}
	s.ids++
	binary.BigEndian.PutUint64(w.Commit[:], s.ids)
	return w
}

// Code returns the instance, and creates it if there is none.
func (s *Harness) Code() *engine.Instance {
	if s.in == nil {
		s.in = s.Fresh()
	}
	return s.in
}

// Fresh returns another instance, which has run nothing and which the caller closes.
func (s *Harness) Fresh() *engine.Instance {
	return engine.NewInstance(s.code, WorkflowID, history.NewRunID(1, [8]byte{7}))
}

// Step runs a task. It appends the task's commit, if there is one, to the log. Like a store, it
// encodes and decodes it.
func (s *Harness) Step(task engine.Task) *engine.Transition {
	s.t.Helper()
	w := s.Writer()
	transition := s.Run.Step(s.Code(), w, task)
	for len(transition.Locals) > 0 {
		var results []engine.LocalResult
		for _, a := range transition.Locals {
			results = append(results, s.local(a))
		}
		transition = s.Run.Resume(s.Code(), transition, results)
	}
	if transition.Commit == nil {
		s.ids-- // the id was not used
		if !transition.Unchanged {
			s.drop()
		}
		return transition
	}
	if f := transition.Failure; f != nil && s.Plain {
		f.Stack = ""
	}
	body, err := history.Encode(transition.Commit)
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	stored, err := history.Decode(transition.Commit.Slot, body)
	if err == nil {
		s.Bodies = append(s.Bodies, body)
		err = s.Run.Append(stored, len(body))
	}
	if err != nil {
		s.t.Fatalf("slot %d: %v", transition.Commit.Slot, err)
	}
	if transition.Failure != nil || s.Cold {
		s.drop()
	}
	return transition
}

func (s *Harness) local(a *engine.LocalActivity) engine.LocalResult {
	if s.Local == nil {
		return engine.LocalResult{Number: a.Number, Attempt: a.Attempt, Result: a.Input}
	}
	return s.Local(a)
}

// Bring runs a task with these input events.
func (s *Harness) Bring(events ...history.Attributes) *engine.Transition {
	s.t.Helper()
	var task engine.Task
	for _, a := range events {
		task.InputEvents = append(task.InputEvents, history.Of(a))
	}
	return s.Step(task)
}

// Signal sends a signal.
func (s *Harness) Signal(name string, v any) *engine.Transition {
	s.t.Helper()
	return s.Bring(s.Signaled(name, v))
}

// Signaled returns the event of a signal.
func (s *Harness) Signaled(name string, v any) history.Attributes {
	s.t.Helper()
	return &history.WorkflowExecutionSignaled{SignalName: name, Input: s.encode(v)}
}

// Cancel requests the run's cancellation.
func (s *Harness) Cancel(reason string) *engine.Transition {
	s.t.Helper()
	return s.Bring(&history.WorkflowExecutionCancelRequested{Reason: reason})
}

// Complete runs a task with the result of an activity.
func (s *Harness) Complete(event int64, result any) *engine.Transition {
	s.t.Helper()
	return s.Bring(&history.ActivityTaskCompleted{ScheduledEventID: event, Result: s.encode(result), Attempt: 1})
}

// Fail runs a task with the failure of an activity.
func (s *Harness) Fail(event int64, err error) *engine.Transition {
	s.t.Helper()
	return s.Bring(&history.ActivityTaskFailed{ScheduledEventID: event, Failure: failure.FromError(err), Attempt: 1})
}

// Batch adds a batch of items of an attempt at an activity.
func (s *Harness) Batch(a *history.ActivityItemsPublished) {
	s.t.Helper()
	s.keep(s.Run.Batch(s.Writer(), a))
}

// Subscribe adds a subscription to the run's end.
func (s *Harness) Subscribe(a *history.CompletionSubscribed) {
	s.t.Helper()
	s.keep(s.Run.Subscribe(s.Writer(), []history.Event{history.Of(a)}))
}

// keep encodes and decodes a commit without a task, like a store, and appends it to the log.
func (s *Harness) keep(c *history.Commit) {
	s.t.Helper()
	body, err := history.Encode(c)
	if err == nil {
		var stored *history.Commit
		if stored, err = history.Decode(c.Slot, body); err == nil {
			s.Bodies = append(s.Bodies, body)
			err = s.Run.Append(stored, len(body))
		}
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
	if s.Cold {
		s.drop()
	}
}

// Activities returns the pending activities by the ids of their events, the oldest first.
func (s *Harness) Activities() []int64 { return slices.Sorted(maps.Keys(s.Run.State.Activities)) }

// Timers returns the pending timers in the order in which they fire.
func (s *Harness) Timers() []*engine.PendingTimer {
	return slices.SortedFunc(maps.Values(s.Run.State.Timers), func(a, b *engine.PendingTimer) int {
		return cmp.Or(cmp.Compare(a.FireAt, b.FireAt), cmp.Compare(a.EventID, b.EventID))
	})
}

// Advance lets time pass without firing a timer.
func (s *Harness) Advance(d time.Duration) { s.now = s.now.Add(d) }

// Deploy rebuilds the code, as another build.
func (s *Harness) Deploy() {
	s.build++
	s.drop()
}

// Sleep lets time pass, and fires each timer that becomes due, in a task of its own.
func (s *Harness) Sleep(d time.Duration) {
	s.t.Helper()
	for end := s.now.Add(d); ; {
		due := s.Timers()
		if len(due) == 0 || due[0].FireAt > end || s.Run.State.Status.Closed() {
			s.now = end
			return
		}
		s.now = max(s.now, due[0].FireAt)
		if f := s.Bring(&history.TimerFired{StartedEventID: due[0].EventID}).Failure; f != nil {
			s.t.Fatalf("timer %d: %v", due[0].EventID, f.Err())
		}
	}
}

// Update sends an update.
func (s *Harness) Update(id, name string, in any) (engine.UpdateResult, *failure.Failure) {
	s.t.Helper()
	transition := s.Step(engine.Task{Updates: []engine.UpdateRequest{{ID: id, Name: name, Input: s.encode(in)}}})
	return transition.Updates[0], transition.Failure
}

// Query runs a query. As in a process, the code stays in memory, unless it fails or a task runs
// first.
func (s *Harness) Query(name string, in any) (history.Payload, error) {
	s.t.Helper()
	w := s.Writer()
	s.ids-- // the id was not used
	keep := s.Run.State.Pending == history.PendingNone && !s.Cold
	answer, err := s.Run.Query(s.Code(), w, name, s.encode(in))
	var refused *engine.QueryError
	if !keep || err != nil && !errors.As(err, &refused) {
		s.drop()
	}
	return answer, err
}

// Outcome returns the error with which the run ended, and decodes its result into out. It fails
// the test if the run is open.
func (s *Harness) Outcome(out any) error {
	s.t.Helper()
	if !s.Run.State.Status.Closed() {
		s.t.Fatalf("the run has not ended; its task: %v", s.Stuck())
	}
	p, f := s.Run.State.Outcome()
	if f == nil && len(p) > 0 {
		if err := json.Unmarshal(p, out); err != nil {
			s.t.Fatalf("%v", err)
		}
	}
	return f.Err()
}

// Stuck returns the failure of the run's task, or nil if the task does not fail.
func (s *Harness) Stuck() error { return s.Run.State.Stuck().Err() }

// Text lists the events so far.
func (s *Harness) Text() string {
	text := ""
	for _, c := range s.Run.Log {
		text += fmt.Sprintln("slot", c.Slot) + replay.Text(c)
	}
	return text
}

// Replay rebuilds the code from the first n commits and runs the next task again. That has to
// give the same events, byte for byte.
func (s *Harness) Replay(n int) {
	s.t.Helper()
	if err := replay.Again(s.code, WorkflowID, s.Run.Log[:n+1]); err != nil {
		s.t.Fatalf("%v", err)
	}
}

// Events lists the types of the events so far.
func (s *Harness) Events() (types []history.Type) {
	for _, c := range s.Run.Log {
		for _, e := range c.Events() {
			types = append(types, e.Type())
		}
	}
	return types
}
