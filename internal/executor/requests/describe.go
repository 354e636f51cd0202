package requests

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor/attempts"
	"github.com/seed-41655fb1/weft/internal/executor/session"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// Describe describes a run. It does not wait behind a busy run.
func (s *Reports) Describe(ctx context.Context, of command.Describe) (*schema.Description, error) {
	var d *schema.Description
	err := lookIn(ctx, s.Process, besideAfter, s.Process.World.Now().Add(s.Process.Options.SoftLimit), of.Workflow(), of.Run(), func(t *session.Session, run *engine.Run) (err error) {
		d, err = described(ctx, t, run)
		return err
	})
	if err == nil && of.Children() > 0 {
		err = addChildStates(ctx, s.Process, d.PendingChildren, of.Children())
	}
	if err == nil && len(d.Notifications) > 0 {
		err = addDeliveries(ctx, s.Process, d.Notifications)
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// described describes a run, with what is recorded of its attempts.
func described(ctx context.Context, t *session.Session, run *engine.Run) (*schema.Description, error) {
	d := describe(run)
	addQueues(t.Process, d)
	var records map[int64]*attempts.Record
	if len(d.PendingActivities) > 0 || run.State.Stuck() != nil {
		var err error
		if records, err = t.Process.Attempts.All(ctx, run); err != nil {
			return nil, err
		}
		addAttempts(t, run, d, records)
	}
	d.Cost = costOf(t.Process, run, records)
	return d, nil
}

func describe(run *engine.Run) *schema.Description {
	state := run.State
	d := &schema.Description{
		WorkflowRun: schema.WorkflowRun{
			WorkflowID: run.WorkflowID, RunID: state.RunID, Type: state.Started.WorkflowType, Status: state.Status, StartedAt: state.StartTime.Time(),
			Build: state.Pinned, Memo: state.Visibility.Memo, SearchAttributes: state.Visibility.SearchAttributes,
		},
		CloseReason: engine.CloseReason(state.Close), Chain: chainOf(state),
		HistoryLength: state.NextEventID - 1, HistoryBytes: state.Bytes, CancelRequested: state.CancelRequested,
		Parent:            state.Started.Parent,
		PendingActivities: []schema.PendingActivity{}, PendingTimers: []schema.PendingTimer{}, PendingChildren: []schema.PendingChild{}, UpdatesInFlight: []schema.UpdateInFlight{},
	}
	d.UnreadSignals, d.Notifications = unreadSignals(run), notifications(run)
	if state.Status.Closed() {
		closed := state.CloseTime.Time()
		d.ClosedAt = &closed
		return d // what was pending when it closed no longer is
	}
	d.State = stateOf(state)
	if p := state.Paused; p != nil {
		d.Paused = &schema.Paused{Since: p.Since.Time(), Reason: p.Reason}
	}
	for id, a := range state.Activities {
		d.PendingActivities = append(d.PendingActivities, schema.PendingActivity{
			EventID: id, Type: a.ActivityType, ScheduledAt: a.Time.Time(), Attempt: 1, CancelRequested: a.CancelRequested, TaskQueue: a.TaskQueue,
		})
	}
	for id, t := range state.Timers {
		d.PendingTimers = append(d.PendingTimers, schema.PendingTimer{EventID: id, FireAt: min(t.FireAt, history.LastSecond).Time()})
	}
	for id, c := range state.Children {
		d.PendingChildren = append(d.PendingChildren, schema.PendingChild{
			EventID: id, Type: c.WorkflowType, WorkflowID: c.WorkflowID, RunID: c.RunID, ParentClosePolicy: c.Policy,
			InitiatedAt: c.Time.Time(), CancelRequested: c.CancelRequested,
		})
	}
	for _, u := range state.Updates {
		if u.Completed == nil {
			d.UpdatesInFlight = append(d.UpdatesInFlight, schema.UpdateInFlight{UpdateID: u.ID, Name: u.Name, AcceptedEventID: u.AcceptedEventID})
		}
	}
	slices.SortFunc(d.PendingActivities, func(a, b schema.PendingActivity) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.PendingTimers, func(a, b schema.PendingTimer) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.PendingChildren, func(a, b schema.PendingChild) int { return cmp.Compare(a.EventID, b.EventID) })
	slices.SortFunc(d.UpdatesInFlight, func(a, b schema.UpdateInFlight) int { return cmp.Compare(a.AcceptedEventID, b.AcceptedEventID) })
	if state.Streak != nil {
		d.StuckTask = stuckTask(state)
	}
	return d
}

// maxUnread is how many names of unread signals a description lists.
const maxUnread = 100

// unreadSignals lists, by name, the signals that the code of a run has not received, and those that
// it has set aside. If another run took over, the unread signals belong to that one.
func unreadSignals(run *engine.Run) (all []schema.UnreadSignal) {
	s := run.State
	unread := s.Unread
	if s.Next() != "" {
		unread = nil
	}
	names := slices.Collect(maps.Keys(unread))
	for name := range s.SetAside {
		if unread[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxUnread)] {
		one := schema.UnreadSignal{Name: name}
		if aside := s.SetAside[name]; aside != nil {
			one.SetAside, one.SetAsideEvents = aside.Count, slices.Clone(aside.Events)
		}
		if u := unread[name]; u != nil {
			one.Count = u.Count
			if slot, ok := run.SlotOf(u.EventID); ok {
				since := run.TimeOf(slot).Time()
				one.Since = &since
			}
		}
		all = append(all, one)
	}
	return all
}

// addQueues marks the activities of a description that wait for a task queue which the deployment
// no longer has.
func addQueues(s *session.Process, d *schema.Description) {
	for i := range d.PendingActivities {
		if p := &d.PendingActivities[i]; !s.Options.Engine.HasTaskQueue(p.TaskQueue) {
			p.Held = "it " + s.Options.Engine.NoTaskQueue(p.TaskQueue) + ", or reset the run to before the activity"
		}
	}
}

// addAttempts adds to a description what is recorded of the attempts at its activities and at its
// stuck task.
func addAttempts(t *session.Session, run *engine.Run, d *schema.Description, records map[int64]*attempts.Record) {
	room := failureRoom(maxFailures)
	if d.StuckTask != nil {
		countFailures(run.State, d.StuckTask, records)
	}
	for _, event := range slices.Sorted(maps.Keys(records)) {
		kept := records[event]
		next := kept.Next.Time()
		if d.StuckTask != nil && event == run.State.LastTask.TaskScheduledID() {
			d.StuckTask.Attempt, d.StuckTask.Failure, d.StuckTask.NextAttemptAt = kept.LastFailed, kept.Failure, &next
		}
		for i := range d.PendingActivities {
			if p := &d.PendingActivities[i]; p.EventID == event {
				p.Attempt, p.LastFailure = kept.LastFailed+1, room.take(kept.Failure)
				addFailures(d, p, kept)
				p.Held = cmp.Or(p.Held, kept.HeldNow(t.Process.Timestamp()))
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
}

// maxFailures is how many bytes of failures of pending activities a description has in full.
// shortFailure is the length to which the message of each further one is cut.
const (
	maxFailures  = 1 << 20
	shortFailure = 256
)

// failureRoom is how many more bytes of failures fit into a description.
type failureRoom int

// take returns the failure if there is room for it, and otherwise its kind, its type and the
// beginning of its message.
func (r *failureRoom) take(f *failure.Failure) *failure.Failure {
	if f == nil {
		return nil
	}
	if body, err := json.Marshal(f); err == nil && len(body) <= int(*r) {
		*r -= failureRoom(len(body))
		return f
	}
	return &failure.Failure{Kind: f.Kind, Type: f.Type, Message: strings.ToValidUTF8(f.Message[:min(len(f.Message), shortFailure)], "")}
}
