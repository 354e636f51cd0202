package turntest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// One starts a deployment of one process. When the test ends, every run is replayed from its log alone: see Replay.
func One(t testing.TB, registrations ...workflow.Registration) *Process {
	t.Helper()
	d := New(t)
	t.Cleanup(func() { d.Replay(registrations...) }) // when the process has stopped: what is put off last runs first
	return d.Start(turn.Options{}, registrations...)
}

// Replay rebuilds every run of the deployment from its log alone: see ReplayRun.
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

// ReplayRun rebuilds a run from its log alone, twice: as an engine does, which holds the code's commands against the
// recorded ones; and by running each task again as if it were new, which must make the same events, byte for byte. The
// test fails where the code does not do what the log says.
func ReplayRun(t Reporter, code *engine.Workflow, workflowID string, commits []*history.Commit) {
	t.Helper()
	for _, replay := range []func(*engine.Instance, *history.Commit) error{(*engine.Instance).Replay, again} {
		if err := inReplay(code, workflowID, commits, replay); err != nil {
			t.Errorf("replay of workflow %s: %v", workflowID, err)
		}
	}
}

// inReplay hands the commits of a run to an instance of its own, one by one.
func inReplay(code *engine.Workflow, workflowID string, commits []*history.Commit, replay func(*engine.Instance, *history.Commit) error) error {
	if len(commits) == 0 {
		return nil
	}
	in := engine.NewInstance(code, workflowID, commits[0].RunID)
	defer in.Close()
	for _, c := range commits {
		if err := replay(in, c); err != nil {
			return fmt.Errorf("run %s, slot %d: %w", c.RunID, c.Slot, err)
		}
	}
	return nil
}

// again runs the task of a commit as if it were new.
func again(in *engine.Instance, c *history.Commit) error {
	if c.Task == nil || c.Failed() {
		return in.Replay(c)
	}
	result, err := in.Activate(&engine.Activation{
		FirstEventID: c.FirstEventID, Time: c.Time, Brought: c.Brought, Updates: accepted(c), Recorded: append([]history.Event{}, c.Commands...),
		HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew, NextRunID: next(c),
	})
	if err != nil {
		return err
	}
	made := *c
	made.Commands, made.Status = result.Commands, result.Status
	want, err := history.Encode(c)
	if err != nil {
		return err
	}
	got, err := history.Encode(&made)
	if err == nil && !bytes.Equal(want, got) {
		err = fmt.Errorf("run again, the code makes\n%sand the log has\n%s", Text(&made), Text(c))
	}
	return err
}

// Again rebuilds a run from all commits but the last, as an engine does, and runs the task of the last one again as if it
// were new. It returns an error where that does not make the same events, byte for byte.
func Again(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	last := len(commits) - 1
	return inReplay(code, workflowID, commits, func(in *engine.Instance, c *history.Commit) error {
		if int(c.Slot) < last {
			return in.Replay(c)
		}
		return again(in, c)
	})
}

// Text lists the events of a commit.
func Text(c *history.Commit) string {
	var b strings.Builder
	for _, e := range c.Events() {
		attributes, err := json.Marshal(e.Attributes)
		fmt.Fprintln(&b, " ", e.ID, e.Type(), string(attributes), err)
	}
	return b.String()
}

// next is the run that continues the one that a commit closes; empty where none does.
func next(c *history.Commit) history.RunID {
	for _, e := range c.Commands {
		if continued, ok := e.Attributes.(*history.WorkflowExecutionContinuedAsNew); ok {
			return continued.NewRunID
		}
	}
	return ""
}

// accepted are the updates that the task of a commit accepted.
func accepted(c *history.Commit) (requests []engine.UpdateRequest) {
	for _, e := range c.Commands {
		if a, ok := e.Attributes.(*history.WorkflowExecutionUpdateAccepted); ok {
			requests = append(requests, engine.UpdateRequest{ID: a.UpdateID, Name: a.UpdateName, Input: a.Input})
		}
	}
	return requests
}

// Commits returns the log of a run, checked as a reader checks it: without gaps in its slots and in the ids of its events.
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

// History lists the types of the events of a workflow's latest run, in order.
func (p *Process) History(ctx context.Context, workflowID string) (types []history.Type, err error) {
	for from := int64(1); ; {
		events, _, more, err := p.Service.History(ctx, workflowID, "", from)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			types = append(types, e.Type)
			from = e.ID + 1
		}
		if !more {
			return types, nil
		}
	}
}

// Count is how many of the events are of a type.
func Count(events []history.Type, of history.Type) (n int) {
	for _, typ := range events {
		if typ == of {
			n++
		}
	}
	return n
}
