package executor_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// watched is a deployment whose events go to a sink.
type watched struct {
	t    *testing.T
	d    *testbed.Deployment
	p    *testbed.Process
	told *testbed.Observed
}

func watch(t *testing.T, build string) *watched {
	w := &watched{t: t, d: testbed.New(t), told: &testbed.Observed{}}
	w.deploy(build)
	return w
}

func (w *watched) deploy(build string) {
	if w.p != nil {
		w.p.Stop()
	}
	w.p = w.d.Start(executor.Options{Build: build, Observe: observe.New(w.told)}, testbed.Workload(build)...)
}

// post sends a request. The events of the request and its messages have to be these lines.
func (w *watched) post(target, body string, want ...string) {
	w.t.Helper()
	w.p.Do(http.MethodPost, "/v1/workflows"+target, body)
	w.wait(0, want...)
}

func (w *watched) wait(d time.Duration, want ...string) {
	w.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	w.compare(w.told.Take(), want)
}

func (w *watched) compare(got, want []string) {
	w.t.Helper()
	if !slices.Equal(got, want) {
		w.t.Errorf("observed\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// together is post for a request whose messages are handled while it is answered. The order of the
// lines may vary.
func (w *watched) together(target, body string, want ...string) {
	w.t.Helper()
	w.p.Do(http.MethodPost, "/v1/workflows"+target, body)
	synctest.Wait()
	w.compare(slices.Sorted(slices.Values(w.told.Take())), slices.Sorted(slices.Values(want)))
}

// The service reports each of its actions once, with the action's outcome.
func TestReportedEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "build-1")
		w.post("", `{"workflowId":"a","type":"counter"}`, "task start normal 1, 4 events, committed")
		w.post("/a/updates/add", `{"updateId":"u1","input":7}`, "task update speculative 1, 5 events, committed", "update add accepted")
		w.post("/a/updates/add", `{"updateId":"u1","input":7}`) // a duplicate
		// A refusal depends on a read. The read finds nothing new, so the validator does not run
		// again.
		w.post("/a/updates/add", `{"input":-1}`, "task update speculative 1, 0 events, discarded", "update add rejected")
		w.post("/a/queries/sum", "")
		w.together("/a/updates/do", `{"input":{"name":"x","fails":1}}`,
			"task update speculative 1, 5 events, committed", "update do accepted", "attempt work 1, failed: application",
			"attempt work 2, completed", "task activity normal 1, 5 events, committed")
		w.post("/a/updates/nap", `{"input":"1h","waitFor":"accepted"}`, "task update speculative 1, 5 events, committed", "update nap accepted")
		w.wait(time.Hour, "timer 1h0m0s", "task timer normal 1, 5 events, committed")
		w.post("/a/signals/poke", `{"input":"done"}`, "closed completed, 34 events", "task signal normal 1, 5 events, committed")
	})
}

// A run whose code fails is reported as stuck from the second attempt on, until the code is fixed.
func TestStuckTasksAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := watch(t, "build-1")
		w.post("", `{"workflowId":"a","type":"counter"}`, "task start normal 1, 4 events, committed")
		w.post("/a/signals/poke", `{"input":"panic"}`, "task signal normal 1, 4 events, committed: panic")
		if n := w.told.Sum(observe.StuckTasks); n != 0 {
			t.Errorf("reported as stuck %v times after the first failure", n)
		}
		w.wait(4*time.Second, "task retry transient 2, 0 events, discarded: panic", "task retry transient 3, 0 events, discarded: panic")
		w.post("/a/updates/add", `{"input":1}`) // the run is not ready
		if n := w.told.Sum(observe.StuckTasks); n != 2 {
			t.Errorf("reported as stuck %v times, want 2", n)
		}
		if n := w.told.Sum(observe.TaskFailures); n != 3 {
			t.Errorf("%v failures were reported, want 3", n)
		}
		w.deploy("build-2")
		w.wait(15*time.Minute, "task retry transient 4, 3 events, committed")
	})
}

// The service reports a put that lost a race, and the task that it belonged to.
func TestLostRacesAreReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, d: testbed.New(t), told: &testbed.Observed{}}
		hooks := w.d.Hook()
		w.deploy("build-1")
		other := w.d.Idle(executor.Options{}, testbed.Workload("build-1")...)
		w.post("", `{"workflowId":"a","type":"counter"}`, "task start normal 1, 4 events, committed")
		hooks.Next(testbed.OnPut, func(put func() error) error {
			other.Do(http.MethodPost, "/v1/workflows/a/updates/add", `{"input":1}`)
			return put()
		})
		w.post("/a/updates/add", `{"input":2}`,
			"lost a race", "task update speculative 1, 5 events, lost", "task update speculative 1, 5 events, committed", "update add accepted")
		if n := w.told.Sum(observe.Writes); n != 2 {
			t.Errorf("%v writes were reported, want 2: a lost put is not a write", n)
		}
	})
}
