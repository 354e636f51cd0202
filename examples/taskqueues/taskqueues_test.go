package taskqueues_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/taskqueues"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// The archive takes a minute for each report, two at a time, because in this deployment a task
// queue runs that many activities at once.
func TestTaskQueues(t *testing.T) {
	for name, test := range map[string]struct {
		urgent        bool
		reports, slow int // the number of activities on each task queue
	}{
		"in the slow lane": {false, 3, 3},
		"urgent":           {true, 6, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, p := t.Context(), testbed.One(t, taskqueues.Registrations()...)
				begun := time.Now()
				run, err := taskqueues.Workflow.Start(ctx, p.Client, "reports-1", taskqueues.Order{Topics: []string{"tea", "cups", "pots"}, Urgent: test.urgent})
				if err != nil {
					t.Fatal(err)
				}
				kept, err := run.Result(ctx)
				if err != nil || !slices.Contains(kept, "archive/a page of facts about cups") || len(kept) != 3 {
					t.Errorf("%q, %v", kept, err)
				}
				if took := time.Since(begun).Truncate(time.Minute); took != 2*time.Minute {
					t.Errorf("three reports took %v, want 2m: two at once", took)
				}
				history := string(p.Do(http.MethodGet, "/v1/workflows/reports-1/history", "").Body)
				for where, want := range map[string]int{"reports": test.reports, "slow": test.slow} {
					if n := strings.Count(history, fmt.Sprintf(`"taskQueue":%q`, where)); n != want {
						t.Errorf("%d activities on the task queue %s, want %d", n, where, want)
					}
				}
			})
		})
	}
}

// If the task queue for reports has a rate of one a minute, three reports are rendered one after
// the other, however many may run at once.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rate := func(taskQueue string) limits.Rate {
			if taskQueue == "reports" {
				return limits.Rate{PerSecond: 1.0 / 60, Burst: 1}
			}
			return limits.Rate{}
		}
		p := testbed.New(t).Start(executor.Options{Rate: rate}, taskqueues.Registrations()...)
		begun := time.Now()
		run, err := taskqueues.Workflow.Start(t.Context(), p.Client, "reports-1", taskqueues.Order{Topics: []string{"tea", "cups", "pots"}})
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := run.Result(t.Context()); err != nil || len(kept) != 3 {
			t.Errorf("%q, %v", kept, err)
		}
		if took := time.Since(begun).Truncate(time.Minute); took != 3*time.Minute {
			t.Errorf("three reports took %v, want 3m: two until the last is rendered, and one to keep it", took)
		}
	})
}
