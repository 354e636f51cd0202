package executor_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A start that waits for the outcome is answered within 29 s, however slow its put was: API Gateway
// waits no longer.
func TestASlowStartThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := workflow.NewWorkflow[string, string]("waits")
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{}, workflow.Bind(waits, func(ctx workflow.Context, _ string) (string, error) {
			return "done", workflow.Sleep(ctx, time.Hour)
		}))
		hooks.Next(testbed.OnPut, func(do func() error) error {
			time.Sleep(15 * time.Second)
			return do()
		})
		began := time.Now()
		a := p.Do(http.MethodPost, "/v1/workflows?wait=20s", `{"type":"waits","workflowId":"w","input":""}`)
		if took := time.Since(began); a.Status != http.StatusCreated || took < 15*time.Second || took > 25*time.Second {
			t.Errorf("the answer %d took %s: %s", a.Status, took, a.Body)
		}
	})
}

// The same holds for an update that waits until it has completed.
func TestASlowUpdateThatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := workflow.NewWorkflow[string, string]("waits")
		slow := workflow.NewUpdate[string, string]("slow")
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{}, workflow.Bind(waits, func(ctx workflow.Context, _ string) (string, error) {
			slow.Handle(ctx, func(ctx workflow.Context, _ string) (string, error) { return "done", workflow.Sleep(ctx, time.Hour) })
			return "done", workflow.Sleep(ctx, time.Hour)
		}, workflow.Names(slow)))
		for i, path := range []string{"/v1/workflows/w/updates/slow", "/v1/workflows/v/updates/slow"} {
			body := `{"updateId":"u","input":"","waitFor":"completed"}`
			if i == 0 {
				if _, err := waits.Start(t.Context(), p.Client, "w", ""); err != nil {
					t.Fatal(err)
				}
			} else {
				body = `{"updateId":"u","input":"","waitFor":"completed","start":{"type":"waits","input":"","idConflictPolicy":"fail"}}`
			}
			hooks.Next(testbed.OnPut, func(do func() error) error {
				time.Sleep(15 * time.Second)
				return do()
			})
			began := time.Now()
			a := p.Do(http.MethodPost, path, body)
			if took := time.Since(began); a.Status >= 300 || took < 15*time.Second || took > 25*time.Second {
				t.Errorf("the answer %d took %s: %s", a.Status, took, a.Body)
			}
		}
	})
}
