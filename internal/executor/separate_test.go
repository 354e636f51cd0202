package executor_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// Activities can be deployed separately from workflows. A process without the workflow's code sends
// results to the workflow's queue, and writes nothing to the log itself.
func TestActivitiesSeparate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		workflows := d.Idle(executor.Options{}, workflow.Bind(testbed.Sequence, func(ctx workflow.Context, n int) (int, error) {
			_, err := testbed.Work.Run(ctx, testbed.Job{Name: "x"})
			return n, err
		}))
		activities := d.Idle(executor.Options{}, testbed.Work)
		a := workflows.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"sequence","input":3}`)
		if a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		d.Drain(t.Context(), func(name string) *testbed.Process {
			if name == queue.Activities {
				return activities
			}
			return workflows
		})
		if a := workflows.Do(http.MethodGet, "/v1/workflows/a/result", ""); !strings.Contains(string(a.Body), `"result":3`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// attempt lets a process handle the next message of the activity queue, with the other fields of
// the delivery.
func attempt(t *testing.T, d *testbed.Deployment, p *testbed.Process, with executor.Delivery) {
	t.Helper()
	deliveries, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
	if err != nil {
		t.Fatal(err)
	}
	if with.Message, err = outbox.Decode(deliveries[0].Body); err != nil {
		t.Fatal(err)
	}
	if err := p.Service.Service.Deliveries.Handle(t.Context(), with); err != nil {
		t.Error(err)
	}
	if err := d.Queue.Delete(t.Context(), queue.Activities, deliveries[0].Receipt); err != nil {
		t.Error(err)
	}
}

// An attempt that cannot end within its function's time is held, visibly and for any time, until a
// deployment allows it.
func TestLongestAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"sequence","input":1}`)
		for range 3 {
			got, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
			if err != nil {
				t.Fatal(err)
			}
			held := executor.Delivery{Received: 1, Longest: activity.DefaultStartToClose - time.Second}
			if held.Message, err = outbox.Decode(got[0].Body); err != nil {
				t.Fatal(err)
			}
			for range 2 { // duplicates become one message
				if err := p.Service.Service.Deliveries.Handle(t.Context(), held); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Queue.Delete(t.Context(), queue.Activities, got[0].Receipt); err != nil {
				t.Fatal(err)
			}
			what := p.Do(http.MethodGet, "/v1/workflows/a", "")
			if !strings.Contains(string(what.Body), `"held":"an attempt may take 30s, and the function that runs it allows 29s`) {
				t.Errorf("%s", what.Body)
			}
			time.Sleep(5 * time.Minute)
			if _, err := p.Service.Service.Deliveries.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if n := d.Queue.Len(queue.Activities); n != 1 {
				t.Fatalf("%d messages are sent again", n)
			}
		}
		d.Drain(t.Context(), func(string) *testbed.Process { return p })
		if a := p.Do(http.MethodGet, "/v1/workflows/a/result", ""); !strings.Contains(string(a.Body), `"result":1`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// A process that was delayed has too little time left for an attempt that would otherwise fit. The
// message is redelivered, and no attempt is counted.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Idle(executor.Options{}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"sequence","input":1}`)
		for received := 1; received <= 2; received++ {
			attempt(t, d, p, executor.Delivery{
				Received: received, Deadline: time.Now().Add(activity.DefaultStartToClose - time.Second), Longest: time.Minute,
			})
		}
		d.Drain(t.Context(), func(string) *testbed.Process { return p })
		if a := p.Do(http.MethodGet, "/v1/workflows/a/result", ""); !strings.Contains(string(a.Body), `"result":1`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
		if a := p.Do(http.MethodGet, "/v1/workflows/a/history", ""); !strings.Contains(string(a.Body), `"attempt":1`) {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}
