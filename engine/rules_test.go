package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/proof/enginetest"
	"github.com/seed-41655fb1/weft/workflow"
)

// endedBy returns a log of the collector. A signal makes its coroutine start an activity in the
// same task in which its function continues as new. Versions before StopAtReturn recorded that
// activity after the return.
func endedBy(rules history.Rules, after ...history.Event) []*history.Commit {
	started := history.Of(&history.WorkflowExecutionStarted{WorkflowType: "collector", Input: history.Payload("[]")})
	fireAt := history.At(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
	end := history.Of(&history.WorkflowExecutionContinuedAsNew{NewRunID: history.NewRunID(2, [8]byte{7}), WorkflowType: "collector", Input: history.Payload(`["lap"]`)})
	return []*history.Commit{
		{
			RunID: history.NewRunID(1, [8]byte{7}), FirstEventID: 1, Time: fireAt.Add(-time.Hour), InputEvents: []history.Event{started},
			Task: &history.Task{Attempt: 1, Rules: rules}, Commands: []history.Event{history.Of(&history.TimerStarted{FireAt: fireAt})},
		},
		{
			RunID: history.NewRunID(1, [8]byte{7}), Slot: 1, FirstEventID: 6, Time: fireAt, Status: history.ContinuedAsNew,
			InputEvents: []history.Event{
				history.Of(&history.TimerFired{StartedEventID: 5}),
				history.Of(&history.WorkflowExecutionSignaled{SignalName: "poke", Input: history.Payload(`"work"`)}),
			},
			Task: &history.Task{Attempt: 1, Rules: rules}, Commands: append(after, end),
		},
	}
}

// A history replays by the rules with which it was written.
func TestReplayByTheRulesOfTheHistory(t *testing.T) {
	t.Parallel()
	work := history.Of(&history.ActivityTaskScheduled{ActivityType: "Process", Input: history.Payload(`"work"`)})
	for name, c := range map[string]struct {
		commits []*history.Commit
		want    string
	}{
		"first rules, what ran after the return is there":    {endedBy(history.FirstRules, work), ""},
		"first rules, what ran after the return is missing":  {endedBy(history.FirstRules), "the code now issues ActivityTaskScheduled(Process)"},
		"current rules, nothing ran after the return":        {endedBy(history.CurrentRules), ""},
		"current rules, something ran after the return then": {endedBy(history.CurrentRules, work), "the code now issues WorkflowExecutionContinuedAsNew"},
	} {
		in := engine.NewInstance(scriptRegistry("build-1").Workflow("collector"), "w", c.commits[0].RunID)
		var err error
		for _, commit := range c.commits {
			if err == nil {
				err = in.Replay(commit)
			}
		}
		in.Close()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An update that the code has not reached when the workflow's function returns gets no answer,
// because the run closed before the update was accepted.
func TestUpdateAfterTheReturn(t *testing.T) {
	t.Parallel()
	first, second := workflow.NewUpdate[workflow.None, string]("first"), workflow.NewUpdate[workflow.None, string]("second")
	s := enginetest.Open(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
		first.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) {
			second.Handle(ctx, func(workflow.Context, workflow.None) (string, error) { return "two", nil })
			return "one", nil
		})
		return "over", nil
	})
	transition := s.Step(engine.Task{
		InputEvents: []history.Event{history.Of(&history.WorkflowExecutionStarted{WorkflowType: enginetest.Type, Input: history.Payload("null")})},
		Updates:     []engine.UpdateRequest{{ID: "u1", Name: "first", Input: history.Payload("null")}, {ID: "u2", Name: "second", Input: history.Payload("null")}, {ID: "u3", Name: "third"}},
	})
	if transition.Failure != nil || !transition.Commit.Status.Closed() {
		t.Fatalf("%+v", transition)
	}
	if transition.ClosedBefore(0) || !transition.ClosedBefore(1) || transition.ClosedBefore(2) {
		t.Errorf("the verdicts are %v", transition.Updates)
	}
	if transition.Updates[2].Verdict != engine.Rejected {
		t.Errorf("an update without a handler is %v", transition.Updates[2])
	}
	if result, f, done := s.Run.State.UpdateOutcome(s.Run.State.Updates["u1"]); !done || result != nil || f.Type != failure.FromError(failure.ErrRunClosed).Type {
		t.Errorf("the first update, whose handler had not returned, has the outcome %s, %v", result, f)
	}
}

// Deferred functions of unwound code can neither take a signal from the next run nor issue a
// command.
func TestUnwoundCodeHasNoEffect(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
		workflow.Go(ctx, func(ctx workflow.Context) {
			defer func() {
				_, _, _ = Poke.TryReceive(ctx)
				Process.Start(ctx, "too late")
			}()
			_ = workflow.Sleep(ctx, time.Hour)
		})
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return "", err
		}
		return workflow.NewWorkflow[workflow.None, string]("next").ContinueAsNew(ctx, workflow.None{})
	}, workflow.None{})
	s.Advance(time.Minute)
	transition := s.Bring(&history.TimerFired{StartedEventID: 5}, s.Signaled("poke", "x"))
	if transition.Failure != nil {
		t.Fatal(transition.Failure.Err())
	}
	if n := len(transition.Next); n != 2 {
		t.Errorf("the next run begins with %d events, want its start and the signal", n)
	}
	if n := len(transition.Commit.Commands); n != 1 {
		t.Errorf("%d commands close the run", n)
	}
}

// A run that was asked to end stays open until its accepted updates have their outcomes, however
// many tasks that takes.
func TestUpdatesOfAFullTaskHaveAnOutcome(t *testing.T) {
	t.Parallel()
	slow := workflow.NewUpdate[workflow.None, string]("slow")
	s := enginetest.Open(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
		slow.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (string, error) { return "", workflow.Sleep(ctx, time.Hour) })
		return "", workflow.Sleep(ctx, 2*time.Hour)
	})
	s.Start(workflow.None{})
	ids := []string{"u1", "u2", "u3"}
	for _, id := range ids {
		s.Update(id, "slow", workflow.None{})
	}
	s.Starts = 1
	s.Cancel("enough")
	for range ids[1:] {
		if s.Run.State.Status.Closed() || len(s.Timers()) != 1 {
			t.Fatalf("the run is %v, and waits for %d timers, while updates have no outcome:\n%s", s.Run.State.Status, len(s.Timers()), s.Text())
		}
		s.Sleep(time.Millisecond)
	}
	if s.Run.State.Status != history.Canceled {
		t.Errorf("the run is %v:\n%s", s.Run.State.Status, s.Text())
	}
	for _, id := range ids {
		if u := s.Run.State.Updates[id]; u.Completed == nil || u.Completed.Failure.Kind != failure.KindCanceled {
			t.Errorf("the outcome of update %s is %+v", id, u.Completed)
		}
	}
}

// A run that continues as new does not wait, because its code would take signals that belong to the
// next run.
func TestContinuingAsNewDoesNotWaitForAFullTask(t *testing.T) {
	t.Parallel()
	s := enginetest.New(t, func(ctx workflow.Context, _ workflow.None) (string, error) {
		ready := 0
		for range 2 {
			workflow.Go(ctx, func(ctx workflow.Context) {
				_ = workflow.Sleep(ctx, time.Hour)
				ready++
				_ = workflow.Sleep(workflow.Disconnected(ctx), time.Minute)
			})
		}
		if err := workflow.Await(workflow.Disconnected(ctx), func() bool { return ready == 2 }); err != nil {
			return "", err
		}
		return workflow.NewWorkflow[workflow.None, string]("next").ContinueAsNew(ctx, workflow.None{})
	}, workflow.None{})
	s.Starts = 1
	s.Cancel("go on")
	if s.Run.State.Status != history.ContinuedAsNew {
		t.Errorf("the run is %v:\n%s", s.Run.State.Status, s.Text())
	}
}
