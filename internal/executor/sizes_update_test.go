package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// An update ends a run. Its input, its outcome and the run's result fit into two commits, whatever
// the code does with them.
func TestLargeUpdateThatEndsTheRun(t *testing.T) {
	t.Parallel()
	for _, waits := range []bool{false, true} {
		for _, size := range shortform.Or([]int{100 << 10, 150 << 10, 180 << 10}, []int{150 << 10}) {
			for _, cache := range []int{0, -1} {
				t.Run(fmt.Sprint(waits, size, cache), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { playUpdateThatEnds(t, waits, size, cache) })
				})
			}
		}
	}
}

func playUpdateThatEnds(t *testing.T, waits bool, size, cache int) {
	ends, now := workflow.NewWorkflow[int, string]("ends"), workflow.NewUpdate[string, string]("ends.now")
	code := workflow.Bind(ends, func(ctx workflow.Context, _ int) (text string, err error) {
		now.Handle(ctx, func(_ workflow.Context, s string) (string, error) { text = s; return s, nil })
		err = workflow.Await(ctx, func() bool { return text != "" })
		if err == nil && waits {
			err = workflow.AwaitHandlers(ctx)
		}
		return text, err
	}, workflow.Names(now))
	d := testbed.New(t)
	p := d.Start(executor.Options{CacheEntries: cache}, code)
	defer d.Replay(code)
	defer p.Stop()
	run, err := ends.Start(t.Context(), p.Client, "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", size)
	got, err := now.Call(t.Context(), p.Client, "a", text)
	if err != nil || got != text {
		t.Fatalf("the update has %d bytes, %v", len(got), err)
	}
	if got, err := run.Result(t.Context()); err != nil || got != text {
		t.Errorf("the run has %d bytes, %v", len(got), err)
	}
}

// A large update arrives at a run whose next task has to answer another large update, because the
// run was reset. That task runs first.
func TestLargeUpdateAfterAReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"bulky"}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		echo := func(id string) *testbed.Answer {
			return p.Do(http.MethodPost, "/v1/workflows/a/updates/echo", fmt.Sprintf(`{"updateId":%q,"input":%q}`, id, strings.Repeat("x", 195<<10)))
		}
		if a := echo("u1"); a.Status != http.StatusOK && a.Status != http.StatusAccepted {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		hooks.Next(testbed.OnPut, func(do func() error) error { return do() })
		hooks.Always(testbed.OnPut, testbed.Faults["throttle"]()) // so that this task is not put
		p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"to":"firstTask"}`)
		hooks.Always(testbed.OnPut, nil)
		if runs := d.Runs("a"); len(runs) != 2 || runs[1].State.Pending != history.PendingTask {
			t.Fatalf("%d runs, the last one waits for %v", len(runs), runs[len(runs)-1].State.Pending)
		}
		if a := echo("u2"); a.Status != http.StatusOK && a.Status != http.StatusAccepted {
			t.Errorf("%d %.300s", a.Status, a.Body)
		}
		d.CheckReplay(p)
	})
}
