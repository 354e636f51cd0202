package flow_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/program"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A program that declares Weft's own types, so that its code could start them.
var (
	forgedBatch = workflow.NewWorkflow[stored.State, stored.Description](stored.WorkflowType)
	forgedStep  = activity.New[stored.Step, stored.Stepped](stored.StepType, nil)
	forger      = workflow.NewWorkflow[string, string]("forger")
)

// forged ends every waiter.
var forged = stored.Input{ID: "b", Key: "k", Filter: running, Action: &stored.Action{Kind: stored.Terminate}, MostRuns: 1000}

// runForger starts what its input says.
func runForger(ctx workflow.Context, what string) (string, error) {
	var err error
	switch what {
	case "child":
		_, err = forgedBatch.RunChild(ctx, stored.State{Input: forged}, workflow.ChildOptions{WorkflowID: "c"})
	case "child with the id of a batch":
		_, err = waiter.RunChild(ctx, workflow.None{}, workflow.ChildOptions{WorkflowID: "weft.batch:b"})
	case "activity":
		_, err = forgedStep.Run(ctx, stored.Step{Batch: "b", Key: "k", Filter: forged.Filter, Before: workflow.Now(ctx).AddDate(1, 0, 0), Action: forged.Action, Room: 1000})
	case "next run":
		_, err = forgedBatch.ContinueAsNew(ctx, stored.State{Input: forged})
		return "", err
	}
	if errors.Is(err, workflow.ErrInvalid) {
		return "refused: " + err.Error(), nil
	}
	return "started", err
}

// Workflow code starts nothing of Weft's own: neither as a child nor as an activity, nor does it
// continue as such.
func TestCodeStartsNothingOfWefts(t *testing.T) {
	t.Parallel()
	for what, says := range map[string]string{
		"child":                        `workflow type "weft.batch" is one of Weft's own`,
		"child with the id of a batch": `the workflow id begins with "weft."`,
		"activity":                     `activity type "weft.batch.step" is one of Weft's own`,
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				all := append(registrations(), workflow.Bind(forger, runForger))
				p := d.Start(executor.Options{}, all...)
				defer d.Replay(all...)
				defer p.Stop()
				open(t, p, "w")
				run, err := forger.Start(t.Context(), p.Client, "f", what)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := run.Result(t.Context()); err != nil || !strings.HasPrefix(got, "refused: ") || !strings.Contains(got, says) {
					t.Errorf("%q, %v; want %q", got, err, says)
				}
				if len(d.Runs("c"))+len(d.Runs("weft.batch:b")) > 0 || d.Runs("w")[0].State.Status != history.Running {
					t.Error("it has an effect")
				}
			})
		})
	}
}

// A run whose code continues as a batch is stuck until other code is deployed, and is still what it
// was.
func TestCodeDoesNotBecomeABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, append(registrations(), workflow.Bind(forger, runForger))...)
		open(t, p, "w")
		if _, err := forger.Start(t.Context(), p.Client, "f", "next run"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		about, err := p.Client.Describe(t.Context(), "f", "")
		if err != nil || about.StuckTask == nil || about.StuckTask.Failure.Kind != failure.KindMisuse || !strings.Contains(about.StuckTask.Failure.Message, `workflow type "weft.batch", which is one of Weft's own`) {
			t.Fatalf("%+v, %v", about, err)
		}
		if runs := d.Runs("f"); len(runs) != 1 || runs[0].State.Started.WorkflowType != "forger" || d.Runs("w")[0].State.Status != history.Running {
			t.Errorf("it has %d runs, and an effect", len(runs))
		}
	})
}

// A history in which code has started a batch, or has become one, replays: earlier versions allowed
// that.
func TestOldRunsThatStartedBatches(t *testing.T) {
	t.Parallel()
	code := testbed.Registry(t, append(registrations(), workflow.Bind(forger, runForger))...).Workflow("forger")
	id := history.NewRunID(1, [8]byte{7})
	begins := func(what string, status history.Status, command history.Attributes) *history.Commit {
		started := &history.WorkflowExecutionStarted{WorkflowType: "forger", Input: history.Payload(`"` + what + `"`)}
		return &history.Commit{
			RunID: id, FirstEventID: 1, Status: status, InputEvents: []history.Event{history.Of(started)},
			Task: &history.Task{Attempt: 1, Rules: history.CurrentRules}, Commands: []history.Event{history.Of(command)},
		}
	}
	child := &history.StartChildWorkflowExecutionInitiated{WorkflowType: "weft.batch", WorkflowID: "c", RequestID: string(id) + ":1", Quiet: true}
	step := &history.ActivityTaskScheduled{ActivityType: "weft.batch.step"}
	for what, log := range map[string][]*history.Commit{
		"child":    {begins("child", history.Running, child), ends(id, &history.ChildWorkflowExecutionCompleted{InitiatedEventID: 5, Result: history.Payload("{}")})},
		"activity": {begins("activity", history.Running, step), ends(id, &history.ActivityTaskCompleted{ScheduledEventID: 5, Result: history.Payload("{}")})},
		"next run": {begins("next run", history.ContinuedAsNew, &history.WorkflowExecutionContinuedAsNew{WorkflowType: "weft.batch", NewRunID: history.NewRunID(2, [8]byte{7})})},
	} {
		in := engine.NewInstance(code, "f", id)
		for _, commit := range log {
			if err := in.Replay(commit); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		in.Close()
	}
}

// ends returns the second commit of an old run: an outcome arrives, and its code returns.
func ends(id history.RunID, news history.Attributes) *history.Commit {
	return &history.Commit{
		RunID: id, Slot: 1, FirstEventID: 6, Status: history.Completed, InputEvents: []history.Event{history.Of(news)},
		Task: &history.Task{Attempt: 1, Rules: history.CurrentRules}, Commands: []history.Event{history.Of(&history.WorkflowExecutionCompleted{Result: history.Payload(`"started"`)})},
	}
}

// Nobody can choose the runs that a batch acts on next: a step of it is not completed by hand. It
// can be failed, which ends the batch.
func TestAStepIsNotCompletedByHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, registrations()...)
		open(t, p, "w")
		b := begin(t, p, client.BatchOptions{ID: "b", Filter: "WorkflowId = 'none'", Action: &client.BatchAction{Kind: "terminate"}, AllowUnknown: true})
		about, err := p.Client.Describe(t.Context(), "weft.batch:b", "")
		if err != nil || len(about.PendingActivities) != 1 {
			t.Fatalf("%+v, %v", about, err)
		}
		event, before := about.PendingActivities[0].EventID, d.Snapshot()
		left := history.Payload(`{"left":[{"workflowId":"w","runId":"` + string(d.Runs("w")[0].State.RunID) + `","type":"waiter"}],"counts":{}}`)
		_, err = p.CompleteByHand(t.Context(), "weft.batch:b", string(about.RunID), event, left, "forged")
		if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), `activity type "weft.batch.step" is one of Weft's own`) || d.Snapshot() != before {
			t.Errorf("%v", err)
		}
		if _, err := p.FailByHand(t.Context(), "weft.batch:b", string(about.RunID), event, errors.New("enough"), "it hangs"); err != nil {
			t.Error(err)
		}
		if got := describe(t, b); got.State != "failed" || d.Runs("w")[0].State.Status != history.Running {
			t.Errorf("it is %s", got.State)
		}
	})
}

// A batch whose filter names the type of deliveries neither pauses nor signals them. It may end
// them.
func TestABatchSteersNoDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, registrations()...)
		id := "weft.notify:1-6f1a9ac0be13a5d2:2"
		c, err := p.Service.Service.Process.Parser().StartOwn(&schema.StartRequest{WorkflowID: &id, Type: "weft.notify", Input: []byte(`{"url":"https://a.example","closed":"2026-01-01T00:00:00Z"}`)})
		if err == nil {
			_, err = p.Service.Service.Requests.Start(t.Context(), c)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for _, a := range []client.BatchAction{{Kind: "pause"}, {Kind: "signal", SignalName: "x"}, {Kind: "move"}, {Kind: "cancel"}} {
			got := ended(t, begin(t, p, client.BatchOptions{Filter: "WorkflowType = 'weft.notify'", Action: &a}))
			refused := len(got.Problems) == 1 && strings.Contains(got.Problems[0].Reason, "one of Weft's own")
			if got.Counts.Matched != 1 || refused != (a.Kind != "cancel") || refused != (got.Counts.Refused == 1) {
				t.Errorf("%s: %+v", a.Kind, got)
			}
		}
	})
}

// A program cannot register types with names of Weft's own.
func TestOwnNamesAreNotRegistered(t *testing.T) {
	t.Parallel()
	for want, registration := range map[string]workflow.Registration{
		`workflow type "weft.mine" begins with "weft."`:       workflow.Bind(workflow.NewWorkflow[string, string]("weft.mine"), runForger),
		`workflow type "weft.batch" is registered twice`:      workflow.Bind(forgedBatch, nil),
		`activity type "weft.mine" begins with "weft."`:       activity.New[int, int]("weft.mine", nil),
		`activity type "weft.local" begins with "weft."`:      activity.NewLocal[int, int]("weft.local", nil),
		`activity type "weft.batch.step" is registered twice`: forgedStep,
	} {
		if _, err := program.Registry(registration); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := program.Registry(workflow.Bind(workflow.NewWorkflow[string, string]("weft"), runForger)); err != nil {
		t.Error(err)
	}
}
