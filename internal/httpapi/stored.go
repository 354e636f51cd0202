package httpapi

import (
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// A schedule has stored forms of its own, which outlive the API's. These functions convert between
// the two, field by field.

// StoredChange returns the stored form of a change of a schedule, and the id of its request.
func StoredChange(b *schema.UpdateScheduleRequest) (s stored.Change, requestID string) {
	if b.Schedule != nil {
		changed := storedSchedule(b.Schedule)
		s.Schedule = &changed
	}
	return s, b.RequestID
}

// StoredNote returns the stored form of a note, and the id of its request.
func StoredNote(b *schema.ScheduleNote) (s stored.Note, requestID string) {
	return stored.Note{Note: b.Note}, b.RequestID
}

// StoredTrigger returns the stored form of a trigger, and the id of its request.
func StoredTrigger(b *schema.TriggerScheduleRequest) (s stored.Trigger, requestID string) {
	return stored.Trigger{Overlap: stored.Overlap(b.Overlap)}, b.RequestID
}

// StoredBackfill returns the stored form of a backfill, and the id of its request.
func StoredBackfill(b *schema.BackfillScheduleRequest) (s stored.Backfill, requestID string) {
	return stored.Backfill{StartAt: b.StartAt, EndAt: b.EndAt, Overlap: stored.Overlap(b.Overlap)}, b.RequestID
}

func storedSchedule(s *schema.Schedule) stored.Schedule {
	return stored.Schedule{
		Spec: stored.Spec{
			Cron: s.Spec.Cron, Intervals: each(s.Spec.Intervals, storedInterval), TimeZone: s.Spec.TimeZone,
			StartAt: s.Spec.StartAt, EndAt: s.Spec.EndAt, Jitter: stored.Duration(s.Spec.Jitter),
		},
		Action: stored.Action{
			Type: s.Action.Type, Input: s.Action.Input, WorkflowID: s.Action.WorkflowID, RunTimeout: stored.Duration(s.Action.RunTimeout),
			Retry: storedRetry(s.Action.Retry), Memo: s.Action.Memo, SearchAttributes: s.Action.SearchAttributes,
		},
		Overlap: stored.Overlap(s.Overlap), CatchUpWindow: stored.Duration(s.CatchUpWindow), PauseOnFailure: s.PauseOnFailure,
		Paused: s.Paused, Note: s.Note,
	}
}

func storedInterval(i schema.ScheduleInterval) stored.Interval {
	return stored.Interval{Every: stored.Duration(i.Every), Offset: stored.Duration(i.Offset)}
}

func storedRetry(p *schema.RetryPolicy) *stored.Retry {
	if p == nil {
		return nil
	}
	return stored.RetryOf(*p.History())
}

// DescribedSchedule returns the API's form of a stored description.
func DescribedSchedule(d *stored.Description) schema.ScheduleDescription {
	return schema.ScheduleDescription{
		ScheduleID: d.ScheduleID, Schedule: scheduleOf(&d.Schedule), NextAt: d.NextAt,
		Running: each(d.Running, runOf), Buffered: each(d.Buffered, runOf), Recent: each(d.Recent, runOf),
		Started: d.Started, Skipped: d.Skipped, Missed: d.Missed,
	}
}

func scheduleOf(s *stored.Schedule) schema.Schedule {
	return schema.Schedule{
		Spec: schema.ScheduleSpec{
			Cron: s.Spec.Cron, Intervals: each(s.Spec.Intervals, intervalOf), TimeZone: s.Spec.TimeZone,
			StartAt: s.Spec.StartAt, EndAt: s.Spec.EndAt, Jitter: schema.Duration(s.Spec.Jitter),
		},
		Action: schema.ScheduleAction{
			Type: s.Action.Type, Input: s.Action.Input, WorkflowID: s.Action.WorkflowID, RunTimeout: schema.Duration(s.Action.RunTimeout),
			Retry: retryOf(s.Action.Retry), Memo: s.Action.Memo, SearchAttributes: s.Action.SearchAttributes,
		},
		Overlap: schema.Overlap(s.Overlap), CatchUpWindow: schema.Duration(s.CatchUpWindow), PauseOnFailure: s.PauseOnFailure,
		Paused: s.Paused, Note: s.Note,
	}
}

func intervalOf(i stored.Interval) schema.ScheduleInterval {
	return schema.ScheduleInterval{Every: schema.Duration(i.Every), Offset: schema.Duration(i.Offset)}
}

func retryOf(r *stored.Retry) *schema.RetryPolicy {
	if r == nil {
		return nil
	}
	return schema.RetryOf(r.Policy())
}

func runOf(r stored.Run) schema.ScheduledRun {
	return schema.ScheduledRun{
		At: r.At, StartedAt: r.StartedAt, WorkflowID: r.WorkflowID, Status: r.Status, Failure: r.Failure, Overlap: schema.Overlap(r.Overlap),
	}
}

// each converts the elements of a list. A nil list stays nil: JSON has null for it.
func each[From, To any](list []From, convert func(From) To) []To {
	if list == nil {
		return nil
	}
	all := make([]To, len(list))
	for i := range list {
		all[i] = convert(list[i])
	}
	return all
}
