package nightly_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/examples/nightly"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A report runs each night at half past two in Berlin. The second one is late, and the third one
// continues from it. (The test's clock begins at the first hour of a Saturday.)
func TestNightly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, nightly.Registrations()...)
		midnight := time.Now().UTC()
		run, err := nightly.Workflow.Start(ctx, p.Client, "figures", workflow.None{}, nightly.Options())
		if err != nil {
			t.Fatal(err)
		}
		for night, want := range []nightly.Report{
			{Until: midnight.Add(90 * time.Minute), Total: 10, Attempt: 1},
			{Until: midnight.Add(26*time.Hour + 30*time.Minute), Total: 20, Attempt: 3},
			{Until: midnight.Add(49*time.Hour + 30*time.Minute), Total: 30, Attempt: 1},
		} {
			time.Sleep(24 * time.Hour)
			if got, err := nightly.Last.Ask(ctx, p.Client, "figures", workflow.None{}); got != want || err != nil {
				t.Errorf("after night %d: %+v, %v; want %+v", night+1, got, err, want)
			}
		}
		if err := nightly.Workflow.Get(p.Client, "figures").Cancel(ctx, "no more figures"); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); !errors.Is(err, workflow.ErrCanceled) {
			t.Errorf("the result of all nights is %v", err)
		}
	})
}
