package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A history that does not fit into one commit is copied into several, in one put. Events that were
// pending are pending in the new run.
func TestResetOfALongHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{MaxCommit: 2000}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter","input":1000}`)
		update := func(name, input string) {
			p.Do(http.MethodPost, "/v1/workflows/a/updates/"+name, `{"waitFor":"accepted","input":`+input+`}`)
		}
		update("do", `{"name":"early","for":"90m"}`)
		update("nap", `"10h"`)
		for n := range 100 {
			update("add", fmt.Sprint(n%3))
		}
		whole := strings.Join(events(d, "a"), "\n")
		a := p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"eventId":310,"exclude":["updates"]}`)
		if a.Status != http.StatusCreated {
			t.Fatalf("reset: %d %s", a.Status, a.Body)
		}
		got := events(d, "a")
		cut := 0
		for i, e := range got {
			if strings.HasSuffix(e, "WorkflowTaskFailed") {
				cut = i
			}
		}
		if cut < 300 || !strings.HasPrefix(whole, strings.Join(got[:cut], "\n")) {
			t.Errorf("the new run begins differently; both are the same up to event %d:\n%s", cut,
				cmp.Diff(strings.Split(whole, "\n")[:cut+3], got[:min(len(got), cut+3)]))
		}
		if runs := d.Runs("a"); len(runs) != 2 || len(runs[1].Log) < 6 {
			t.Errorf("the new run begins with fewer commits than its history needs: %d", len(runs[1].Log))
		}
		var now schema.Description
		p.Do(http.MethodGet, "/v1/workflows/a", "").Into(t, &now)
		if len(now.PendingActivities) != 1 || len(now.PendingTimers) != 1 {
			t.Errorf("pending in the new run: %+v", now)
		}
		d.CheckReplay(p)
	})
}

// A run's first commit is nearly as large as a commit may be. The run that a reset opens begins
// with the same event, and is listed.
func TestResetOfALargeStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{MaxCommit: 2000}, testbed.Workload("build-2")...)
		a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter","input":1000,"memo":{"note":"`+strings.Repeat("x", 1500)+`"}}`)
		if a.Status != http.StatusCreated {
			t.Fatalf("start: %d %s", a.Status, a.Body)
		}
		p.Do(http.MethodPost, "/v1/workflows/a/updates/add", `{"input":1}`)
		if a := p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"to":"lastTask"}`); a.Status != http.StatusCreated {
			t.Fatalf("reset: %d %s", a.Status, a.Body)
		}
		if c := d.Runs("a")[1].Log[0]; c.Opens() == nil || c.Fence() {
			t.Errorf("the new run begins with %d events", len(c.Events()))
		}
		var list schema.ListResponse
		p.Do(http.MethodGet, "/v1/workflows?type=counter&status=running", "").Into(t, &list)
		if len(list.Workflows) != 1 {
			t.Errorf("the list has %+v", list.Workflows)
		}
		d.CheckReplay(p)
	})
}

// A reset that does not fit into one put is refused and changes nothing.
func TestResetThatIsTooLarge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{MaxCommit: 2000}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter","input":1000}`)
		for range 60 {
			p.Do(http.MethodPost, "/v1/workflows/a/updates/add", `{"input":1}`)
		}
		before := d.Snapshot()
		a := p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"to":"firstTask"}`)
		if a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(string(a.Body), "exclude updates") {
			t.Errorf("the reset was answered %d %s", a.Status, a.Body)
		}
		if d.Snapshot() != before {
			t.Error("a refused reset has changed something")
		}
		if a := p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"to":"firstTask","exclude":["updates"]}`); a.Status != http.StatusCreated {
			t.Errorf("without the updates the reset was answered %d %s", a.Status, a.Body)
		}
	})
}

// Random numbers that code drew before the reset task are the same in the new run, although its id
// differs. They follow from the run in which the history began.
func TestResetKeepsRandomNumbers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		dice, rolls := workflow.NewWorkflow[workflow.None, workflow.None]("dice"), workflow.NewUpdate[workflow.None, int64]("roll")
		p := d.Start(executor.Options{}, workflow.Bind(dice, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
			rolls.Handle(ctx, func(ctx workflow.Context, _ workflow.None) (int64, error) { return workflow.Random(ctx).Int64(), nil })
			return workflow.None{}, workflow.Await(ctx, func() bool { return false })
		}, workflow.Names(rolls)))
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"dice"}`)
		roll := func() (n int64) {
			var answer struct{ Result int64 }
			p.Do(http.MethodPost, "/v1/workflows/a/updates/roll", `{}`).Into(t, &answer)
			return answer.Result
		}
		first, second := roll(), roll()
		for range 2 { // the second time the base run was itself opened by a reset
			if a := p.Do(http.MethodPost, "/v1/workflows/a/reset", `{"eventId":10,"exclude":["updates"]}`); a.Status != http.StatusCreated {
				t.Fatalf("reset: %d %s", a.Status, a.Body)
			}
			if again := roll(); again != second || first == second {
				t.Errorf("the code drew %d and %d, and after the reset %d", first, second, again)
			}
		}
		d.CheckReplay(p)
	})
}

// events returns the events of a workflow's latest run, as ids and types.
func events(d *testbed.Deployment, id string) (list []string) {
	runs := d.Runs(id)
	for _, c := range runs[len(runs)-1].Log {
		for _, e := range c.Events() {
			list = append(list, fmt.Sprintf("%d %s", e.ID, e.Type()))
		}
	}
	return list
}

// A run that a reset opens is listed under the build that it is pinned to, whatever builds the
// copied history names.
func TestResetOfAPinnedRunIsListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{Build: "build-2"}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"pinned","input":1}`)
		for _, move := range []string{`{"unpin":true}`, `{}`} {
			if a := p.Do(http.MethodPost, "/v1/workflows/a/move", move); a.Status != http.StatusOK {
				t.Fatalf("move: %d %s", a.Status, a.Body)
			}
		}
		var tasks []*history.Commit
		for c := range engine.Tasks(d.Runs("a")[0].Commits()) {
			tasks = append(tasks, c)
		}
		reset := fmt.Sprintf(`{"eventId":%d}`, tasks[len(tasks)-2].TaskScheduledID()) // the first move caused this task
		if a := p.Do(http.MethodPost, "/v1/workflows/a/reset", reset); a.Status != http.StatusCreated {
			t.Fatalf("reset: %d %s", a.Status, a.Body)
		}
		var now schema.Description
		var list schema.ListResponse
		p.Do(http.MethodGet, "/v1/workflows/a", "").Into(t, &now)
		p.Do(http.MethodGet, "/v1/workflows?status=running", "").Into(t, &list)
		if len(list.Workflows) != 1 || cmp.Diff(list.Workflows[0].WorkflowRun, now.WorkflowRun) != "" || now.Build != "build-2" {
			t.Errorf("listed: %+v\nwant %+v", list.Workflows, now.WorkflowRun)
		}
		d.CheckReplay(p)
	})
}

// A history that changes its visibility in several commits is listed with its values at the reset
// point.
func TestResetOfVisibilityInALongHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{MaxCommit: 2000}, testbed.Workload("build-2")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"shower","input":"","searchAttributes":{"Region":{"keyword":"at first"}}}`)
		for n := range 30 {
			p.Do(http.MethodPost, "/v1/workflows/a/updates/show", fmt.Sprintf(`{"input":{"amount":%d,"note":"note %d"}}`, n, n))
		}
		var point int64
		for c := range engine.Tasks(d.Runs("a")[0].Commits()) {
			if point = c.TaskScheduledID(); point > 150 {
				break
			}
		}
		if a := p.Do(http.MethodPost, "/v1/workflows/a/reset", fmt.Sprintf(`{"eventId":%d,"exclude":["updates"]}`, point)); a.Status != http.StatusCreated {
			t.Fatalf("reset: %d %s", a.Status, a.Body)
		}
		if runs := d.Runs("a"); len(runs[1].Log) < 4 {
			t.Fatalf("the new run begins with %d commits: too few to test anything", len(runs[1].Log))
		}
		var now schema.Description
		var list schema.ListResponse
		p.Do(http.MethodGet, "/v1/workflows/a", "").Into(t, &now)
		p.Do(http.MethodGet, "/v1/workflows?status=running", "").Into(t, &list)
		amount, _ := testbed.Amount.Of(now.SearchAttributes)
		region, _ := testbed.Region.Of(now.SearchAttributes)
		if note, _ := testbed.Note.Of(now.Memo); amount < 15 || amount > 28 || note != fmt.Sprint("note ", amount) || region != "at first" {
			t.Errorf("described: %+v", now.WorkflowRun)
		}
		if len(list.Workflows) != 1 || cmp.Diff(list.Workflows[0].WorkflowRun, now.WorkflowRun) != "" {
			t.Errorf("listed: %+v\nwant %+v", list.Workflows, now.WorkflowRun)
		}
		d.CheckReplay(p)
	})
}

// A run that follows another has the end of its chain in its first event. A reset gives the run
// another end, and the whole new run is kept until then.
func TestResetIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const whole = 30 * 24 * time.Hour // longer than the retention
		waiting := workflow.NewWorkflow[workflow.None, string]("waiting")
		enough := workflow.NewSignal[workflow.None]("enough")
		run := func(ctx workflow.Context, _ workflow.None) (string, error) {
			if workflow.InfoOf(ctx).Attempt < 2 {
				return "", errors.New("not at once")
			}
			_, err := enough.Receive(ctx)
			return "waited", err
		}
		d := testbed.New(t)
		p := d.Start(executor.Options{}, workflow.Bind(waiting, run, workflow.Names(enough)))
		_, err := waiting.Start(t.Context(), p.Client, "w", workflow.None{}, workflow.StartOptions{ExecutionTimeout: whole, Retry: &workflow.Retry{}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole - time.Hour)
		if _, err := p.Client.Reset(t.Context(), "w", client.ResetOptions{To: "lastTask"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(whole - time.Hour)
		p.Stop() // the process's memory would hide what the store lacks
		p = d.Start(executor.Options{}, workflow.Bind(waiting, run, workflow.Names(enough)))
		if err := enough.Send(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		if result, err := waiting.Get(p.Client, "w").Result(t.Context()); err != nil || result != "waited" {
			t.Errorf("the reset run ended with %q, %v", result, err)
		}
	})
}
