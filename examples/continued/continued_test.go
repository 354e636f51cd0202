package continued_test

import (
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/continued"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// A meter continues in a new run after every third reading, and its callers do not notice.
func TestContinued(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, p := t.Context(), testbed.One(t, continued.Registrations()...)
		run, err := continued.Workflow.Start(ctx, p.Client, "meter", continued.State{RunLength: 3})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if total, err := continued.Reading.Call(ctx, p.Client, "meter", 5); total != 5*(i+1) || err != nil {
				t.Errorf("reading %d: the total is %d, %v", i, total, err)
			}
		}
		want := continued.State{Total: 50, Readings: 10, Runs: 3, RunLength: 3}
		if now, err := continued.Current.Ask(ctx, p.Client, "meter", struct{}{}); now != want || err != nil {
			t.Errorf("%+v, %v", now, err)
		}
		if err := continued.Scrap.Send(ctx, p.Client, "meter", struct{}{}); err != nil {
			t.Error(err)
		}
		// The handle belongs to the first run, and the result is that of the last one.
		if result, err := run.Result(ctx); result != want || err != nil {
			t.Errorf("%+v, %v", result, err)
		}
	})
}
