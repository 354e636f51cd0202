package flow_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// The start of a batch that is sent again finds the batch, also if the deployment would refuse it
// now. The batch has deleted all runs with the names of its filter, or batches are off.
func TestAStartIsRepeated(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"", "b"} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{}, registrations()...)
			shop := workflow.NewAttribute[string]("Shop")
			o := workflow.StartOptions{SearchAttributes: []workflow.SearchAttribute{shop.Set("x")}}
			if _, err := waiter.Start(t.Context(), p.Client, "w", workflow.None{}, o); err != nil {
				t.Fatal(err)
			}
			if err := p.Terminate(t.Context(), "w", "", ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(3 * time.Hour)
			request := client.BatchOptions{ID: id, RequestID: "r", Filter: "Shop = 'x'", Action: &client.BatchAction{Kind: "delete"}}
			b := begin(t, p, request)
			if got := ended(t, b); got.State != "completed" || got.Counts.Done != 1 {
				t.Fatalf("%+v", got)
			}
			another := request
			another.ID, another.RequestID = "", "s"
			off := d.Start(executor.Options{NoBatches: true}, registrations()...)
			for says, p := range map[string]*testbed.Process{"none has the search attribute Shop": p, "Batches is off": off} {
				before := d.Snapshot()
				if again, err := p.StartBatch(t.Context(), request); err != nil || again.ID != b.ID || d.Snapshot() != before {
					t.Errorf("%s: %s, %v", says, again.ID, err)
				}
				_, err := p.StartBatch(t.Context(), another)
				if !errors.Is(err, client.ErrInvalid) && !errors.Is(err, client.ErrNotFound) || !strings.Contains(err.Error(), says) {
					t.Errorf("another request: %v, want %q", err, says)
				}
			}
		})
	}
}
