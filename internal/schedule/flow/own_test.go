package flow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schedule/flow"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// earlier creates a schedule as a version did that checked no names of Weft's own.
func earlier(t *testing.T, p *testbed.Process, id string, s stored.Schedule) {
	t.Helper()
	code := p.Process.Service.Process.Registry.Workflow(stored.WorkflowType)
	check := code.CheckInput
	code.CheckInput = func(history.Payload) error { return nil }
	defer func() { code.CheckInput = check }()
	input, err := json.Marshal(flow.State{ID: id, Schedule: s})
	if err != nil {
		t.Fatal(err)
	}
	workflowID := stored.IDPrefix + id
	c, err := p.Process.Service.Process.Parser().StartOwn(&schema.StartRequest{WorkflowID: &workflowID, Type: stored.WorkflowType, Input: input})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Process.Service.Requests.Start(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// A schedule that an earlier version has created goes on to start runs whose ids begin with
// "weft.". It starts none of Weft's own workflows.
func TestSchedulesWithOwnIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, typ, workflowID string
		started             bool
	}{
		{"weft.nightly", job.Name(), "", true},
		{"s", job.Name(), "weft.nightly", true},
		{"s", "weft.batch", "b", false},
		{"s", "weft.schedule", "weft.schedule:x", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, registrations()...)
			earlier(t, p, c.id, stored.Schedule{
				Spec:   stored.Spec{Intervals: []stored.Interval{{Every: stored.Duration(time.Hour)}}},
				Action: stored.Action{Type: c.typ, WorkflowID: c.workflowID, Input: json.RawMessage(`""`)},
			})
			time.Sleep(90 * time.Minute)
			s := describe(t, p.Schedule(c.id))
			if len(s.Recent) == 0 {
				t.Fatalf("%+v: it has started nothing: %+v", c, s)
			}
			for _, r := range s.Recent {
				switch {
				case c.started && (r.Status != "completed" || !strings.HasPrefix(r.WorkflowID, "weft.nightly")):
					t.Errorf("%+v: %+v", c, r)
				case !c.started && (r.Failure == nil || !strings.Contains(r.Failure.Message, "is one of Weft's own")):
					t.Errorf("%+v: %+v, %v", c, r, r.Failure)
				}
			}
		})
	}
}

// A schedule of an earlier version may have an action that no run can begin with. Each of its
// moments, and each trigger, is a run that failed and says why. It is tried once, and the schedule
// goes on: it can be changed.
func TestSchedulesWithAWrongAction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typ, input, want string }{
		{job.Name(), `5`, "cannot unmarshal number"},
		{"gone", `""`, `there is no workflow type "gone"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, registrations()...)
			earlier(t, p, "s", stored.Schedule{
				Spec:   stored.Spec{Intervals: []stored.Interval{{Every: stored.Duration(time.Hour)}}},
				Action: stored.Action{Type: c.typ, Input: json.RawMessage(c.input)},
			})
			time.Sleep(150 * time.Minute)
			if err := p.Schedule("s").Trigger(t.Context(), ""); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			s, commits := describe(t, p.Schedule("s")), len(d.Commits(stored.IDPrefix+"s", 1))
			if len(s.Recent) != 3 || s.Started != 3 || len(s.Running) != 0 {
				t.Errorf("%+v: %+v", c, s)
			}
			for _, r := range s.Recent {
				if r.Status != "failed" || r.Failure == nil || !strings.Contains(r.Failure.Message, c.want) {
					t.Errorf("%+v: %+v, %v", c, r, r.Failure)
				}
			}
			time.Sleep(20 * time.Minute)
			if after := len(d.Commits(stored.IDPrefix+"s", 1)); after != commits {
				t.Errorf("%+v: %d commits, and %d after a while", c, commits, after)
			}
			if err := p.Schedule("s").Change(t.Context(), job.Name(), history.Payload(`""`), client.ScheduleOptions{Every: []client.Every{{Interval: time.Hour}}}); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			if s := describe(t, p.Schedule("s")); s.Recent[len(s.Recent)-1].Status != "completed" {
				t.Errorf("%+v: after the change: %+v", c, s.Recent)
			}
		})
	}
}
