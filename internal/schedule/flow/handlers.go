package flow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-41655fb1/weft/internal/schedule"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/workflow"
)

// handle registers the handlers.
func (f *flow) handle() {
	ctx := f.ctx
	pause.Handle(ctx, func(_ workflow.Context, r stored.Note) (workflow.None, error) {
		f.before()
		f.Schedule.Paused, f.Schedule.Note = true, r.Note
		return workflow.None{}, nil
	})
	unpause.Handle(ctx, func(_ workflow.Context, r stored.Note) (workflow.None, error) {
		f.before()
		f.Schedule.Paused, f.Schedule.Note = false, r.Note
		return workflow.None{}, nil
	})
	change.Handle(ctx, func(_ workflow.Context, r stored.Change) (workflow.None, error) {
		f.before()
		f.Schedule = *r.Schedule
		return workflow.None{}, nil
		//weftvet:ignore runtime time zones come with the program
	}, workflow.Validate(func(r stored.Change) error { return check(f.types, f.ID, r.Schedule) }))
	trigger.Handle(ctx, func(_ workflow.Context, r stored.Trigger) (workflow.None, error) {
		f.trigger(r)
		return workflow.None{}, nil
	}, workflow.Validate(func(r stored.Trigger) error { return schedule.CheckOverlap(r.Overlap) }))
	backfill.Handle(ctx, func(_ workflow.Context, r stored.Backfill) (workflow.None, error) {
		return workflow.None{}, f.backfill(r)
	}, workflow.Validate(f.checkBackfill))
	//weftvet:ignore runtime time zones come with the program
	describe.Handle(ctx, func(workflow.None) (stored.Description, error) { return f.description(time.Time{}), nil })
	//weftvet:ignore runtime time zones come with the program
	describeAt.Handle(ctx, func(q stored.Describe) (stored.Description, error) { return f.description(q.Now), nil })
}

// before is called before the moments change. Moments that have passed still count, as many as one
// task handles, and the others are missed. Later moments are computed again, from now on.
func (f *flow) before() {
	if !f.Schedule.Paused {
		if f.catchUp() {
			f.missRest()
		}
	}
	if now := workflow.Now(f.ctx); now.After(f.Last) {
		f.Last = now
	}
	f.next, f.stale, f.woken, f.resume = schedule.Moment{}, true, true, time.Time{}
}

func (f *flow) policy(o stored.Overlap) stored.Overlap {
	if o == "" {
		return f.Schedule.Overlap
	}
	return o
}

// trigger starts a run now. Its id has a number, because another moment, or another trigger, may be
// in the same second.
func (f *flow) trigger(r stored.Trigger) {
	now := workflow.Now(f.ctx)
	id := fmt.Sprintf("%s-%d", f.workflowID(now.Truncate(time.Second)), f.Started+len(f.Machine.Buffer)+f.Machine.Skipped+1)
	f.arrive(stored.Run{At: now, WorkflowID: id, Overlap: f.policy(r.Overlap)})
	f.woken = true
}

func (f *flow) checkBackfill(r stored.Backfill) error {
	if r.StartAt.IsZero() || r.EndAt.Before(r.StartAt) {
		return errors.New("the time to backfill ends before it starts: endAt (--to) must come after startAt (--from)")
	}
	//weftvet:ignore runtime time zones come with the program
	if _, more := f.compile(f.Schedule.Spec).Between(r.StartAt, r.EndAt); more {
		return errTooMany
	}
	return schedule.CheckOverlap(r.Overlap)
}

var errTooMany = workflow.NewError("TooMany", "there are more than 1000 moments in that time: backfill it in parts")

// Between is the recorded result of Spec.Between.
type Between struct {
	All  []schedule.Moment `json:"all,omitempty"`
	More bool              `json:"more,omitempty"`
}

// backfill starts the runs of the moments in a period, one by one.
func (f *flow) backfill(r stored.Backfill) error {
	spec := f.Schedule.Spec
	found := workflow.SideEffect(f.ctx, func() (b Between) {
		all, more := f.compile(spec).Between(r.StartAt, r.EndAt)
		for _, at := range all {
			b.All = append(b.All, schedule.Moment{At: at})
		}
		b.More = more
		return b
	})
	if found.More { // a build with other time zones has accepted it
		return errTooMany
	}
	for _, m := range found.All {
		f.arrive(stored.Run{At: m.At, Overlap: f.policy(r.Overlap)})
	}
	f.woken = true
	return nil
}

// maxRunning is how many open runs a description has: the latest that were started.
const maxRunning = 1000

// nexts is how many future moments a description has.
const nexts = 10

func (f *flow) description(now time.Time) stored.Description {
	d := stored.Description{
		ScheduleID: f.ID, Schedule: f.Schedule, NextAt: []time.Time{}, Running: orNone(f.Running[max(len(f.Running)-maxRunning, 0):]), Buffered: orNone(f.Machine.Buffer),
		Recent: orNone(f.Recent), Started: f.Started, Skipped: f.Machine.Skipped, Missed: f.Missed,
	}
	if !f.Schedule.Paused {
		from := slices.MaxFunc([]time.Time{f.Last, f.seen, now}, time.Time.Compare)
		d.NextAt = f.compile(f.Schedule.Spec).Coming(from, nexts)
	}
	return d
}

func orNone(runs []stored.Run) []stored.Run {
	if runs == nil {
		return []stored.Run{}
	}
	return slices.Clone(runs)
}
