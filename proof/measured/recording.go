package measured

import (
	"fmt"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
)

// Recording is the encoded log of a run.
type Recording struct {
	// Events is the number of events in the log.
	Events int64

	code   *engine.Workflow
	bodies [][]byte
}

// Record builds the log of a run of n activities, with together results in each commit.
func Record(typ string, n, together int) (*Recording, error) {
	run := engine.NewRun("bench", 1)
	rec := &Recording{code: Registry().Workflow(typ)}
	in := engine.NewInstance(rec.code, "bench", history.NewRunID(1, [8]byte{1}))
	defer in.Close()
	number := byte(0)
	play := func(inputEvents ...history.Event) error {
		number++
		w := &engine.Writer{Now: history.At(time.Now()), Commit: history.CommitID{number}, RunID: history.NewRunID(1, [8]byte{1}), Build: "bench"}
		t := run.Step(in, w, engine.Task{InputEvents: inputEvents})
		if t.Failure != nil {
			return t.Failure.Err()
		}
		body, err := history.Encode(t.Commit)
		if err != nil {
			return err
		}
		rec.bodies = append(rec.bodies, body)
		return run.Append(t.Commit, len(body))
	}
	if err := play(history.Of(&history.WorkflowExecutionStarted{WorkflowType: typ, Input: history.Payload(fmt.Sprint(n))})); err != nil {
		return nil, err
	}
	for !run.State.Status.Closed() {
		var results []history.Event
		for id := range run.State.Activities {
			if len(results) < together {
				results = append(results, history.Of(&history.ActivityTaskCompleted{ScheduledEventID: id, Result: history.Payload("1"), Attempt: 1}))
			}
		}
		if err := play(results...); err != nil {
			return nil, err
		}
	}
	rec.Events = run.State.NextEventID - 1
	return rec, nil
}

// Decode decodes the log.
func (r *Recording) Decode() ([]*history.Commit, error) {
	commits := make([]*history.Commit, len(r.bodies))
	var decoder history.Decoder
	for i, body := range r.bodies {
		c, err := decoder.Decode(uint32(i), body)
		if err != nil {
			return nil, err
		}
		commits[i] = c
	}
	return commits, nil
}

// Replay rebuilds the code of the run from its commits.
func (r *Recording) Replay(commits []*history.Commit) error {
	in := engine.NewInstance(r.code, "bench", history.NewRunID(1, [8]byte{1}))
	defer in.Close()
	for _, c := range commits {
		if err := in.Replay(c); err != nil {
			return err
		}
	}
	return nil
}
