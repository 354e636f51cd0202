package weftest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// A deleted run does not exist for the environment. Other runs of the workflow are still found.
func TestADeletedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := newEnv(t)
		first := start(t, env)
		if _, err := first.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := start(t, env)
		if _, err := second.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := first.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		if runs := env.Runs("order-1"); len(runs) != 1 || runs[0].RunID != second.RunID || runs[0].Status != history.Completed {
			t.Errorf("%v, want run %s alone", runs, second.RunID)
		}
		env.Sleep(3 * time.Hour)
		if err := second.Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		if runs := env.Runs("order-1"); len(runs) != 0 {
			t.Errorf("%v, want none", runs)
		}
		third := start(t, env)
		if h := env.History("order-1"); h.RunID != third.RunID || h.Status != history.Running {
			t.Errorf("%v, want run %s", h, third.RunID)
		}
	})
}
