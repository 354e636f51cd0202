package flow_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

var job = workflow.NewWorkflow[string, workflow.None]("job")

func runJob(ctx workflow.Context, takes string) (workflow.None, error) {
	d, _ := time.ParseDuration(takes) // an empty text is no time
	return workflow.None{}, workflow.Sleep(ctx, d)
}

func registrations() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(job, runJob)}
}

func describe(t *testing.T, s client.Schedule) *client.ScheduleDescription {
	t.Helper()
	d, err := s.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An invalid schedule is refused before it is written, when a schedule is created and when it is
// changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		defer d.Replay(registrations()...)
		defer p.Stop()
		options := workflow.ScheduleOptions{Cron: []string{"@daily"}}
		s, err := job.Schedule(t.Context(), p.Client, "s", "", options)
		if err != nil {
			t.Fatal(err)
		}
		before := len(d.Commits("weft.schedule:s", 1))
		for typ, want := range map[string]struct{ creating, changing string }{
			"nobody": {`there is no workflow type "nobody"`, `there is no workflow type "nobody"`},
			"job": {
				`workflow type "job" does not take this input: action.input: want string, got number`,
				`workflow type "job" does not take this input: input.schedule.action.input: want string, got number`,
			},
		} {
			_, err := p.Client.CreateSchedule(t.Context(), "other", typ, history.Payload("1"), options)
			if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), "The request is invalid: "+want.creating) {
				t.Errorf("creating: %v, want %s", err, want.creating)
			}
			if err := s.Change(t.Context(), typ, history.Payload("1"), options); client.AsRejected(err) == nil || !strings.Contains(err.Error(), want.changing) {
				t.Errorf("changing: %v, want %s", err, want.changing)
			}
		}
		if err := s.Backfill(t.Context(), time.Now().AddDate(-3, 0, 0), time.Now(), client.OverlapAllowAll); client.AsRejected(err) == nil {
			t.Errorf("too many moments: %v", err)
		}
		if after := len(d.Commits("weft.schedule:s", 1)); after != before {
			t.Errorf("%d commits, and %d after the refusals", before, after)
		}
	})
}

// The next moments are future ones, even if the schedule sleeps while a run is open.
func TestNextWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, registrations()...)
		s, err := job.Schedule(t.Context(), p.Client, "s", "5h", workflow.ScheduleOptions{Cron: []string{"@hourly"}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(210 * time.Minute)
		if got := describe(t, s); len(got.Running) != 1 || len(got.NextAt) != 10 || got.NextAt[0].Hour() != 4 {
			t.Errorf("at 3:30 %d run, and the next are %v", len(got.Running), got.NextAt)
		}
		if _, err := p.Client.Query(t.Context(), "weft.schedule:s", "", "weft.describe", nil); err != nil {
			t.Errorf("the query of its workflow: %v", err)
		}
		time.Sleep(3 * time.Hour)
	})
}

// A deleted schedule does not exist, like one that was never created.
func TestDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, registrations()...)
		s, err := job.Schedule(ctx, p.Client, "s", "", workflow.ScheduleOptions{Cron: []string{"@daily"}})
		if err == nil {
			_, err = s.Describe(ctx)
		}
		if err = errors.Join(err, s.Delete(ctx)); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"s", "never"} {
			if d, err := p.Schedule(id).Describe(ctx); d != nil || !errors.Is(err, client.ErrNotFound) {
				t.Errorf("%q: %+v, %v", id, d, err)
			}
		}
	})
}

// A schedule whose history is long continues as new, between two of its runs, and forgets nothing.
func TestContinuesAsNew(t *testing.T) {
	t.Parallel()
	for _, overlap := range []client.Overlap{client.OverlapSkip, client.OverlapBufferAll, client.OverlapAllowAll, client.OverlapTerminate} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{Engine: engine.Options{SuggestAfterEvents: 40}}, registrations()...)
			defer d.Replay(registrations()...)
			defer p.Stop()
			s, err := job.Schedule(t.Context(), p.Client, "s", "30s", workflow.ScheduleOptions{Cron: []string{"* * * * *"}, Overlap: overlap})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour + 45*time.Second)
			got := describe(t, s)
			if got.Started != 60 || got.Skipped != 0 || len(got.Recent) != 10 || len(got.Running) > 0 {
				t.Errorf("%s: %d started, %d skipped, %d open", overlap, got.Started, got.Skipped, len(got.Running))
			}
			if n := len(d.Runs("weft.schedule:s")); n < 5 {
				t.Errorf("%s: it continued as new in only %d runs", overlap, n)
			}
			if n := len(d.Workflows()); n != 61 {
				t.Errorf("%s: there are %d workflows, want sixty and the schedule", overlap, n)
			}
		})
	}
}

// So does a schedule that always has an open run, because its runs take longer than the time
// between two.
func TestContinuesAsNewBetweenRuns(t *testing.T) {
	t.Parallel()
	for _, overlap := range []client.Overlap{client.OverlapBufferOne, client.OverlapBufferAll} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{Engine: engine.Options{SuggestAfterEvents: 40}}, registrations()...)
			defer d.Replay(registrations()...)
			defer p.Stop()
			s, err := job.Schedule(t.Context(), p.Client, "s", "90s", workflow.ScheduleOptions{Cron: []string{"* * * * *"}, Overlap: overlap})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(3*time.Hour + 75*time.Second) // the first begins after a minute: 120 have ended, 15 seconds ago
			got := describe(t, s)
			if got.Started != 121 || len(got.Running) != 1 {
				t.Errorf("%s: %d started, %d open", overlap, got.Started, len(got.Running))
			}
			if n := len(d.Runs("weft.schedule:s")); n < 5 {
				t.Errorf("%s: it continued as new in only %d runs", overlap, n)
			}
			if n := len(d.Workflows()); n != 122 {
				t.Errorf("%s: there are %d workflows", overlap, n)
			}
		})
	}
}

// Moments that pass while no process runs are handled when one runs again, except those that are
// too late by then.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		o := workflow.ScheduleOptions{Every: []client.Every{{Interval: time.Hour}}, Overlap: client.OverlapBufferAll, CatchUpWindow: 150 * time.Minute}
		if _, err := job.Schedule(t.Context(), p.Client, "s", "", o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(90 * time.Minute) // the first moment has passed
		p.Stop()
		time.Sleep(5 * time.Hour) // from 1:30 to 6:30: those of 2 and 3 are too late
		p = d.Start(executor.Options{}, registrations()...)
		time.Sleep(20 * time.Minute)
		got := describe(t, p.Schedule("s"))
		if got.Started != 4 || got.Missed != 2 || !got.Recent[1].At.Equal(time.Date(2000, 1, 1, 4, 0, 0, 0, time.UTC)) {
			t.Errorf("%d started, %d missed: %+v", got.Started, got.Missed, got.Recent)
		}
		p.Stop()
		d.Replay(registrations()...)
	})
}

// A schedule that is paused while a run is open leaves out later moments, but not those before the
// pause.
func TestPauseWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, registrations()...)
		o := workflow.ScheduleOptions{Every: []client.Every{{Interval: time.Hour}}, Overlap: client.OverlapBufferAll}
		s, err := job.Schedule(ctx, p.Client, "s", "150m", o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(130 * time.Minute) // the run of 1:00 is open, and that of 2:00 waits
		if err := s.Pause(ctx, "enough"); err != nil {
			t.Fatal(err)
		}
		if got := describe(t, s); len(got.Running) != 1 || len(got.Buffered) != 1 {
			t.Errorf("%d open, %d wait", len(got.Running), len(got.Buffered))
		}
		time.Sleep(10 * time.Hour)
		if got := describe(t, s); got.Started != 2 || len(got.Running)+len(got.Buffered) > 0 {
			t.Errorf("paused: %+v", got)
		}
		if err := s.Unpause(ctx, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := describe(t, s); got.Started != 3 {
			t.Errorf("after the pause: %+v", got)
		}
	})
}

// Moments within one second have a run each, even if both are open.
func TestMomentsOfASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.One(t, registrations()...)
		every := []client.Every{{Interval: time.Minute}, {Interval: time.Minute, Offset: 500 * time.Millisecond}}
		longest := strings.Repeat("x", 215) // a longer one is refused
		o := workflow.ScheduleOptions{Every: every, Overlap: client.OverlapAllowAll, WorkflowID: longest}
		s, err := job.Schedule(t.Context(), p.Client, "s", "20s", o)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(130 * time.Second)
		if err := s.Trigger(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		got := describe(t, s)
		for _, r := range got.Recent {
			if r.Status != "completed" {
				t.Errorf("%s is %s: %+v", r.WorkflowID, r.Status, r.Failure)
			}
		}
		if len(got.Recent) != 6 || got.Recent[1].WorkflowID != longest+"-2000-01-01T00:01:00Z" || got.Recent[2].WorkflowID != longest+"-2000-01-01T00:01:00.5Z" {
			t.Errorf("%+v", got.Recent)
		}
	})
}

// A run that fails is retried by the schedule's retry policy. The schedule waits for the last
// attempt.
func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := workflow.NewWorkflow[workflow.None, int]("bad")
		all := []workflow.Registration{workflow.Bind(bad, func(ctx workflow.Context, _ workflow.None) (int, error) {
			if attempt := workflow.InfoOf(ctx).Attempt; attempt > 2 {
				return attempt, nil
			}
			return 0, workflow.NewError("bad", "not yet")
		})}
		ctx, p := t.Context(), testbed.One(t, all...)
		s, err := bad.Schedule(ctx, p.Client, "s", workflow.None{}, workflow.ScheduleOptions{
			Every: []client.Every{{Interval: time.Hour}}, PauseOnFailure: true, Retry: &client.Retry{InitialInterval: 5 * time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(65 * time.Minute)
		if got := describe(t, s); len(got.Running) != 1 {
			t.Errorf("between two attempts: %+v", got)
		}
		time.Sleep(20 * time.Minute)
		if got := describe(t, s); len(got.Running) != 0 || got.Recent[0].Status != "completed" || got.Schedule.Paused {
			t.Errorf("after the third attempt: %+v", got)
		}
		if n, err := bad.Get(p.Client, "s-2000-01-01T01:00:00Z").Result(ctx); n != 3 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	})
}

// The runs of a schedule have the visibility that the schedule gives them, even after the schedule
// continued as new. A schedule with invalid visibility is refused.
func TestVisibility(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, tenant, note := testbed.New(t), workflow.NewAttribute[string]("Tenant"), workflow.NewMemo[string]("note")
		p := d.Start(executor.Options{Engine: engine.Options{SuggestAfterEvents: 20}}, registrations()...)
		defer p.Stop()
		o := workflow.ScheduleOptions{
			Cron: []string{"@hourly"}, Memo: []workflow.MemoField{note.Set("by the hour")},
			SearchAttributes: []workflow.SearchAttribute{tenant.Set("acme")},
		}
		if _, err := job.Schedule(t.Context(), p.Client, "s", "", o); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8*time.Hour + time.Minute)
		runs, _, err := p.Client.List(t.Context(), "Tenant = 'acme' AND WorkflowType = 'job'", "")
		if err != nil || len(runs) != 8 || len(d.Runs("weft.schedule:s")) < 2 {
			t.Fatalf("%d runs, %v, and %d of the schedule", len(runs), err, len(d.Runs("weft.schedule:s")))
		}
		if text, _ := note.Of(runs[0].Memo); text != "by the hour" {
			t.Errorf("the memo has %q", text)
		}
		o.SearchAttributes = []workflow.SearchAttribute{workflow.NewAttribute[string]("no name").Set("acme")}
		if _, err := job.Schedule(t.Context(), p.Client, "bad", "", o); err == nil {
			t.Error("a schedule whose runs cannot be started is taken")
		}
	})
}

// handle lets a process handle the wanted ones among the delayed messages that are due, and returns
// how many there were.
func handle(t *testing.T, d *testbed.Deployment, p *testbed.Process, wanted func(*engine.Message) bool) (handled int) {
	t.Helper()
	deliveries, err := d.Queue.Receive(t.Context(), queue.Timers, queue.MaxBatch)
	for _, delivery := range deliveries {
		m, bad := outbox.Decode(delivery.Body)
		if err = errors.Join(err, bad); err != nil {
			break
		}
		if wanted(m) {
			handled++
			err = errors.Join(p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: 1}), d.Queue.Delete(t.Context(), queue.Timers, delivery.Receipt))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return handled
}

// A run that is asked to end before it has begun, because its message is late, ends after it has
// begun.
func TestEndBeforeItBegins(t *testing.T) {
	t.Parallel()
	for overlap, want := range map[client.Overlap]history.Status{client.OverlapCancel: history.Canceled, client.OverlapTerminate: history.Terminated} {
		synctest.Test(t, func(t *testing.T) {
			ctx, d := t.Context(), testbed.New(t)
			p := d.Idle(executor.Options{}, registrations()...)
			o := workflow.ScheduleOptions{Every: []client.Every{{Interval: 24 * time.Hour}}, Overlap: overlap}
			s, err := job.Schedule(ctx, p.Client, "s", "10h", o)
			for range 2 {
				err = errors.Join(err, s.Trigger(ctx, ""))
				time.Sleep(time.Second)
			}
			if err != nil {
				t.Fatal(err)
			}
			overtook := handle(t, d, p, func(m *engine.Message) bool { return m.Kind == engine.DeliverExternal })
			if overtook != 1 {
				t.Fatalf("%d requests are on their way, want one", overtook)
			}
			defer d.Replay(registrations()...)
			p = d.Start(executor.Options{}, registrations()...)
			defer p.Stop()
			time.Sleep(time.Hour)
			got := describe(t, p.Schedule("s"))
			if got.Started != 2 || len(got.Running) != 1 || got.Recent[0].Status != want.String() {
				t.Errorf("%s: %d started, %d open: %+v", overlap, got.Started, len(got.Running), got.Recent)
			}
		})
	}
}
