package schedules_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/examples/schedules"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// Backups run each hour. The schedule is described, paused, and backfilled.
func TestSchedules(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, schedules.Registrations()...)
		midnight := time.Now().UTC()
		s, err := schedules.Create(ctx, p.Client, schedules.Disk{Name: "home"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Hour)
		describe := func(started, running int, next time.Duration) *client.ScheduleDescription {
			t.Helper()
			d, err := s.Describe(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if d.Started != started || len(d.Running) != running || next > 0 && (len(d.NextAt) == 0 || !d.NextAt[0].Equal(midnight.Add(next))) {
				t.Errorf("%d started, %d running, next at %v; want %d, %d, %v", d.Started, len(d.Running), d.NextAt, started, running, midnight.Add(next))
			}
			return d
		}
		d := describe(3, 0, 3*time.Hour+10*time.Minute)
		if last := d.Recent[2]; last.WorkflowID != "backup-2000-01-01T02:10:00Z" || last.Status != "completed" {
			t.Errorf("the last backup is %+v", last)
		}
		if result, err := schedules.Workflow.Get(p.Client, "backup-2000-01-01T02:10:00Z").Result(ctx); result != "home at 02:10:00" || err != nil {
			t.Errorf("%q, %v", result, err)
		}

		if err := s.Pause(ctx, "the disk is being moved"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if d := describe(3, 0, 0); !d.Schedule.Paused || d.Schedule.Note != "the disk is being moved" || len(d.NextAt) > 0 {
			t.Errorf("paused: %+v", d)
		}
		if err := s.Unpause(ctx, ""); err != nil {
			t.Fatal(err)
		}
		if err := s.Backfill(ctx, midnight.Add(3*time.Hour), midnight.Add(5*time.Hour), client.OverlapBufferAll); err != nil {
			t.Fatal(err)
		}
		if err := s.Trigger(ctx, client.OverlapBufferAll); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		describe(6, 0, 5*time.Hour+10*time.Minute)

		// From now on a backup takes two hours, and the next one starts when it has ended.
		if err := schedules.Workflow.ChangeSchedule(ctx, s, schedules.Disk{Name: "home", Hours: 2}, schedules.Options()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Hour) // one runs from 5:10 to 7:10, and the next one after it
		describe(8, 1, 0)
		if err := schedules.Workflow.ChangeSchedule(ctx, s, schedules.Disk{Broken: true}, schedules.Options()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		if d := describe(9, 0, 0); !d.Schedule.Paused {
			t.Errorf("a backup failed, and the schedule is not paused: %+v", d)
		}
		if page, _, err := p.Schedules(ctx, ""); len(page) != 1 || page[0].ScheduleID != "backups-of-home" || err != nil {
			t.Errorf("the schedules are %v, %v", page, err)
		}
		if err := s.Delete(ctx); err != nil {
			t.Fatal(err)
		}
		if page, _, err := p.Schedules(ctx, ""); len(page) != 0 || err != nil {
			t.Errorf("after the deletion the schedules are %v, %v", page, err)
		}
	})
}
