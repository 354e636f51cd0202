package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// damagedLog is a log in which the items of one workflow are damaged while damaged is set.
type damagedLog struct {
	store.Log
	damaged atomic.Bool
	met     atomic.Int64 // how often a damaged item was read
}

func (l *damagedLog) check(workflowID string) error {
	if workflowID != "bad" || !l.damaged.Load() {
		return nil
	}
	l.met.Add(1)
	return fmt.Errorf("%w: the item %q", store.ErrCorrupt, workflowID)
}

func (l *damagedLog) Append(ctx context.Context, items ...store.Item) error {
	if err := l.check(items[0].Workflow); err != nil {
		return err
	}
	return l.Log.Append(ctx, items...)
}

func (l *damagedLog) Backward(ctx context.Context, workflowID string, before, until store.Key, limit int) (store.Page, error) {
	if err := l.check(workflowID); err != nil {
		return store.Page{}, err
	}
	return l.Log.Backward(ctx, workflowID, before, until, limit)
}

func (l *damagedLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	if err := l.check(from.Workflow); err != nil {
		return store.Page{}, err
	}
	return l.Log.Forward(ctx, from, limit)
}

// The answer to a request for a damaged run reports the damage and names the workflow. The run's
// messages wait, and other runs continue. The run itself continues when its data is restored.
func TestDamagedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		log := &damagedLog{Log: d.Ports.Log}
		d.Ports.Log = log
		nap := workflow.NewWorkflow[time.Duration, string]("nap")
		sleeper := workflow.Bind(nap, func(ctx workflow.Context, d time.Duration) (string, error) {
			return "slept", workflow.Sleep(ctx, d)
		})
		p := d.Start(executor.Options{}, sleeper)
		for _, id := range []string{"bad", "good"} {
			if _, err := nap.Start(ctx, p.Client, id, 5*time.Minute, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		p.Stop() // the process's memory would hide the damage
		log.damaged.Store(true)
		p = d.Start(executor.Options{}, sleeper)
		for _, request := range []string{
			"GET /v1/workflows/bad", "GET /v1/workflows/bad/history", "GET /v1/workflows/bad/result",
			"POST /v1/workflows/bad/signals/x", "POST /v1/workflows/bad/updates/x", "POST /v1/workflows/bad/queries/x", "POST /v1/workflows/bad/cancel",
		} {
			method, target, _ := strings.Cut(request, " ")
			body := ""
			if method == http.MethodPost {
				body = "{}"
			}
			w := httptest.NewRecorder() // Process.Do treats each 500 as a defect
			p.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, target, strings.NewReader(body)))
			if text := w.Body.String(); w.Code != http.StatusInternalServerError || !strings.Contains(text, `workflow \"bad\" is damaged`) {
				t.Errorf("%s: %d %s", request, w.Code, text)
			}
		}
		log.met.Store(0)
		time.Sleep(time.Hour) // the run's timer is due, and its message is redelivered
		if met := log.met.Load(); met == 0 || met > 400 {
			t.Errorf("the deliveries of an hour read the damaged item %d times: want some, at most at the queue's pace", met)
		}
		if a := p.Do(http.MethodGet, "/v1/workflows/good/result", ""); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "slept") {
			t.Errorf("a request to the other run: %d %s", a.Status, a.Body)
		}
		log.damaged.Store(false)
		time.Sleep(24 * time.Hour)
		if a := p.Do(http.MethodGet, "/v1/workflows/bad/result", ""); a.Status != http.StatusOK || !strings.Contains(string(a.Body), "slept") {
			t.Errorf("a request to the run after its data was restored: %d %s", a.Status, a.Body)
		}
	})
}
