package flow_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// reset resets a batch.
func reset(t *testing.T, p *testbed.Process, id, to string) {
	t.Helper()
	if a := p.Do("POST", "/v1/workflows/"+stored.IDPrefix+id+"/reset", `{"to":"`+to+`"}`); a.Status >= 300 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
}

// A batch that is reset acts on no run that started after the batch.
func TestAResetKeepsTheMoment(t *testing.T) {
	t.Parallel()
	for _, to := range []string{"lastTask", "firstTask"} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, registrations()...)
			open(t, p, "before")
			b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, Action: cancels})
			first := ended(t, b)
			if first.Counts.Done != 1 {
				t.Errorf("%+v", first)
			}
			time.Sleep(time.Hour)
			open(t, p, "after")
			time.Sleep(time.Minute)
			reset(t, p, "b", to)
			again := ended(t, b)
			if status := d.Runs("after")[0].State.Status; status != history.Running || !again.StartedAt.Equal(first.StartedAt) {
				t.Errorf("reset to %s: the run that started after the batch is %s, and the batch %+v", to, status, again)
			}
		})
	}
}

// A batch that an earlier version has started has no moment in its input: the first task of its run
// is the moment.
func TestAnInputWithoutAMoment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, registrations()...)
		open(t, p, "before")
		input, err := json.Marshal(stored.State{Input: stored.Input{ID: "b", Key: "k", Filter: running, Action: &stored.Action{Kind: stored.Cancel}, MostRuns: 10}})
		if err != nil {
			t.Fatal(err)
		}
		id := stored.IDPrefix + "b"
		c, err := p.Process.Service.Process.Parser().StartOwn(&schema.StartRequest{WorkflowID: &id, Type: stored.WorkflowType, Input: input})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := p.Process.Service.Requests.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := ended(t, p.Batch("b")); got.Counts.Done != 1 || got.StartedAt.Before(began.Truncate(time.Second)) {
			t.Errorf("%+v", got)
		}
	})
}

// Batches that reset batches come to an end: each acts on the runs that were there before it.
func TestBatchesThatResetEachOtherEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		r := client.BatchOptions{Filter: "WorkflowType = 'weft.batch'", Action: &client.BatchAction{Kind: "reset", To: "firstTask"}, Rate: 1}
		for _, r.ID = range []string{"a", "b"} {
			if _, err := p.StartBatch(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
		}
		time.Sleep(5 * time.Minute)
		if a, b := len(d.Runs(stored.IDPrefix+"a")), len(d.Runs(stored.IDPrefix+"b")); a != 2 || b != 1 {
			t.Errorf("batch a has %d runs, and b has %d", a, b)
		}
	})
}
