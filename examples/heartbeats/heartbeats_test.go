package heartbeats_test

import (
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/heartbeats"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// Each attempt continues from the last heartbeat of the one before it.
func TestHeartbeats(t *testing.T) {
	for name, test := range map[string]struct {
		table heartbeats.Table
		want  heartbeats.Report
	}{
		"nothing goes wrong":     {heartbeats.Table{Rows: 100}, heartbeats.Report{Rows: 100, Attempts: 1}},
		"lost once":              {heartbeats.Table{Rows: 100, LostAt: []int{40}}, heartbeats.Report{Rows: 60, From: 40, Attempts: 2}},
		"lost three times":       {heartbeats.Table{Rows: 100, LostAt: []int{10, 20, 90}}, heartbeats.Report{Rows: 10, From: 90, Attempts: 4}},
		"lost before the first":  {heartbeats.Table{Rows: 5, LostAt: []int{0}}, heartbeats.Report{Rows: 5, Attempts: 2}},
		"there is nothing to do": {heartbeats.Table{}, heartbeats.Report{Attempts: 1}},
		"lost at the last row":   {heartbeats.Table{Rows: 5, LostAt: []int{4}}, heartbeats.Report{Rows: 1, From: 4, Attempts: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, p := t.Context(), testbed.One(t, heartbeats.Registrations()...)
				run, err := heartbeats.Workflow.Start(ctx, p.Client, "table-1", test.table)
				if err != nil {
					t.Fatal(err)
				}
				if report, err := run.Result(ctx); err != nil || report != test.want {
					t.Errorf("%+v, %v; want %+v", report, err, test.want)
				}
			})
		})
	}
}
