package flow_test

import (
	"flag"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

var record = flag.Bool("record", false, "record the history that later versions have to replay")

// kept is the history of a whole run: its beats, up to the one with which it continues as new. The
// first version of the probe recorded it, with -record.
const kept = "testdata/run-v1.json"

// A run whose history an earlier version recorded replays with the present code. Otherwise the
// probe of a deployment would be stuck after an upgrade, until somebody ends its run.
func TestKeptHistory(t *testing.T) {
	t.Parallel()
	if *record {
		recordHistory(t)
	}
	run, _ := testbed.ReplayKept(t, kept, history.ProbeWorkflow)
	if n := len(run.State.Updates); n != 48 || run.State.Status != history.ContinuedAsNew {
		t.Errorf("it has %d beats, and is %s", n, run.State.Status)
	}
}

func recordHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{})
		defer p.Stop()
		for n := range int64(48) {
			u, err := p.Service.Service.Process.Parser().UpdateOwn(probe.WorkflowID, probe.UpdateName, &schema.UpdateRequest{
				UpdateID: probe.BeatID(n), WaitFor: schema.StageAccepted, Start: &schema.StartRequest{Type: history.ProbeWorkflow, IDConflictPolicy: string(command.UseExisting)},
			})
			if err == nil {
				_, err = p.Service.Service.Requests.Update(t.Context(), u)
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(probe.Every)
		}
		a := p.Do(http.MethodGet, "/v1/workflows/"+probe.WorkflowID+"/history?runId="+string(d.Runs(probe.WorkflowID)[0].State.RunID), "")
		if err := os.WriteFile(kept, a.Body, 0o600); err != nil {
			t.Fatal(err)
		}
	})
}
