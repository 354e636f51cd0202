package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// measured is a deployment with a process whose health metrics are recorded, and whose calls to
// other services may fail.
type measured struct {
	t *testing.T
	d *testbed.Deployment
	// p gets the requests, and handles no messages.
	p     *testbed.Process
	calls *failingCalls
	out   bytes.Buffer
	lines bytes.Buffer
	r     *emf.Recorder
}

// measure calls fn in a bubble. The workflow a runs.
func measure(t *testing.T, o executor.Options, fn func(m *measured)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &measured{t: t, d: testbed.New(t)}
		m.open(o)
		start(t, m.p, `{"workflowId":"a","type":"counter"}`)
		fn(m)
	})
}

// open starts the process that is measured.
func (m *measured) open(o executor.Options) {
	m.calls = &failingCalls{Ports: m.d.Ports}
	m.r = emf.New(&m.out, "shop", emf.Options{})
	o.Observe, o.Logger = observe.New(m.r), slog.New(slog.NewTextHandler(&m.lines, nil))
	kept := m.d.Ports
	m.d.Ports = m.calls.over(m.d.Ports)
	m.p = m.d.Idle(o, append(testbed.Workload("build-1"), workflow.Bind(fragile, runFragile, workflow.Names(crack)))...)
	m.d.Ports = kept
}

// ofCalls are the metrics of calls that fail. They are not those of the requests that make them.
var ofCalls = []*observe.Metric{
	observe.CallFailures, observe.StoreRefused, observe.StoreThrottled, observe.StoreUnanswered, observe.QueueRefused, observe.QueueThrottled, observe.QueueUnanswered,
	observe.PayloadFailures, observe.NotificationFailures,
}

// sums returns the metrics since the last call, but for those of calls.
func (m *measured) sums() map[string]float64 {
	m.t.Helper()
	if err := m.r.Flush(); err != nil {
		m.t.Fatal(err)
	}
	defer m.out.Reset()
	sums := emftest.Sums(m.t, m.out.String())
	for _, metric := range ofCalls {
		delete(sums, metric.Name)
	}
	return sums
}

// want sends a request. It must be answered with the status, and add this to the metrics.
func (m *measured) want(method, target, body string, status int, metrics map[string]float64) {
	m.t.Helper()
	a := m.p.Do(method, target, body)
	if a.Status != status {
		m.t.Errorf("%s %s: %d %s, want %d", method, target, a.Status, a.Body, status)
	}
	if diff := cmp.Diff(metrics, m.sums()); diff != "" {
		m.t.Errorf("%s %s, answered with %d: - want, + the metrics\n%s", method, target, a.Status, diff)
	}
}

func failedBy(metric string) map[string]float64 {
	return map[string]float64{"ApiFailures": 1, metric: 1}
}

var healthy = map[string]float64{}

// failingCalls are ports whose calls fail.
type failingCalls struct {
	executor.Ports

	mu sync.Mutex
	// fails returns the error of the call with this number, from 1, to a store or to a queue; nil
	// makes the call. It is nil if all calls are made.
	fails func(n int, ofQueue bool, ctx context.Context) error
	n     int
	// first is the metric of a request that fails by the first call that failed.
	first string
	// puts returns the error of each put, which does not reach the store; nil if they do.
	puts func() error
}

func (f *failingCalls) over(p executor.Ports) executor.Ports {
	p.Log, p.Attempts, p.Timers, p.Queue = failingLog{f}, failingAttempts{f}, failingTimers{f, p.Timers}, failingQueue{f}
	p.Lister, p.Keys, p.Eraser = failingLister{f}, failingKeys{f}, failingEraser{f}
	if p.Inspector != nil {
		p.Inspector, p.Browser, p.Redriver = failingInspector{f}, failingBrowser{f}, failingRedriver{f}
	}
	return p
}

// call makes a call, or returns its error.
func (f *failingCalls) call(ctx context.Context, ofQueue bool, do func() error) error {
	f.mu.Lock()
	f.n++
	n, fails := f.n, f.fails
	f.mu.Unlock()
	if fails == nil {
		return do()
	}
	err := fails(n, ofQueue, ctx)
	if err == nil {
		return do()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.first == "" {
		f.first = map[bool]string{toStore: "UnavailableStore", toQueue: "UnavailableQueue"}[ofQueue]
	}
	return err
}

func (f *failingCalls) store(ctx context.Context, do func() error) error {
	return f.call(ctx, false, do)
}

func (f *failingCalls) queue(ctx context.Context, do func() error) error {
	return f.call(ctx, true, do)
}

type (
	failingLog      struct{ f *failingCalls }
	failingAttempts struct{ f *failingCalls }
	failingTimers   struct {
		f *failingCalls
		store.Timers
	}
	failingLister    struct{ f *failingCalls }
	failingKeys      struct{ f *failingCalls }
	failingEraser    struct{ f *failingCalls }
	failingQueue     struct{ f *failingCalls }
	failingInspector struct{ f *failingCalls }
	failingBrowser   struct{ f *failingCalls }
	failingRedriver  struct{ f *failingCalls }
)

func (l failingLog) Append(ctx context.Context, items ...store.Item) error {
	return l.f.store(ctx, func() error {
		if l.f.puts != nil {
			return l.f.puts()
		}
		return l.f.Ports.Log.Append(ctx, items...)
	})
}

func (l failingLog) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (page store.Page, err error) {
	err = l.f.store(ctx, func() error {
		page, err = l.f.Ports.Log.Backward(ctx, workflow, before, until, limit)
		return err
	})
	return page, err
}

func (l failingLog) Forward(ctx context.Context, from store.Key, limit int) (page store.Page, err error) {
	err = l.f.store(ctx, func() error {
		page, err = l.f.Ports.Log.Forward(ctx, from, limit)
		return err
	})
	return page, err
}

func (l failingAttempts) RecordAttempt(ctx context.Context, a store.Attempt) error {
	return l.f.store(ctx, func() error { return l.f.Ports.Attempts.RecordAttempt(ctx, a) })
}

func (l failingAttempts) ReadAttempts(ctx context.Context, workflow string, run uint32) (all []store.Attempt, err error) {
	err = l.f.store(ctx, func() error {
		all, err = l.f.Ports.Attempts.ReadAttempts(ctx, workflow, run)
		return err
	})
	return all, err
}

func (l failingTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	return l.f.store(ctx, func() error { return l.Timers.PutTimers(ctx, timers) })
}

func (l failingLister) ListRuns(ctx context.Context, filter store.Filter, token string, limit int) (runs []store.Summary, next string, err error) {
	err = l.f.store(ctx, func() error {
		runs, next, err = l.f.Ports.Lister.ListRuns(ctx, filter, token, limit)
		return err
	})
	return runs, next, err
}

func (l failingKeys) ReadKey(ctx context.Context) (key []byte, err error) {
	err = l.f.store(ctx, func() error {
		key, err = l.f.Ports.Keys.ReadKey(ctx)
		return err
	})
	return key, err
}

func (l failingKeys) MakeKey(ctx context.Context, key []byte) error {
	return l.f.store(ctx, func() error { return l.f.Ports.Keys.MakeKey(ctx, key) })
}

func (l failingEraser) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	return l.f.store(ctx, func() error { return l.f.Ports.Eraser.Delete(ctx, items, attempts) })
}

func (l failingQueue) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return l.f.queue(ctx, func() error { return l.f.Ports.Queue.Send(ctx, name, messages...) })
}

func (l failingInspector) Depth(ctx context.Context, name string) (d queue.Depth, err error) {
	err = l.f.queue(ctx, func() error {
		d, err = l.f.Ports.Inspector.Depth(ctx, name)
		return err
	})
	return d, err
}

func (l failingBrowser) Browse(ctx context.Context, name string, most int) (bodies [][]byte, err error) {
	err = l.f.queue(ctx, func() error {
		bodies, err = l.f.Ports.Browser.Browse(ctx, name, most)
		return err
	})
	return bodies, err
}

func (l failingRedriver) Redrive(ctx context.Context, name string) error {
	return l.f.queue(ctx, func() error { return l.f.Ports.Redriver.Redrive(ctx, name) })
}

// fragile is a workflow whose query panics.
var (
	fragile = workflow.NewWorkflow[workflow.None, workflow.None]("fragile")
	crack   = workflow.NewQuery[workflow.None, int]("crack")
)

func runFragile(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
	crack.Handle(ctx, func(workflow.None) (int, error) { panic("cracked") })
	return workflow.None{}, workflow.Await(ctx, func() bool { return false })
}

// always fails each call to a store, or to a queue.
func always(ofQueue bool, err error) func(int, bool, context.Context) error {
	return func(_ int, of bool, _ context.Context) error {
		if of == ofQueue {
			return err
		}
		return nil
	}
}

const (
	toStore = false
	toQueue = true
)

var errDenied = errors.New("access denied")

// hang is a call that does not return before its context ends.
func hang(_ int, _ bool, ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A request that fails counts by what it failed by, and one that the caller can repair does not.
func TestCausesOfFailures(t *testing.T) {
	t.Parallel()
	add := func(m *measured, status int, metrics map[string]float64) {
		m.t.Helper()
		m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1}`, status, metrics)
	}
	slowly := func(metric string) map[string]float64 {
		return map[string]float64{"ApiFailures": 1, metric: 1, "SlowRequests": 1}
	}
	for name, play := range map[string]func(m *measured){
		"healthy": func(m *measured) {
			add(m, http.StatusOK, healthy)
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":-1}`, http.StatusUnprocessableEntity, healthy)
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":"x"}`, http.StatusUnprocessableEntity, healthy)
			m.want(http.MethodPost, workflows+"/a/queries/wrong", "", http.StatusUnprocessableEntity, healthy)
			m.want(http.MethodPost, workflows+"/a/queries/none", "", http.StatusNotFound, healthy)
			m.want(http.MethodGet, workflows+"/b", "", http.StatusNotFound, healthy)
		},
		"the store refuses": func(m *measured) {
			m.calls.fails = always(toStore, errDenied)
			add(m, http.StatusServiceUnavailable, failedBy("UnavailableStore"))
		},
		"the store throttles": func(m *measured) {
			m.calls.fails = always(toStore, store.ErrThrottled)
			m.want(http.MethodGet, workflows+"/a", "", http.StatusServiceUnavailable, failedBy("UnavailableStore"))
			add(m, http.StatusServiceUnavailable, slowly("UnavailableStore"))
		},
		"the store does not answer": func(m *measured) {
			m.calls.fails = always(toStore, store.ErrUnknown)
			add(m, http.StatusServiceUnavailable, slowly("UnavailableStore"))
		},
		"the store hangs, and the caller waits for a second": func(m *measured) {
			m.calls.fails = hang
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"1s"}`, http.StatusServiceUnavailable, failedBy("UnavailableStore"))
			time.Sleep(time.Minute) // until the work has ended
		},
		"the store throttles, and the caller waits for a second": func(m *measured) {
			m.calls.fails = always(toStore, store.ErrThrottled)
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"1s"}`, http.StatusServiceUnavailable, failedBy("UnavailableStore"))
			time.Sleep(time.Minute)
		},
		"the store is slow": func(m *measured) {
			m.calls.fails = func(int, bool, context.Context) error {
				time.Sleep(3 * time.Second)
				return nil
			}
			m.want(http.MethodGet, workflows+"/a", "", http.StatusOK, map[string]float64{"SlowRequests": 1})
			m.want(http.MethodGet, workflows+"/a/result?wait=4s", "", http.StatusAccepted, map[string]float64{"SlowRequests": 1})
		},
		"a queue refuses": func(m *measured) {
			m.calls.fails = always(toQueue, errDenied)
			add(m, http.StatusOK, healthy) // it sends nothing
			m.want(http.MethodPost, workflows+"/a/updates/do", `{"waitFor":"accepted","input":{"name":"x"}}`, http.StatusServiceUnavailable, failedBy("UnavailableQueue"))
			m.want(http.MethodPost, "/v1/queues/activities/redrive", "", http.StatusServiceUnavailable, failedBy("UnavailableQueue"))
		},
		"a queue hangs, and the caller waits for a second": func(m *measured) {
			m.calls.fails = func(_ int, ofQueue bool, ctx context.Context) error {
				if !ofQueue {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
			m.want(http.MethodPost, workflows+"/a/updates/do", `{"input":{"name":"x"},"timeout":"1s"}`, http.StatusServiceUnavailable, failedBy("UnavailableQueue"))
			time.Sleep(time.Minute)
		},
		"others are always faster": func(m *measured) {
			m.calls.fails = always(toStore, nil)
			lost := &store.Conflict{Existing: store.Item{Key: store.Key{Workflow: "another"}}}
			m.calls.puts = func() error { return lost }
			add(m, http.StatusServiceUnavailable, slowly("UnavailableContention"))
		},
		"callers give less than a second": func(m *measured) {
			m.calls.fails = hang
			const opened = `"start":{"type":"counter","idConflictPolicy":"useExisting"}`
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"40ms"}`, http.StatusServiceUnavailable, healthy)
			// That work still runs, so that others have to wait.
			for _, timeout := range []string{"0s", "999ms"} {
				m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"`+timeout+`"}`, http.StatusServiceUnavailable, healthy)
				m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"`+timeout+`",`+opened+`}`, http.StatusServiceUnavailable, healthy)
			}
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"1s"}`, http.StatusServiceUnavailable, failedBy("UnavailableContention"))
			time.Sleep(time.Minute) // until the work has ended
			// Work of a caller who does not wait has a second.
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"0s"}`, http.StatusServiceUnavailable, failedBy("UnavailableStore"))
			time.Sleep(time.Minute)
		},
		"others are always faster, and callers give less than a second": func(m *measured) {
			m.calls.fails = always(toStore, nil)
			lost := &store.Conflict{Existing: store.Item{Key: store.Key{Workflow: "another"}}}
			m.calls.puts = func() error { return lost }
			for _, timeout := range []string{"0s", "999ms"} {
				m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"`+timeout+`"}`, http.StatusServiceUnavailable, healthy)
				time.Sleep(time.Minute)
			}
			m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"1s"}`, http.StatusServiceUnavailable, failedBy("UnavailableContention"))
			time.Sleep(time.Minute)
		},
		"the store refuses those who give less than a second": func(m *measured) {
			m.calls.fails = always(toStore, errDenied)
			for _, timeout := range []string{"0s", "999ms"} {
				m.want(http.MethodPost, workflows+"/a/updates/add", `{"input":1,"timeout":"`+timeout+`"}`, http.StatusServiceUnavailable, failedBy("UnavailableStore"))
			}
		},
		"an update panics": func(m *measured) {
			failed := map[string]float64{"RefusedByCode": 1, "CodeFailures": 1, "TaskFailures": 1}
			m.want(http.MethodPost, workflows+"/a/updates/boom", "", http.StatusConflict, failed)
			m.want(http.MethodPost, workflows+"/a/updates/boom", "", http.StatusConflict, failed)
		},
		"a validator panics": func(m *measured) {
			m.want(http.MethodPost, workflows+"/a/updates/panicky", "", http.StatusUnprocessableEntity, map[string]float64{"RefusedByCode": 1, "CodeFailures": 1})
		},
		"a query panics": func(m *measured) {
			start(m.t, m.p, `{"workflowId":"f","type":"fragile"}`)
			m.want(http.MethodPost, workflows+"/f/queries/crack", "", http.StatusUnprocessableEntity, map[string]float64{"RefusedByCode": 1, "CodeFailures": 1})
		},
		"the store panics": func(m *measured) {
			m.calls.fails = func(int, bool, context.Context) error { panic("a defect") }
			func() {
				defer func() {
					if recover() == nil {
						t.Error("the panic of the store has gone")
					}
				}()
				m.p.Do(http.MethodGet, workflows+"/a", "")
			}()
			if diff := cmp.Diff(failedBy("ServerErrors"), m.sums()); diff != "" {
				t.Errorf("a request that panicked: - want, + the metrics\n%s", diff)
			}
		},
		"stored data is damaged": func(m *measured) {
			m.open(executor.Options{})
			m.calls.fails = always(toStore, store.ErrCorrupt)
			w := httptest.NewRecorder()
			m.p.API.ServeHTTP(w, httptest.NewRequestWithContext(m.t.Context(), http.MethodGet, workflows+"/a", http.NoBody))
			if diff := cmp.Diff(failedBy("ServerErrors"), m.sums()); diff != "" || w.Code != http.StatusInternalServerError {
				t.Errorf("answered with %d: - want, + the metrics\n%s", w.Code, diff)
			}
		},
		"the caller leaves": func(m *measured) {
			ctx, leave := context.WithCancel(m.t.Context())
			m.calls.fails = func(int, bool, context.Context) error {
				leave()
				return errDenied
			}
			m.p.DoWith(ctx, http.MethodGet, workflows+"/a", "")
			if diff := cmp.Diff(healthy, m.sums()); diff != "" {
				t.Errorf("a request whose caller has left: - want, + the metrics\n%s", diff)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			measure(t, executor.Options{}, play)
		})
	}
}

// A request that waits for 20 s because its caller wants that is not slow.
func TestWaitsAreNotSlow(t *testing.T) {
	t.Parallel()
	measure(t, executor.Options{}, func(m *measured) {
		start(m.t, m.p, `{"workflowId":"p","type":"publisher"}`)
		m.want(http.MethodPost, workflows+"/a/updates/nap", `{"updateId":"u","waitFor":"accepted","input":"1h"}`, http.StatusAccepted, healthy)
		var list struct{ Version string }
		m.p.Do(http.MethodGet, workflows, "").Into(m.t, &list)
		for _, c := range []struct {
			method, target, body string
			status               int
		}{
			{http.MethodGet, workflows + "/a/result?wait=20s", "", http.StatusAccepted},
			{http.MethodGet, workflows + "/a/updates/u?wait=20s", "", http.StatusAccepted},
			{http.MethodGet, workflows + "/a/history?from=1000&wait=20s", "", http.StatusOK},
			{http.MethodGet, workflows + "/p/topics/steps?wait=20s", "", http.StatusOK},
			{http.MethodGet, workflows + "?wait=20s&version=" + list.Version, "", http.StatusOK},
			{http.MethodPost, workflows + "/a/updates/nap", `{"updateId":"v","timeout":"20s","input":"1h"}`, http.StatusAccepted},
			{http.MethodPost, workflows + "?wait=20s", `{"workflowId":"b","type":"counter"}`, http.StatusCreated},
		} {
			began := time.Now()
			m.want(c.method, c.target, c.body, c.status, healthy)
			if took := time.Since(began); took != 20*time.Second { // on the bubble's clock
				t.Errorf("%s %s took %v, and should have waited", c.method, c.target, took)
			}
		}
	})
}

// A line goes with each health metric of a request: one a minute for each cause, with the cause and
// the operation, and without a payload.
func TestLinesOfFailures(t *testing.T) {
	t.Parallel()
	measure(t, executor.Options{}, func(m *measured) {
		m.lines.Reset()
		lines := func() (text string) {
			defer m.lines.Reset()
			for line := range strings.Lines(m.lines.String()) {
				_, line, _ := strings.Cut(line, " ") // the time
				if !strings.Contains(line, `msg="a call of the store failed"`) {
					text += line
				}
			}
			return text
		}
		m.calls.fails = hang
		m.p.Do(http.MethodPost, workflows+"/b/updates/add", `{"input":1,"timeout":"40ms"}`) // its caller gave too little time
		time.Sleep(time.Minute)
		synctest.Wait() // the race detector does not know that a sleep waits for others
		for range 3 {
			m.calls.fails = always(toStore, store.ErrThrottled)
			m.p.Do(http.MethodGet, workflows+"/a", "")
		}
		want := `level=WARN msg="a request failed" cause=store operation="GET /v1/workflows/{id}" status=503 took=0s` + "\n"
		if got := lines(); got != want {
			t.Errorf("three requests that fail log\n%swant\n%s", got, want)
		}
		time.Sleep(time.Minute)
		m.p.Do(http.MethodGet, workflows+"/a", "")
		want = strings.TrimSuffix(want, "\n") + " times=3\n"
		if got := lines(); got != want {
			t.Errorf("one after a minute logs\n%swant\n%s", got, want)
		}
		m.calls.fails = func(int, bool, context.Context) error {
			time.Sleep(3 * time.Second)
			return nil
		}
		m.p.Do(http.MethodGet, workflows+"/a", "")
		want = `level=WARN msg="a request was slow" cause=slow operation="GET /v1/workflows/{id}" status=200 took=3s` + "\n"
		if got := lines(); got != want {
			t.Errorf("a slow one logs\n%swant\n%s", got, want)
		}
	})
}

// faults are the ways in which calls fail from one on.
var faults = map[string]func(ctx context.Context) error{
	"denied":       func(context.Context) error { return errDenied },
	"throttled":    func(context.Context) error { return store.ErrThrottled },
	"not answered": func(context.Context) error { return store.ErrUnknown },
	"hanging": func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	},
}

// Whichever call of whichever operation fails, the metric of an answer with 5xx names what the call
// went to.
func TestEachCallThatFails(t *testing.T) {
	t.Parallel()
	for _, o := range operations(t) {
		t.Run(o.ID, func(t *testing.T) {
			t.Parallel()
			calls, _, _ := failingFrom(t, o, 0, nil)
			refused := 0
			for first := 1; first <= calls; first++ {
				for name, fault := range faults {
					_, failed, wrong := failingFrom(t, o, first, fault)
					if wrong != "" {
						t.Errorf("%s, of which all calls from the %dth on are %s: %s", o.ID, first, name, wrong)
					}
					if failed {
						refused++
					}
				}
			}
			if calls > 0 && refused == 0 && o.ID != "listQueues" { // which answers with what it has
				t.Errorf("%s makes %d calls, and never fails", o.ID, calls)
			}
		})
	}
}

// failingFrom sends a request of an operation whose calls fail from one on. It returns how many
// calls it made, whether the answer was 5xx, and what is wrong with the metrics.
func failingFrom(t *testing.T, o *apitest.Operation, first int, fault func(context.Context) error) (calls int, failed bool, wrong string) {
	synctest.Test(t, func(t *testing.T) {
		s := arrange(t)
		m := &measured{t: t, d: s.d}
		m.open(executor.Options{})
		if fault != nil {
			m.calls.fails = func(n int, _ bool, ctx context.Context) error {
				if n < first {
					return nil
				}
				return fault(ctx)
			}
		}
		target, body := requestOf(o, s.first, s.waiting)
		w := httptest.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // as a function has
		defer cancel()
		m.p.API.ServeHTTP(w, httptest.NewRequestWithContext(ctx, o.Method, target, strings.NewReader(body)))
		sums, by := m.sums(), m.calls.first
		calls, failed = m.calls.n, w.Code >= http.StatusInternalServerError
		time.Sleep(time.Minute) // until work has ended that goes on without its caller
		for _, metric := range []*observe.Metric{observe.APIFailures, observe.UnavailableStore, observe.UnavailableQueue, observe.UnavailableContention, observe.ServerErrors, observe.RefusedByCode} {
			if is, must := sums[metric.Name] > 0, failed && (metric == observe.APIFailures || metric.Name == by); is != must {
				wrong = fmt.Sprintf("%d %s adds to %v, and the call that failed first to %s", w.Code, w.Body, sums, by)
			}
		}
	})
	return calls, failed, wrong
}
