package weftest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// A workflow that continues as new without waiting is slowed down to one run a second, from the
// eleventh quick run on. Runs that take a second are not slowed down. A delayed run begins at once
// when it is canceled, so that its code sees the cancellation.
func TestQuickContinuations(t *testing.T) {
	t.Parallel()
	spin := workflow.NewWorkflow[int, int]("spin")
	run := func(pause time.Duration, last int) workflow.Registration {
		return workflow.Bind(spin, func(ctx workflow.Context, n int) (int, error) {
			if err := workflow.Sleep(ctx, pause); err != nil {
				return -n, nil
			}
			if n == last {
				return n, nil
			}
			return spin.ContinueAsNew(ctx, n+1)
		})
	}
	for name, c := range map[string]struct {
		pause time.Duration
		last  int
		took  time.Duration
	}{
		"quick":       {0, 30, 19 * time.Second},
		"quick a few": {0, 11, 0},
		"slow":        {time.Second, 20, 20 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			env := weftest.New(t, run(c.pause, c.last))
			began := env.Now()
			started, err := spin.Start(t.Context(), env.Client(), "spin-1", 1)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := started.Result(t.Context()); err != nil || n != c.last {
				t.Errorf("%s: %d, %v", name, n, err)
			}
			runs := env.Runs("spin-1")
			if took := env.Now().Sub(began); took < c.took || took > c.took+time.Second {
				t.Errorf("%s: %d runs took %v; want %v", name, len(runs), took, c.took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		env := weftest.New(t, run(0, 1000))
		started, err := spin.Start(t.Context(), env.Client(), "spin-1", 1)
		if err != nil {
			t.Fatal(err)
		}
		env.Sleep(1500 * time.Millisecond)
		before := len(env.Runs("spin-1"))
		if err := env.Client().Cancel(t.Context(), "spin-1", "", "enough"); err != nil {
			t.Fatal(err)
		}
		n, err := started.Result(t.Context())
		if err != nil || n != -before {
			t.Errorf("the code of run %d has not seen the cancellation: %d, %v", before, n, err)
		}
	})
}
