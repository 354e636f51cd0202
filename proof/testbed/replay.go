package testbed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/replay"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// One starts a deployment with one process. When the test ends, it replays every run from its log:
// see Replay.
func One(t testing.TB, registrations ...workflow.Registration) *Process {
	t.Helper()
	d := New(t)
	t.Cleanup(func() { d.Replay(registrations...) }) // cleanups run in reverse order, so this runs after the process has stopped
	return d.Start(executor.Options{}, registrations...)
}

// Replay rebuilds every run of the deployment from its log: see ReplayRun.
func (d *Deployment) Replay(registrations ...workflow.Registration) {
	d.t.Helper()
	registry := Registry(d.t, registrations...)
	for token := ""; ; {
		page, next, err := d.kept.ListRuns(context.Background(), store.Filter{}, token, 100)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, run := range page {
			ReplayRun(d.t, registry.Workflow(run.Type), run.Workflow, d.Commits(run.Workflow, run.Run))
		}
		if token = next; token == "" {
			return
		}
	}
}

// Reporter is the part of testing.TB that ReplayRun needs.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
}

// ReplayRun rebuilds a run from its log in three ways. The test fails if the code differs from the
// log.
//
//   - As an engine does, which compares the code's commands with the recorded ones.
//   - By running each task again as if it were new. It has to give the same events, byte for byte.
//   - From its events as JSON, which is the form of a history in a file.
func ReplayRun(t Reporter, code *engine.Workflow, workflowID string, commits []*history.Commit) {
	t.Helper()
	for _, err := range []error{
		replay.Cold(code, workflowID, commits), replay.Twice(code, workflowID, commits), exported(code, workflowID, commits),
	} {
		if err != nil {
			t.Errorf("replay of workflow %s: %v", workflowID, err)
		}
	}
}

// exported replays a run from its history as JSON. It has to give the same events, with the same
// times, in the same batches.
func exported(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	if len(commits) == 0 {
		return nil
	}
	events, _ := schema.Events(commits, 1, math.MaxInt, math.MaxInt)
	file, err := json.Marshal(schema.HistoryResponse{WorkflowID: workflowID, RunID: commits[0].RunID, Events: events})
	if err != nil {
		return err
	}
	read, rest, err := schema.ReadHistory(file)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%q follows the history in its own file", rest)
	}
	run, err := replay.FromEvents(read.WorkflowID, read.RunID, read.Events)
	if err != nil {
		return err
	}
	again, _ := schema.Events(run.Log, 1, math.MaxInt, math.MaxInt)
	if run.State.RunID != commits[0].RunID || !slices.EqualFunc(again, events, haveSameText) {
		second, failed := json.Marshal(schema.HistoryResponse{WorkflowID: workflowID, RunID: run.State.RunID, Events: again})
		err = errors.Join(failed, fmt.Errorf("the history is\n%s\nand the replayed one is\n%s", file, second))
	}
	return errors.Join(err, replay.Cold(code, workflowID, run.Log))
}

// haveSameText reports whether two events are the same as JSON. Equal events are, and most events
// are equal, so few are encoded again.
func haveSameText(a, b schema.HistoryEvent) bool {
	if reflect.DeepEqual(a, b) {
		return true
	}
	first, err1 := json.Marshal(a)
	second, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(first, second)
}

// Commits returns the log of a run. It fails the test if there is a gap in its slots or in the ids
// of its events.
func (d *Deployment) Commits(workflowID string, number uint32) []*history.Commit {
	d.t.Helper()
	run := engine.NewRun(workflowID, number)
	for _, item := range d.items(workflowID) {
		if item.Run != number {
			continue
		}
		c, err := history.Decode(item.Slot, item.Body)
		if err == nil {
			err = run.Append(c, len(item.Body))
		}
		if err != nil {
			d.t.Fatalf("workflow %s, run %d, slot %d: %v", workflowID, number, item.Slot, err)
		}
	}
	return run.Log
}

// History returns the types of the events of a workflow's latest run, in order.
func (p *Process) History(ctx context.Context, workflowID string) (types []history.Type, err error) {
	run := history.RunID("")
	for from := int64(1); ; {
		events, id, more, err := p.Service.History(ctx, workflowID, run, from)
		if err != nil {
			return nil, err
		}
		run = id
		for _, e := range events {
			types = append(types, e.Type)
			from = e.ID + 1
		}
		if !more {
			return types, nil
		}
	}
}

// Count returns the number of events of a type.
func Count(events []history.Type, of history.Type) (n int) {
	for _, typ := range events {
		if typ == of {
			n++
		}
	}
	return n
}
