package weftest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/store"
)

// Event is an event of a history.
type Event struct {
	ID         int64
	Time       time.Time
	Type       history.Type
	Attributes history.Attributes
}

// History is what has happened to a run so far.
type History struct {
	WorkflowID, RunID string
	Status            history.Status
	Events            []Event
}

// History returns the history of the latest run of a workflow. It ends the test if there is no such
// workflow.
func (e *Env) History(workflowID string) History {
	e.t.Helper()
	runs := e.Runs(workflowID)
	if len(runs) == 0 {
		e.t.Fatalf("weftest: there is no workflow %q; there are %q", workflowID, e.workflows())
	}
	return runs[len(runs)-1]
}

// Runs returns the histories of all runs of a workflow, in order, without deleted runs. There are
// several if the workflow continued as new, was reset, or was started again.
func (e *Env) Runs(workflowID string) []History {
	e.t.Helper()
	var all []History
	for _, run := range e.runs(workflowID) {
		all = append(all, historyOf(run))
	}
	return all
}

func historyOf(run *engine.Run) History {
	h := History{WorkflowID: run.WorkflowID, RunID: string(run.State.RunID), Status: run.State.Status}
	for _, c := range run.Log {
		for _, e := range c.Events() {
			h.Events = append(h.Events, Event{ID: e.ID, Time: e.Time.Time(), Type: e.Type(), Attributes: e.Attributes})
		}
	}
	return h
}

// Of returns the events of these types, in order.
func (h History) Of(types ...history.Type) []Event {
	return slices.DeleteFunc(slices.Clone(h.Events), func(e Event) bool { return !slices.Contains(types, e.Type) })
}

// Count returns the number of events of these types.
func (h History) Count(types ...history.Type) int { return len(h.Of(types...)) }

// Types returns the types of the events, in order, without those of the workflow tasks. They show
// what happened and what the code did.
func (h History) Types() []history.Type {
	var types []history.Type
	for _, e := range h.Events {
		if e.Type < history.TypeWorkflowTaskScheduled || e.Type > history.TypeWorkflowTaskFailed {
			types = append(types, e.Type)
		}
	}
	return types
}

// String returns the events, one a line.
func (h History) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "workflow %s, run %s (%s)\n", h.WorkflowID, h.RunID, h.Status)
	for _, e := range h.Events {
		attributes, err := json.Marshal(e.Attributes)
		if err != nil {
			attributes = []byte(err.Error())
		}
		fmt.Fprintf(&b, "%5d  %s  %s %s\n", e.ID, stamp(e.Time), e.Type, attributes)
	}
	return b.String()
}

// stamp returns a time as messages show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }

// workflows returns the ids of all workflows, sorted.
func (e *Env) workflows() (ids []string) {
	// In one page, because the store sorts all of its rows for each.
	rows, _, err := e.store.ListRuns(context.Background(), store.Filter{}, "", math.MaxInt)
	if err != nil {
		e.t.Fatalf("weftest: %v", err)
	}
	for _, row := range rows {
		ids = append(ids, row.Workflow)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// runs returns the runs of a workflow, in order, without deleted runs.
func (e *Env) runs(workflowID string) (runs []*engine.Run) {
	page, err := e.commits.Backward(context.Background(), workflowID, store.Key{}, store.Key{}, 1)
	if err != nil {
		panic(err)
	}
	for _, latest := range page.Items {
		for number := uint32(1); number <= latest.Run; number++ {
			if run := e.run(workflowID, number); len(run.Log) > 0 {
				runs = append(runs, run)
			}
		}
	}
	return runs
}

// run reads a run from the log. A deleted one is empty. It ends the test if the log cannot be read,
// which is a defect of Weft.
func (e *Env) run(workflowID string, number uint32) *engine.Run {
	run := engine.NewRun(workflowID, number)
	from := store.Key{Workflow: workflowID, Run: number}
	var decoder history.Decoder
	for more := true; more; {
		page, err := e.commits.Forward(context.Background(), from, 0)
		if err != nil {
			panic(err)
		}
		for _, item := range page.Items {
			c, err := decoder.Decode(item.Slot, item.Body)
			if err == nil && c.Status == history.Void { // in the place of the last commit of a deleted run
				return engine.NewRun(workflowID, number)
			}
			if err == nil {
				err = run.Append(c, len(item.Body))
			}
			if err != nil {
				panic(err)
			}
			from.Slot = item.Slot + 1
		}
		more = page.More && len(page.Items) > 0
	}
	return run
}
