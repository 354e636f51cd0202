package requests

import (
	"context"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// runsPage is how many runs a page of the runs of a workflow has at most. Each takes two reads.
const runsPage = 20

// Runs returns a page of the runs of a workflow, the latest first: how each began, and how it
// ended. It leaves out runs that have expired or were deleted. The page before may have listed the
// last one. It takes a read for the latest run, and two for each other one of the page.
func (s *Reports) Runs(ctx context.Context, of command.Runs) (*schema.RunsResponse, error) {
	answer := &schema.RunsResponse{WorkflowID: of.Workflow()}
	err := lookIn(ctx, s.Process, besideAfter, s.Process.World.Now().Add(s.Process.Options.SoftLimit), of.Workflow(), "", func(t *session.Session, run *engine.Run) error {
		answer.Runs, answer.NextPageToken = []schema.ChainedRun{}, ""
		before := of.Before()
		switch pinned := of.Run(); {
		case before != 0:
		case pinned == "" || pinned == run.State.RunID:
			answer.Runs, before = append(answer.Runs, latest(run)), run.Number
		default:
			first, err := t.View.Reader.FirstCommit(ctx, of.Workflow(), pinned.Number())
			if err != nil {
				return err
			}
			if first == nil || first.RunID != pinned || first.Status == history.Void {
				return refusal.NotFound.New("workflow %q has no run %q", of.Workflow(), pinned)
			}
			before = pinned.Number() + 1
		}
		for len(answer.Runs) < runsPage {
			row, err := runBefore(ctx, t, &before)
			if err != nil {
				return err
			}
			if row == nil {
				return nil
			}
			answer.Runs = append(answer.Runs, *row)
		}
		if before > 1 {
			answer.NextPageToken = command.RunsToken(before)
		}
		return nil
	})
	return answer, err
}

// latest returns the row of the latest run.
func latest(run *engine.Run) schema.ChainedRun {
	state := run.State
	row := begun(state.Started, state.RunID, state.StartTime, state.Reset)
	end(&row, state.Status, state.CloseTime, state.Close)
	return row
}

// runBefore returns the row of the last run before a number, and sets that to the number of the
// run; nil is none. It skips a run that is being deleted.
func runBefore(ctx context.Context, t *session.Session, before *uint32) (*schema.ChainedRun, error) {
	for {
		first, err := t.View.Reader.RunBefore(ctx, t.WorkflowID, *before)
		if first == nil || err != nil {
			return nil, err
		}
		*before = first.RunID.Number()
		started := first.Opens()
		if started == nil {
			continue
		}
		var reset *history.Reset
		if first.FromReset() {
			reset = first.Task.Reset
		}
		row := begun(started, first.RunID, first.Time, reset)
		last := first
		if !first.Status.Closed() {
			if last, err = t.View.Reader.LastCommit(ctx, t.WorkflowID, first.RunID); err != nil {
				return nil, err
			}
		}
		if last != nil && last.Status.Closed() {
			end(&row, last.Status, last.Time, closingOf(last))
			return &row, nil
		}
		// The put that closed the run appears in parts. Or the run is the latest, or being deleted.
		run := t.Run()
		if run.State.RunID != first.RunID {
			if run, err = t.View.Other(ctx, first.RunID); err != nil {
				return nil, err
			}
		}
		if run != nil {
			row = latest(run)
			return &row, nil
		}
	}
}

// begun returns the row of a run with how it began.
func begun(started *history.WorkflowExecutionStarted, id history.RunID, at history.Timestamp, reset *history.Reset) schema.ChainedRun {
	row := schema.ChainedRun{
		RunID: id, Type: started.WorkflowType, StartedAt: at.Time(), StartedBy: schema.ByStart, ContinuedFromRunID: started.ContinuedFrom,
		FirstRunID: started.FirstRunID, Attempt: max(started.Attempt, 1), CronSchedule: started.Cron,
	}
	switch {
	case reset != nil:
		row.StartedBy, row.ResetFromRunID = schema.ByReset, reset.BaseRunID
	case started.ContinuedFrom == "" && started.Parent != nil:
		row.StartedBy = schema.ByParent
	case started.ContinuedFrom == "":
	case started.Attempt > 1:
		row.StartedBy = schema.ByRetry
	case started.StartDelay > 0 && started.Quick == 0: // a run that continues as new begins at once, or is slowed down
		row.StartedBy = schema.ByCron
	default:
		row.StartedBy = schema.ByContinueAsNew
	}
	return row
}

// end adds how a run ended, if it has.
func end(row *schema.ChainedRun, status history.Status, at history.Timestamp, closing history.Attributes) {
	row.Status = status
	if !status.Closed() {
		return
	}
	closed := at.Time()
	row.ClosedAt, row.CloseReason, row.NewRunID = &closed, engine.CloseReason(closing), history.NextRun(closing)
	if a, ok := closing.(*history.WorkflowExecutionTerminated); ok {
		row.ReplacedByRunID = a.ReplacedBy
	}
}

// closingOf returns the event by which a commit closes its run.
func closingOf(c *history.Commit) history.Attributes {
	for _, events := range [][]history.Event{c.Commands, c.InputEvents} {
		for i := len(events) - 1; i >= 0; i-- {
			if history.EndOf(events[i].Attributes).Status.Closed() {
				return events[i].Attributes
			}
		}
	}
	return nil
}
