package flow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
