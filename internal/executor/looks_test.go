package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	tallies  = workflow.NewWorkflow[workflow.None, int]("tally")
	tallyAdd = workflow.NewUpdate[int, int]("add")
	tallySum = workflow.NewQuery[workflow.None, int]("sum")
)

// tally is a workflow that adds positive numbers. It counts in began how often its function began,
// which is once for each replay. It calls before in each validator and query.
func tally(began *int, before func(sum *int)) workflow.Registration {
	return workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
		*began++
		sum := 0
		tallySum.Handle(ctx, func(workflow.None) (int, error) {
			before(&sum)
			return sum, nil
		})
		tallyAdd.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
			sum += n
			return sum, nil
		}, workflow.Validate(func(n int) error {
			before(&sum)
			if n <= 0 {
				return fmt.Errorf("%d is not positive", n)
			}
			return nil
		}))
		return sum, workflow.Await(ctx, func() bool { return sum >= 1000 })
	}, workflow.Names(tallyAdd, tallySum))
}

func (w *tallied) add(n, status int) string {
	w.t.Helper()
	answer := w.p.Do(http.MethodPost, "/v1/workflows/w/updates/add", fmt.Sprintf(`{"input":%d}`, n))
	if answer.Status != status {
		w.t.Fatalf("add %d: %d %s; want %d", n, answer.Status, answer.Body, status)
	}
	return string(answer.Body)
}

// tallied is a process with a run of tally.
type tallied struct {
	t *testing.T
	p *testbed.Process
}

// cost returns the cost of fn.
func (w *tallied) cost(fn func()) meter.Cost {
	synctest.Wait()
	before := w.p.Meter.Cost()
	fn()
	synctest.Wait()
	after := w.p.Meter.Cost()
	return meter.Cost{Writes: after.Writes - before.Writes, Reads: after.Reads - before.Reads, Messages: after.Messages - before.Messages}
}

// A refused update or a query leaves a run's instance unchanged. It does not replay a warm run, and
// the next update does not either. A refusal costs one read, and for a cold run one replay.
func TestRefusalsKeepTheInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		began, again := 0, 0
		w := &tallied{t, d.Start(executor.Options{}, tally(&began, func(*int) {}))}
		w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
		for range 20 {
			w.add(1, http.StatusOK)
			if c := w.cost(func() { w.add(-1, http.StatusUnprocessableEntity) }); c.Writes != 0 || c.Reads != 1 || c.Messages != 0 {
				t.Fatalf("a refusal cost %+v; want one read", c)
			}
			w.p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", "")
		}
		if began != 1 {
			t.Errorf("the code ran %d times; want once", began)
		}
		cold := &tallied{t, d.Start(executor.Options{}, tally(&again, func(*int) {}))}
		if c := cold.cost(func() { cold.add(-1, http.StatusUnprocessableEntity) }); c.Writes != 0 || c.Reads != 1 || again != 1 {
			t.Errorf("a refusal of a cold run cost %+v and %d replays; want one of each", c, again)
		}
		w.add(5, http.StatusOK)
		cold.add(-1, http.StatusUnprocessableEntity)
		if body := cold.add(7, http.StatusOK); !strings.Contains(body, "32") || again != 1 {
			t.Errorf("after a refusal that read another process's commits: %s, %d replays; want 32 and 1", body, again)
		}
	})
}

// A process does not read a run again as long as somebody uses it: each commit that lands proves
// that the process's state is the latest. After an hour without use it reads the run again.
func TestUseKeepsARunKnown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := &tallied{t, testbed.New(t).Start(executor.Options{}, tally(&began, func(*int) {}))}
		w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
		for range 6 {
			time.Sleep(50 * time.Minute)
			if c := w.cost(func() { w.add(1, http.StatusOK) }); c.Reads != 0 || c.Writes != 1 {
				t.Fatalf("an update of a warm run cost %+v; want one write", c)
			}
		}
		time.Sleep(61 * time.Minute)
		if c := w.cost(func() { w.add(1, http.StatusOK) }); c.Reads != 1 || began != 2 {
			t.Errorf("an update an hour later cost %+v, and %d replays in all; want one read and another replay", c, began)
		}
	})
}

// A refusal changes nothing, so it evaluates no condition. A condition with a side effect is
// therefore evaluated as often as on replay.
func TestRefusalsAskNoCondition(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, asked := 0, 0
		add := workflow.NewUpdate[int, int]("add")
		code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
			began++
			add.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil }, workflow.Validate(func(n int) error {
				if n < 0 {
					return errors.New("no")
				}
				return nil
			}))
			return 0, workflow.Await(ctx, func() bool {
				asked++ //weftvet:ignore readonly the test needs it
				return asked > 5
			})
		}, workflow.Names(add))
		w := &tallied{t, testbed.New(t).Start(executor.Options{}, code)}
		w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
		first := asked
		for range 10 {
			w.add(-1, http.StatusUnprocessableEntity)
		}
		if asked != first || began != 1 {
			t.Errorf("ten refusals evaluated the condition %d times, and the code began %d times; want none and once", asked-first, began)
		}
		if w.add(1, http.StatusOK); asked != first+1 {
			t.Errorf("an accepted update evaluated the condition %d times, want once", asked-first)
		}
	})
}

// A validator or a query handler that changes state is found as soon as the change matters, and the
// error names it.
func TestImpureLooks(t *testing.T) {
	t.Parallel()
	bump := func(sum *int) { *sum += 100 }
	for name, c := range map[string]struct {
		before func(sum *int)
		script func(w *tallied)
		want   string
	}{
		"the update that it accepts": {bump, func(w *tallied) {}, `the validator of update \"add\" changes the workflow's state`},
		"an update after one that it refused": {bump, func(w *tallied) {
			w.add(-1, http.StatusUnprocessableEntity)
		}, `the validator of update \"add\" changes the workflow's state`},
		"an update that it refuses because of that": {bump, func(w *tallied) {
			for range 8 {
				w.add(-1, http.StatusUnprocessableEntity)
			}
		}, `the validator of update \"add\" changes the workflow's state`},
		"a query before": {bump, func(w *tallied) {
			w.p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", "")
		}, `the handler of query \"sum\"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := 0
				w := &tallied{t, testbed.New(t).Start(executor.Options{CheckLooks: 10}, tally(&began, c.before))}
				w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
				c.script(w)
				if body := w.add(1, http.StatusConflict); !strings.Contains(body, c.want) {
					t.Errorf("%s; want %s", body, c.want)
				}
			})
		})
	}
}

// A validator without side effects passes the check, whatever it returns. The checks stop after
// some number.
func TestPureLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := 0
		w := &tallied{t, testbed.New(t).Start(executor.Options{CheckLooks: 10}, tally(&began, func(*int) {}))}
		w.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
		for range 30 {
			w.add(1, http.StatusOK)
			w.add(-1, http.StatusUnprocessableEntity)
			w.p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", "")
		}
		if began < 10 || began > 40 {
			t.Errorf("the code ran %d times: want about two for each of ten checks of the validator, and of the query", began)
		}
	})
}
