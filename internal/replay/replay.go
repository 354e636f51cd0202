// Package replay rebuilds runs from their logs alone, and reports if their code differs from the
// log.
package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Rebuild replays the commits of a run in a new instance, as an engine does. The instance compares
// the code's commands with the recorded ones. It stops at the last commit, or where the code
// differs, which the error says.
func Rebuild(in *engine.Instance, commits []*history.Commit) error {
	return each(in, commits, (*engine.Instance).Replay)
}

// Cold is Rebuild with an instance of its own.
func Cold(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	return check(code, workflowID, commits, (*engine.Instance).Replay)
}

// Twice runs each task of a run again as if it were new. It fails unless that produces the same
// events, byte for byte.
func Twice(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	return check(code, workflowID, commits, again)
}

// step passes a commit to an instance.
type step func(*engine.Instance, *history.Commit) error

// check passes the commits of a run to an instance of its own.
func check(code *engine.Workflow, workflowID string, commits []*history.Commit, replay step) error {
	if len(commits) == 0 {
		return nil
	}
	in := engine.NewInstance(code, workflowID, commits[0].RunID)
	defer in.Close()
	return each(in, commits, replay)
}

// each passes commits to an instance, one by one, until one fails.
func each(in *engine.Instance, commits []*history.Commit, replay step) error {
	for _, c := range commits {
		if err := replay(in, c); err != nil {
			return fmt.Errorf("run %s, batch %d: %w", c.RunID, c.Slot, err)
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
		FirstEventID: c.FirstEventID, Time: c.Time, InputEvents: c.InputEvents, Updates: accepted(c), Recorded: append([]history.Event{}, c.Commands...), Rules: c.Task.Rules,
		HistoryBytes: c.Task.HistoryBytes, SuggestContinueAsNew: c.Task.SuggestContinueAsNew, NextRunID: c.NextRun(),
	})
	if err != nil {
		return err
	}
	made := *c
	made.Commands, made.Status = result.Commands, result.Status
	chained(made.Commands, c.Commands)
	follows(&made, c.NextRun())
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

// Again rebuilds a run from all commits but the last, as an engine does, and runs the task of the
// last one again as if it were new. It fails unless that produces the same events, byte for byte.
func Again(code *engine.Workflow, workflowID string, commits []*history.Commit) error {
	last := len(commits) - 1
	return check(code, workflowID, commits, func(in *engine.Instance, c *history.Commit) error {
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

// follows sets the next run in the event that closes a commit's run, because the code does not know
// that run.
func follows(c *history.Commit, next history.RunID) {
	if len(c.Commands) == 0 {
		return
	}
	history.SetNext(c.Commands[len(c.Commands)-1].Attributes, next)
}

// chained copies from the recorded activities what the settings of a deployment decide.
func chained(made, recorded []history.Event) {
	for i := range min(len(made), len(recorded)) {
		a, ok := made[i].Attributes.(*history.ActivityTaskScheduled)
		if b, same := recorded[i].Attributes.(*history.ActivityTaskScheduled); ok && same {
			a.Inline = b.Inline
		}
	}
}

// accepted returns the updates that the task of a commit accepted.
func accepted(c *history.Commit) (requests []engine.UpdateRequest) {
	for _, e := range c.Commands {
		if a, ok := e.Attributes.(*history.WorkflowExecutionUpdateAccepted); ok {
			requests = append(requests, engine.UpdateRequest{ID: a.UpdateID, Name: a.UpdateName, Input: a.Input})
		}
	}
	return requests
}
