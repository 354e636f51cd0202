package flow_test

import (
	"flag"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/batch/stored"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// forms are the stored forms of a batch, by the names of the files in testdata/stored: one with all
// fields, and one with the fewest.
var forms = map[string]func([]byte) ([]byte, error){
	"state": testbed.Again[stored.State], "step": testbed.Again[stored.Step], "taken": testbed.Again[stored.Stepped], "stop": testbed.Again[stored.Stop],
	"rate": testbed.Again[stored.Rate], "description": testbed.Again[stored.Description], "memo": testbed.Again[stored.Memo],
}

// The form that an earlier version stored decodes, and encodes to the same bytes.
func TestStoredForms(t *testing.T) {
	t.Parallel()
	testbed.CheckForms(t, forms)
}

var record = flag.Bool("record", false, "record the history that later versions have to replay")

// kept is the history of a batch at a rate, whose rate was changed and that was then stopped. The
// first version of batches recorded it, with -record.
const kept = "testdata/stopped-v1.json"

// A batch whose history an earlier version recorded replays with the present code.
func TestKeptHistory(t *testing.T) {
	t.Parallel()
	if *record {
		recordHistory(t)
	}
	run, events := testbed.ReplayKept(t, kept, stored.WorkflowType, registrations()...)
	steps := 0
	for _, e := range events {
		if e.Type.String() == "ActivityTaskScheduled" {
			steps++
		}
	}
	if steps < 5 || !run.State.Status.Closed() {
		t.Errorf("it has %d steps, and is %s", steps, run.State.Status)
	}
}

func recordHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, registrations()...)
		defer p.Stop()
		open(t, p, named("w", 30)...)
		time.Sleep(time.Second)
		b := begin(t, p, client.BatchOptions{ID: "b", Filter: running, Action: cancels, Rate: 0.5})
		time.Sleep(6 * time.Second)
		if err := b.SetRate(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		time.Sleep(6 * time.Second)
		if err := b.Stop(t.Context(), "enough"); err != nil {
			t.Fatal(err)
		}
		ended(t, b)
		if err := os.WriteFile(kept, p.Do(http.MethodGet, "/v1/workflows/weft.batch:b/history", "").Body, 0o644); err != nil {
			t.Fatal(err)
		}
	})
}
