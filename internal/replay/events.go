package replay

import (
	"errors"
	"fmt"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// ErrHistory is wrapped by the error of FromEvents if the events are not a history.
var ErrHistory = errors.New("this is not the history of a run")

func wrong(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrHistory, fmt.Sprintf(format, args...))
}

// FromEvents rebuilds the log of a run from its events in the form of the HTTP API, with a commit
// for each batch. The log lacks fences, which have no events, and what only writers need: ids,
// causation ids and expiry. Replayed code sees none of these.
func FromEvents(workflowID string, runID history.RunID, events []schema.HistoryEvent) (*engine.Run, error) {
	if runID.Number() == 0 {
		return nil, wrong("its runId is %q", runID)
	}
	run := engine.NewRun(workflowID, runID.Number())
	for from := 0; from < len(events); {
		if batch := events[from].Batch; batch != len(run.Log) {
			return nil, wrong("event %d has batch %d, and the one before it %d", events[from].ID, batch, len(run.Log)-1)
		}
		to := from
		for to < len(events) && events[to].Batch == events[from].Batch {
			if events[to].ID != int64(to)+1 {
				return nil, wrong("event %d follows event %d: give all events, from all pages", events[to].ID, to)
			}
			to++
		}
		c, err := commit(events[from:to])
		if err != nil {
			return nil, err
		}
		c.RunID, c.Slot = runID, uint32(len(run.Log))
		if err := run.Append(c, 0); err != nil {
			return nil, wrong("batch %d: %v", events[from].Batch, err)
		}
		from = to
	}
	if run.State.Started == nil {
		return nil, wrong("it does not begin with WorkflowExecutionStarted")
	}
	return run, nil
}

// commit returns the commit with the events of a batch: the input of its task, the task, and the
// commands of its code.
func commit(events []schema.HistoryEvent) (*history.Commit, error) {
	c := &history.Commit{FirstEventID: events[0].ID, Time: history.At(events[0].Time)}
	for i := 0; i < len(events); i++ {
		e := events[i]
		if e.Attributes == nil {
			return nil, wrong("event %d has no attributes", e.ID)
		}
		switch {
		case e.Type == history.TypeWorkflowTaskScheduled && c.Task == nil:
			task, err := task(events[i:])
			if err != nil {
				return nil, err
			}
			c.Task = task
			i += 2
		case isTaskStep(e.Attributes):
			return nil, wrong("event %d is a %s that does not belong there", e.ID, e.Type)
		case c.Task == nil && !byCode(e.Attributes):
			c.InputEvents = append(c.InputEvents, history.Of(e.Attributes))
		default:
			c.Commands = append(c.Commands, history.Of(e.Attributes))
		}
		if closed := history.EndOf(e.Attributes).Status; closed != history.Running {
			c.Status = closed
		}
	}
	return c, nil
}

// task returns the header of a workflow task, from the three events that begin here.
func task(events []schema.HistoryEvent) (*history.Task, error) {
	if len(events) < 3 {
		return nil, wrong("the workflow task of event %d does not end", events[0].ID)
	}
	scheduled, _ := events[0].Attributes.(*history.WorkflowTaskScheduled)
	started, _ := events[1].Attributes.(*history.WorkflowTaskStarted)
	if scheduled == nil || started == nil {
		return nil, wrong("the workflow task of event %d does not start", events[0].ID)
	}
	t := &history.Task{
		Kind: scheduled.Kind, Attempt: scheduled.Attempt, HistoryBytes: started.HistoryBytes, SuggestContinueAsNew: started.SuggestContinueAsNew,
	}
	switch end := events[2].Attributes.(type) {
	case *history.WorkflowTaskCompleted:
		t.Build, t.Rules = end.Build, end.Rules
	case *history.WorkflowTaskFailed:
		if end.Failure == nil {
			return nil, wrong("event %d has no failure", events[2].ID)
		}
		t.Build, t.Failure = end.Build, end.Failure
		if end.BaseRunID != "" {
			t.Reset = &history.Reset{BaseRunID: end.BaseRunID, Topics: end.Topics}
		}
	case nil, history.Arrival, history.News, history.TaskStep, history.Initiation, history.Record, history.Closing:
		return nil, wrong("the workflow task of event %d does not end", events[0].ID)
	}
	return t, nil
}

// byCode reports whether an event is never an input. Such an event follows from the inputs, even if
// no task ran.
func byCode(a history.Attributes) bool {
	_, ok := a.(history.Closing)
	return ok
}

// isTaskStep reports whether an event belongs to a workflow task.
func isTaskStep(a history.Attributes) bool {
	_, ok := a.(history.TaskStep)
	return ok
}
