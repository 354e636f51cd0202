package engine_test

import (
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// After each prefix of a log, the streak is what the prefix says: its tasks that failed after the
// last one that did not. A run with a streak either has a task to be retried, or has refused
// updates.
func TestStreak(t *testing.T) {
	t.Parallel()
	stuck, refuses := false, false
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlay(t)
		p.program.Handlers = append([][]op{{{Do: "crash"}}}, p.program.Handlers...)
		log := p.on(t).Run.Log
		run := engine.NewRun("streak", 1)
		for i, c := range log {
			if err := run.Append(c, 0); err != nil {
				t.Fatal(err)
			}
			want := streakOf(log[:i+1])
			if got := run.State.Streak; !reflect.DeepEqual(got, want) {
				t.Fatalf("after slot %d: %+v, want %+v", i, got, want)
			}
			if retried, refused := run.State.Stuck() != nil, run.State.Refused() != nil; retried && refused || (run.State.Streak != nil) != (retried || refused) {
				t.Fatalf("after slot %d: %+v; its task is retried: %v, and it refuses updates: %v", i, run.State.Streak, retried, refused)
			}
			stuck = stuck || want != nil && want.Commits > 1
			refuses = refuses || run.State.Refused() != nil
		}
	})
	if (!stuck || !refuses) && !testing.Short() { // the short form plays a fifth of the runs, which may have none
		t.Errorf("a run was stuck for more than one task: %v; a run refused an update: %v; the test tests nothing", stuck, refuses)
	}
}

// streakOf looks for the streak from the end of a log.
func streakOf(log []*history.Commit) (s *engine.Streak) {
	commits := 0
	for i := len(log) - 1; i >= 0; i-- {
		switch c := log[i]; {
		case c.Status.Closed(), c.Pending == history.PendingTask, c.Pending == history.PendingPaused, c.Task != nil && !c.Failed():
			return s
		case c.Failed():
			commits++
			s = &engine.Streak{Since: c.Time, First: c.Task.Failure, FirstEvent: c.TaskScheduledID(), Commits: commits}
		}
	}
	return s
}

// refusing is a run whose code panics while broken is set: the handler of the update set with its
// input, and the workflow's function when it gets a signal. A validator refuses an empty input.
// While other is set, the code does not do what the run's history says.
type refusing struct {
	*enginetest.Harness
	t             *testing.T
	broken, other bool
}

var setUpdate = workflow.NewUpdate[string, string]("set")

// openRefusing returns such a run, which has not started.
func openRefusing(t *testing.T) *refusing {
	t.Helper()
	r := &refusing{t: t, broken: true}
	r.Harness = enginetest.Open(t, r.code)
	t.Cleanup(func() { r.broken = false }) // the harness then replays the run
	return r
}

func (r *refusing) code(ctx workflow.Context, _ int) (string, error) {
	setUpdate.Handle(ctx, r.set, workflow.Validate(func(how string) error {
		if how == "" {
			return workflow.NewError("Empty", "say how")
		}
		return nil
	}))
	if r.other {
		return "", workflow.Sleep(ctx, time.Hour)
	}
	sheet, err := paper.Receive(ctx)
	if r.broken {
		panic(sheet)
	}
	return sheet, err
}

func (r *refusing) set(_ workflow.Context, how string) (string, error) {
	if r.broken {
		panic(how)
	}
	return how, nil
}

// next runs a task, and demands what it writes: how many commits, and how many rows of the list.
func (r *refusing) next(what string, task engine.Task, commits, rows int64) *engine.Transition {
	r.t.Helper()
	before, slot := r.Run.State.Counts.Rows, r.Run.State.NextSlot
	transition := r.Step(task)
	if got := int64(r.Run.State.NextSlot - slot); got != commits {
		r.t.Fatalf("%s writes %d commits, want %d", what, got, commits)
	}
	if got := r.Run.State.Counts.Rows - before; got != rows {
		r.t.Fatalf("%s writes %d rows, want %d", what, got, rows)
	}
	return transition
}

func sets(how ...string) (task engine.Task) {
	for _, input := range how {
		task.Updates = append(task.Updates, engine.UpdateRequest{ID: input + "-id", Name: "set", Input: history.Payload(`"` + input + `"`)})
	}
	return task
}

// A run that refuses an update because its code fails is stuck, with the first failure, until a
// task succeeds. The commit of the failure says so. A repetition, a group that fails together, and
// a refusal by a validator write nothing.
func TestRefusedUpdateMakesARunStuck(t *testing.T) {
	t.Parallel()
	r := openRefusing(t)
	r.Start(0)
	s := r.Run.State
	wantStuck := func(commits int) {
		t.Helper()
		f, why := s.Facts().Stuck, s.Refused()
		if f == nil || f.FailureType != "panic" || f.Since != s.Streak.Since || s.Streak.First.Message != "one" || s.Streak.Commits != commits || why == nil || s.Stuck() != nil || s.Pending != history.PendingNone {
			t.Fatalf("%+v of %+v; refused: %v; retried: %v", f, s.Streak, why, s.Stuck())
		}
	}
	r.next("a refusal by the validator", sets(""), 0, 0)
	r.next("a group that fails", sets("one", "two"), 0, 0)
	if s.Streak != nil || s.Refused() != nil {
		t.Fatalf("%+v before an update was refused because of the code", s.Streak)
	}
	if f := r.next("a panic", sets("one"), 1, 1).Failure; f == nil || f.Message != "one" {
		t.Fatal(f)
	}
	wantStuck(1)
	r.next("the same panic", sets("one"), 0, 0)
	r.next("a refusal by the validator of a stuck run", sets(""), 0, 0)
	r.Advance(1)
	r.next("another panic", sets("two"), 1, 0)
	wantStuck(2)
	if s.Refused().Message != "two" {
		t.Errorf("the last failure is %v", s.Refused())
	}
	fence := r.Run.Fence(r.Writer())
	if r.Run.Listed(fence) {
		t.Error("a fence has a row")
	}
	keep(t, r.Harness, fence)
	wantStuck(2)
	r.broken = false
	r.next("an update that works", sets("three"), 1, 1)
	if s.Streak != nil || s.Refused() != nil || s.Facts().Stuck != nil {
		t.Errorf("%+v after a task that succeeded", s.Streak)
	}
}

// An update that the code refuses, and then a signal at which it fails: one streak, whose task is
// retried from then on.
func TestRefusedUpdateAndThenATaskThatFails(t *testing.T) {
	t.Parallel()
	r := openRefusing(t)
	r.Start(0)
	r.next("a panic", sets("one"), 1, 1)
	first := *r.Run.State.Streak
	r.next("a signal", engine.Task{InputEvents: []history.Event{history.Of(r.Signaled("paper", "two"))}}, 1, 0)
	s := r.Run.State
	if s.Stuck() == nil || s.Refused() != nil || s.Streak.Since != first.Since || s.Streak.FirstEvent != first.FirstEvent || s.Streak.Commits != 2 {
		t.Fatalf("%+v, and was %+v; retried: %v", s.Streak, first, s.Stuck())
	}
}

// A task that is to confirm ends the streak of a run that has refused updates, if the code works:
// with a commit that has only the task. If the code fails, nothing is written.
func TestConfirm(t *testing.T) {
	t.Parallel()
	r := openRefusing(t)
	r.Start(0)
	r.next("a panic", sets("one"), 1, 1)
	r.other = true
	if f := r.next("a task that confirms and fails", engine.Task{Confirm: true}, 0, 0).Failure; f == nil || f.Kind != failure.KindNonDeterminism {
		t.Fatal(f)
	}
	r.other, r.broken = false, false
	c := r.next("a task that confirms", engine.Task{Confirm: true}, 1, 1).Commit
	if len(c.InputEvents)+len(c.Commands) > 0 || c.Task.Kind != history.Speculative || c.Failed() || c.Pending != history.PendingNone {
		t.Fatalf("%+v", c)
	}
	if r.Run.State.Streak != nil {
		t.Fatalf("%+v after a task that confirms", r.Run.State.Streak)
	}
	r.next("an update that works", sets("two"), 1, 0)
}

// A run that waits for its start delay, and whose code refuses an update, is stuck until its first
// task. What arrives meanwhile changes nothing in that, and no task confirms that the code works:
// that would be the first one.
func TestDelayedRunRefusesUpdate(t *testing.T) {
	t.Parallel()
	r := openRefusing(t)
	started := &history.WorkflowExecutionStarted{WorkflowType: enginetest.Type, Input: history.Payload("0"), StartDelay: history.Duration(time.Hour)}
	keep(t, r.Harness, r.Run.Hold(r.Writer(), []history.Event{history.Of(started)}))
	r.next("a panic", sets("one"), 1, 1)
	s := r.Run.State
	messages := r.Run.Messages(r.Run.Log[1])
	if s.Facts().Stuck == nil || s.Refused() == nil || s.Pending != history.PendingStart || len(messages) > 0 {
		t.Fatalf("%+v; pending: %v; messages: %+v", s.Streak, s.Pending, messages)
	}
	signal := r.Run.Hold(r.Writer(), []history.Event{history.Of(r.Signaled("paper", "two"))})
	if r.Run.Listed(signal) {
		t.Error("a signal has a row")
	}
	keep(t, r.Harness, signal)
	r.broken = false
	r.next("a task that confirms", engine.Task{Confirm: true}, 0, 0)
	if s.Streak == nil {
		t.Error("the run is not stuck before its first task")
	}
	r.next("the first task", engine.Task{First: true}, 1, 1)
	if s.Status != history.Completed || s.Facts().Stuck != nil {
		t.Errorf("%s, %+v", s.Status, s.Facts().Stuck)
	}
}
