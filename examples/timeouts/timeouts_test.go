package timeouts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/timeouts"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

func TestTimeouts(t *testing.T) {
	for name, test := range map[string]struct {
		document timeouts.Document
		want     timeouts.Report
		took     time.Duration
	}{
		"both in time": {
			timeouts.Document{Scan: time.Second, Fetch: 9 * time.Minute},
			timeouts.Report{Scan: "done", Fetch: "done"},
			9*time.Minute + time.Second,
		},
		"two attempts at the scan take too long": { // with a second between them
			timeouts.Document{Scan: time.Hour},
			timeouts.Report{Scan: "startToClose", Fetch: "done"},
			2*time.Minute + time.Second,
		},
		"the fetch has time for one attempt and a half": {
			timeouts.Document{Fetch: 11 * time.Minute},
			timeouts.Report{Scan: "done", Fetch: "scheduleToClose"},
			15 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, p := t.Context(), testbed.One(t, timeouts.Registrations()...)
				begun := time.Now()
				run, err := timeouts.Workflow.Start(ctx, p.Client, "document-1", test.document)
				if err != nil {
					t.Fatal(err)
				}
				report, err := run.Result(ctx)
				if err != nil || report != test.want {
					t.Errorf("%+v, %v; want %+v", report, err, test.want)
				}
				if took := time.Since(begun).Truncate(time.Second); took != test.took {
					t.Errorf("the run took %v, want %v", took, test.took)
				}
			})
		})
	}
}
