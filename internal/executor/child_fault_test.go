package executor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// runChildren uses children in every way that sends messages, and leaves one child to its close
// policy.
func runChildren(ctx workflow.Context, _ string) (string, error) {
	left := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "left"})
	asked := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "asked"})
	told := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "told"})
	again, err := kid.RunChild(ctx, "again", workflow.ChildOptions{WorkflowID: "again"})
	if err != nil {
		return "", err
	}
	if _, err := kid.RunChild(ctx, "fail", workflow.ChildOptions{WorkflowID: "fails"}); !errors.Is(err, errSour) {
		return "", err
	}
	if _, err := kidGo.SendTo(ctx, told, "this").Get(ctx); err != nil {
		return "", err
	}
	if _, err := asked.Cancel(ctx, "enough").Get(ctx); err != nil {
		return "", err
	}
	if _, err := asked.Get(ctx); !errors.Is(err, workflow.ErrCanceled) {
		return "", err
	}
	heard, err := told.Get(ctx)
	if err != nil {
		return "", err
	}
	_, err = left.Started(ctx)
	return again + ", " + heard, err
}

// playChildren plays runChildren with one failing write, and returns how every workflow ended.
func playChildren(t *testing.T, number int, f fault) (seen []string, count int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		ports := &faulty{Ports: d.Ports, number: number, fault: f}
		d.Ports = executor.Ports{Log: ports, Attempts: ports, Timers: ports, Lister: d.Store, Queue: ports}
		registrations := []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, runChildren)}
		p := d.Start(executor.Options{}, registrations...)
		run, err := parent.Start(context.Background(), p.Client, "p", "", workflow.StartOptions{RequestID: "start"})
		if err != nil {
			t.Errorf("start: %v", err)
		}
		result, err := run.Result(context.Background())
		seen = append(seen, fmt.Sprint(result, err))
		time.Sleep(5 * time.Minute)
		for _, id := range []string{"left", "asked", "told", "again", "fails"} {
			what, err := p.Client.Describe(context.Background(), id, "")
			if err != nil {
				t.Fatalf("%s: %v", id, err)
			}
			seen = append(seen, fmt.Sprint(id, " ", what.Status, " in run ", what.RunID.Number()))
		}
		p.Stop()
		count = ports.written()
		d.Replay(registrations...)
		types, err := d.Idle(executor.Options{}, registrations...).History(context.Background(), "p")
		if err != nil {
			t.Fatal(err)
		}
		for _, typ := range []history.Type{history.TypeChildWorkflowExecutionStarted, history.TypeChildWorkflowExecutionCompleted, history.TypeExternalWorkflowExecutionSignaled} {
			seen = append(seen, fmt.Sprint(testbed.Count(types, typ), " ", typ))
		}
		if t.Failed() {
			t.Logf("write %d failed (%v): %s", number, f, ports.hit)
		}
	})
	return seen, count
}

// Each write of a parent and its children fails in three ways. Each child is still started once,
// and all end as they do without a failure.
func TestEveryWriteOfChildrenFails(t *testing.T) {
	want, count := playChildren(t, 0, refused)
	if count < 30 || want[1] != "left terminated in run 1" || want[4] != "again completed in run 2" {
		t.Fatalf("without a fault %d writes end with %q", count, want)
	}
	t.Logf("the scenario makes %d writes: %q", count, want)
	for number := 1; number <= count; number++ {
		for _, f := range faults(number) {
			if got, _ := playChildren(t, number, f); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("with write %d failing (%v) the workflows ended with\n%q\nwant\n%q", number, f, got, want)
			}
		}
	}
}
