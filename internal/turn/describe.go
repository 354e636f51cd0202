package turn

import (
	"cmp"
	"context"
	"slices"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
)

// Describe returns what is known of a run.
func (s *Service) Describe(ctx context.Context, workflowID string, runID history.RunID) (*api.Description, error) {
	var d *api.Description
	err := s.look(ctx, workflowID, runID, func(t *session, run *engine.Run) error {
		d = describe(run)
		if len(d.PendingActivities) == 0 && d.StuckTask == nil {
			return nil
		}
		return t.addAttempts(ctx, run, d)
	})
	return d, err
}

func describe(run *engine.Run) *api.Description {
	state := run.State
	d := &api.Description{
		WorkflowSummary: api.WorkflowSummary{
			WorkflowID: run.WorkflowID, RunID: state.RunID, Type: state.Started.WorkflowType, Status: state.Status, StartedAt: state.StartTime.Time(),
			Build: state.Pinned, Memo: state.Shown.Memo, SearchAttributes: state.Shown.SearchAttributes,
		},
		HistoryLength: state.NextEventID - 1, HistoryBytes: state.Bytes, CancelRequested: state.CancelRequested,
		Parent:            state.Started.Parent,
		PendingActivities: []api.PendingActivity{}, PendingTimers: []api.PendingTimer{}, PendingChildren: []api.PendingChild{}, UpdatesInFlight: []api.UpdateInFlight{},
	}
	if state.Status.Closed() {
		closed := state.CloseTime.Time()
		d.ClosedAt = &closed
		return d // what was pending when it closed no longer is
	}
	for id, a := range state.Activities {
		d.PendingActivities = append(d.PendingActivities, api.PendingActivity{
			EventID: id, Type: a.ActivityType, ScheduledAt: a.Time.Time(), Attempt: 1, CancelRequested: a.CancelRequested, TaskQueue: a.TaskQueue,
		})
	}
	for id, t := range state.Timers {
		d.PendingTimers = append(d.PendingTimers, api.PendingTimer{EventID: id, FireAt: min(t.FireAt, history.LastSecond).Time()})
	}
	for id, c := range state.Children {
		d.PendingChildren = append(d.PendingChildren, api.PendingChild{
			EventID: id, Type: c.WorkflowType, WorkflowID: c.WorkflowID, RunID: c.RunID, ParentClosePolicy: c.Policy,
			InitiatedAt: c.Time.Time(), CancelRequested: c.CancelRequested,
		})
	}
	for _, u := range state.Updates {
		if u.Completed == nil {
			d.UpdatesInFlight = append(d.UpdatesInFlight, api.UpdateInFlight{UpdateID: u.ID, Name: u.Name, AcceptedEventID: u.AcceptedEventID})
		}
	}
	slices.SortFunc(d.PendingActivities, func(a, b api.PendingActivity) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.PendingTimers, func(a, b api.PendingTimer) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.PendingChildren, func(a, b api.PendingChild) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.UpdatesInFlight, func(a, b api.UpdateInFlight) int { return cmp.Compare(a.AcceptedEventID, b.AcceptedEventID) })
	if f := state.Stuck(); f != nil {
		d.StuckTask = &api.StuckTask{Attempt: state.LastTask.Task.Attempt, Build: state.LastTask.Task.Build, Failure: f}
	}
	return d
}

// addAttempts adds to a description what is known of the attempts at its activities and at its stuck task.
func (t *session) addAttempts(ctx context.Context, run *engine.Run, d *api.Description) error {
	attempts, err := t.Attempts.ReadAttempts(ctx, t.workflowID, run.Number)
	if err != nil {
		return readProblem(err)
	}
	for _, a := range attempts {
		kept, err := decodeAttempt(a)
		if err != nil {
			return err
		}
		next := kept.Next.Time()
		if d.StuckTask != nil && a.Event == run.State.LastTask.TaskScheduledID() {
			d.StuckTask.Attempt, d.StuckTask.Failure, d.StuckTask.NextAttemptAt = kept.number, kept.Failure, &next
		}
		for i := range d.PendingActivities {
			if p := &d.PendingActivities[i]; p.EventID == a.Event {
				p.Attempt, p.LastFailure = kept.number+1, kept.Failure
				if kept.Deadline != 0 {
					until := min(kept.Deadline, history.LastSecond).Time()
					p.PendingUntil = &until
				}
				if kept.Next != 0 {
					p.NextAttemptAt = &next
				}
			}
		}
	}
	return nil
}
