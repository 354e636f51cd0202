package executor_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// patientCaller asks as often as the answers say.
type patientCaller struct {
	t testing.TB
	p *testbed.Process
	// asked is how many requests it has sent, held how long they were held together, and pauses
	// how long it paused after each.
	asked  int
	held   time.Duration
	pauses []time.Duration
}

// ask sends a request of a call that has waited for some time. It returns the answer, and how long
// the caller is to pause; 0 if the answer does not say it.
func (c *patientCaller) ask(method, target, body string, waited time.Duration) (*testbed.Answer, time.Duration) {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, "/v1/workflows"+target, strings.NewReader(body))
	if waited > 0 {
		r.Header.Set(httpapi.WaitedHeader, waited.String())
	}
	began := time.Now()
	a := testbed.Ask(c.t, c.p.Handler, r)
	c.asked++
	c.held += time.Since(began)
	var answer struct {
		RetryAfter schema.Duration
		Outcome    struct{ RetryAfter schema.Duration }
	}
	a.Into(c.t, &answer)
	pause := time.Duration(max(answer.RetryAfter, answer.Outcome.RetryAfter))
	want := ""
	if pause > 0 {
		want = strconv.Itoa(int((pause + time.Second - 1) / time.Second))
	}
	if got := a.Header.Get("Retry-After"); got != want {
		c.t.Errorf("%s: Retry-After is %q beside a retryAfter of %v", target, got, pause)
	}
	return a, pause
}

// call asks until an answer has no pause, which it returns. The first request may differ from the
// others, which target names.
func (c *patientCaller) call(first, body, target string) *testbed.Answer {
	c.t.Helper()
	began := time.Now()
	method, at, _ := strings.Cut(first, " ")
	for {
		a, pause := c.ask(method, at, body, time.Since(began))
		if pause == 0 || a.Status >= http.StatusBadRequest || len(c.pauses) > 1000 {
			return a
		}
		c.pauses = append(c.pauses, pause)
		time.Sleep(pause)
		method, at, body = http.MethodGet, target, ""
	}
}

// heldFor calls fn in a bubble with a process that holds requests for this long, and one that
// does the work.
func heldFor(t *testing.T, hold time.Duration, fn func(t *testing.T, c *patientCaller, works *testbed.Process), more ...workflow.Registration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		registrations := append(testbed.Workload("build-1"), more...)
		works := d.Start(executor.Options{}, registrations...)
		fn(t, &patientCaller{t: t, p: d.Idle(executor.Options{WaitHold: hold}, registrations...)}, works)
	})
}

// A call that waits for a minute is held for a moment only, over all its requests, and gets its
// news at most an eighth of that time late.
func TestAWaitIsHeldForAMoment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before        string // a request that comes first
		first, body   string
		target        string // of the requests that follow the first
		news, newBody string // what ends the wait, by another process
		want          string
		late          time.Duration
	}{
		"result":            {`{"workflowId":"a","type":"counter"}`, "GET /a/result?wait=20s", "", "/a/result?wait=20s", "/a/updates/finish", "{}", `"completed"`, 7500 * time.Millisecond},
		"start with a wait": {"", "POST ?wait=20s", `{"workflowId":"a","type":"counter"}`, "/a/result?wait=20s", "/a/updates/finish", "{}", `"completed"`, 7500 * time.Millisecond},
		"update":            {`{"workflowId":"a","type":"counter"}`, "POST /a/updates/nap", `{"updateId":"u","input":"60s"}`, "/a/updates/u?wait=20s", "", "", `"completed"`, 7500 * time.Millisecond},
		"poll of an update": {`{"workflowId":"a","type":"counter"}`, "POST /a/updates/nap", `{"updateId":"u","input":"60s","timeout":"1ms"}`, "/a/updates/u?wait=20s", "", "", `"completed"`, 7500 * time.Millisecond},
		"history":           {`{"workflowId":"a","type":"counter"}`, "GET /a/history?from=5&wait=20s", "", "/a/history?from=5&wait=20s", "/a/signals/poke", "", `"poke"`, 5 * time.Second},
		"topic":             {`{"workflowId":"a","type":"publisher"}`, "GET /a/topics/steps?from=0&wait=20s", "", "/a/topics/steps?from=0&wait=20s", "/a/signals/say", `{"input":"hello"}`, `"hello"`, 5 * time.Second},
	} {
		for _, hold := range []time.Duration{250 * time.Millisecond, -1} {
			t.Run(name+" "+hold.String(), func(t *testing.T) {
				heldFor(t, hold, func(t *testing.T, caller *patientCaller, works *testbed.Process) {
					if c.before != "" {
						works.Do(http.MethodPost, "/v1/workflows", c.before)
					}
					began := time.Now()
					var other sync.WaitGroup
					if c.news != "" {
						other.Go(func() {
							time.Sleep(time.Minute)
							if a := works.Do(http.MethodPost, "/v1/workflows"+c.news, c.newBody); a.Status >= http.StatusBadRequest {
								t.Errorf("%s: %d %s", c.news, a.Status, a.Body)
							}
						})
					}
					a := caller.call(c.first, c.body, c.target)
					other.Wait()
					if took := time.Since(began); !strings.Contains(string(a.Body), c.want) || took < time.Minute || took > time.Minute+c.late {
						t.Errorf("after %v the answer is %d %s, want %s at most %v after a minute", took, a.Status, a.Body, c.want, c.late)
					}
					if caller.held > max(hold, 0) || caller.asked > 40 {
						t.Errorf("%d requests were held for %v, want 40 at most for %v", caller.asked, caller.held, max(hold, 0))
					}
				})
			})
		}
	}
}

// A reader of the list is held for a moment, too, until the page has another version.
func TestAReaderOfTheListIsHeldForAMoment(t *testing.T) {
	t.Parallel()
	heldFor(t, 250*time.Millisecond, func(t *testing.T, c *patientCaller, works *testbed.Process) {
		before, _ := listed(t, c.p, "type=counter")
		var other sync.WaitGroup
		other.Go(func() {
			time.Sleep(time.Minute)
			begin(t, works, "a")
		})
		began := time.Now()
		query := "?type=counter&wait=20s&version=" + before.Version
		a := c.call("GET "+query, "", query)
		other.Wait()
		if took := time.Since(began); took > 65*time.Second || !strings.Contains(string(a.Body), `"a"`) {
			t.Errorf("after %v the answer is %d %s", took, a.Status, a.Body)
		}
		if c.held > 250*time.Millisecond || c.asked > 30 {
			t.Errorf("%d requests were held for %v", c.asked, c.held)
		}
	})
}

// A caller whose run waits for a timer asks again when it has fired, and is held only if that is
// near.
func TestAWaitForATimer(t *testing.T) {
	t.Parallel()
	heldFor(t, 250*time.Millisecond, func(t *testing.T, c *patientCaller, _ *testbed.Process) {
		began := time.Now()
		a := c.call("POST ?wait=20s", `{"workflowId":"a","type":"sleeper","input":"1h"}`, "/a/result?wait=20s")
		if took := time.Since(began); a.Status != http.StatusOK || took > time.Hour+time.Second {
			t.Errorf("after %v the answer is %d %s", took, a.Status, a.Body)
		}
		if c.held != 0 || c.asked > 14 || c.pauses[0] != 5*time.Minute {
			t.Errorf("%d requests were held for %v, with the pauses %v", c.asked, c.held, c.pauses)
		}
	})
	heldFor(t, 250*time.Millisecond, func(t *testing.T, c *patientCaller, _ *testbed.Process) {
		a := c.call("POST ?wait=20s", `{"workflowId":"a","type":"sleeper","input":"100ms"}`, "/a/result?wait=20s")
		if c.held > 250*time.Millisecond || c.asked != 1 || !strings.Contains(string(a.Body), `"completed"`) {
			t.Errorf("%d requests were held for %v: %d %s", c.asked, c.held, a.Status, a.Body)
		}
	})
}

// A run that may also get a signal has news at any time, whatever its timer says. So has one with
// an activity.
func TestAWaitForATimerOrACaller(t *testing.T) {
	t.Parallel()
	approved := workflow.NewSignal[string]("approved")
	asks := workflow.NewWorkflow[workflow.None, string]("asks")
	code := workflow.Bind(asks, func(ctx workflow.Context, _ workflow.None) (string, error) {
		return "late", workflow.Sleep(ctx, 24*time.Hour)
	}, workflow.Names(approved))
	heldFor(t, -1, func(t *testing.T, c *patientCaller, _ *testbed.Process) {
		if _, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"a","type":"asks"}`, 0); pause != 250*time.Millisecond {
			t.Errorf("the caller of a run that takes a signal pauses for %v", pause)
		}
		if _, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"b","type":"asks","startDelay":"1h"}`, 0); pause != 250*time.Millisecond {
			t.Errorf("the caller of a delayed run that takes a signal pauses for %v", pause)
		}
		if _, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"c","type":"asks","cronSchedule":"0 * * * *"}`, 0); pause != 5*time.Minute {
			t.Errorf("the caller of a run that waits for the moment of its cron expression pauses for %v", pause)
		}
		if _, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"d","type":"sleeper","input":"1h","startDelay":"3m"}`, 0); pause != 3*time.Minute+250*time.Millisecond {
			t.Errorf("the caller of a delayed run pauses for %v", pause)
		}
		if _, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"e","type":"sleeper","input":"1h","runTimeout":"2m"}`, 0); pause != 2*time.Minute+250*time.Millisecond {
			t.Errorf("the caller of a run whose time is over before its timer pauses for %v", pause)
		}
	}, code)
}

// The caller of a paused run, and of one that is stuck, pauses for longer, and is not held.
func TestAWaitForARunThatStandsStill(t *testing.T) {
	t.Parallel()
	jams := workflow.NewWorkflow[workflow.None, string]("jams")
	code := workflow.Bind(jams, func(workflow.Context, workflow.None) (string, error) { panic(errors.New("a defect")) })
	heldFor(t, 250*time.Millisecond, func(t *testing.T, c *patientCaller, works *testbed.Process) {
		begin(t, works, "a")
		if a := works.Do(http.MethodPost, "/v1/workflows/a/pause", "{}"); a.Status >= http.StatusBadRequest {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if _, pause := c.ask(http.MethodGet, "/a/result?wait=20s", "", 0); pause != 5*time.Second || c.held != 0 {
			t.Errorf("the caller of a paused run is held for %v, and pauses for %v", c.held, pause)
		}
		_, pause := c.ask(http.MethodPost, "?wait=20s", `{"workflowId":"b","type":"jams"}`, 0)
		if pause != 1250*time.Millisecond || c.held != 0 {
			t.Errorf("the caller of a stuck run is held for %v, and pauses for %v", c.held, pause)
		}
	}, code)
}

// A process that holds each request to the end of its wait says nothing about pauses, unless too
// many wait.
func TestTooManyWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &patientCaller{t: t, p: testbed.New(t).Idle(executor.Options{MaxWaiters: 2}, testbed.Workload("build-1")...)}
		begin(t, c.p, "a")
		c.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"publisher"}`)
		before, _ := listed(t, c.p, "")
		var waiting sync.WaitGroup
		for range 2 {
			waiting.Go(func() {
				one := &patientCaller{t: t, p: c.p}
				if _, pause := one.ask(http.MethodGet, "/a/result?wait=20s", "", time.Hour); pause != 0 || one.held != 20*time.Second {
					t.Errorf("a request was held for %v, and its caller pauses for %v", one.held, pause)
				}
			})
		}
		synctest.Wait()
		for _, target := range []string{"/a/result?wait=20s", "/a/history?from=5&wait=20s", "/p/topics/steps?wait=20s", "?wait=20s&version=" + before.Version} {
			if _, pause := c.ask(http.MethodGet, target, "", 0); pause != time.Second || c.held != 0 {
				t.Errorf("%s beside too many others was held for %v, and its caller pauses for %v", target, c.held, pause)
			}
		}
		waiting.Wait()
		for _, target := range []string{"/a/history?from=5&wait=2s", "/a/result?wait=2s", "/p/topics/steps?wait=2s", "?wait=2s&version=" + before.Version} {
			for range 3 {
				if _, pause := c.ask(http.MethodGet, target, "", 0); pause != 0 {
					t.Errorf("%s: after the others have left, the caller pauses for %v", target, pause)
				}
			}
		}
	})
}

// lateReads is a log whose reads take 15 s while it is slow, unless their caller gives up.
type lateReads struct {
	store.Log
	slow atomic.Bool
}

// Backward implements store.Log.
func (l *lateReads) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	if l.slow.Load() {
		select {
		case <-ctx.Done():
			return store.Page{}, ctx.Err()
		case <-time.After(15 * time.Second):
		}
	}
	return l.Log.Backward(ctx, workflow, before, until, limit)
}

// The requests that a process holds are counted from their arrival on: also those whose first look
// waits for a busy run, or for a slow store. The others are answered after one look, which has a
// second.
func TestTooManyFirstLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		slow := &lateReads{Log: d.Ports.Log}
		d.Ports.Log = slow
		c := &patientCaller{t: t, p: d.Idle(executor.Options{MaxWaiters: 2}, testbed.Workload("build-1")...)}
		begin(t, c.p, "a")
		c.p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"publisher"}`)
		run := d.Runs("p")[0].State.RunID
		before, _ := listed(t, c.p, "")
		for _, busy := range []bool{true, false} {
			var all sync.WaitGroup
			if busy {
				hooks.Next(testbed.OnPut, func(do func() error) error { time.Sleep(15 * time.Second); return do() })
				all.Go(func() { c.p.Do(http.MethodPost, "/v1/workflows/a/signals/poke", `{}`) }) // has the lock
			}
			slow.slow.Store(!busy)
			synctest.Wait()
			var mu sync.Mutex
			held := map[string]int{} // for more than a second
			for _, target := range []string{"a/result?wait=20s", "a/history?from=5&wait=20s", "p/topics/steps?wait=20s", "p/topics/steps?from=0&wait=20s&runId=" + string(run), "?wait=20s&version=" + before.Version} {
				for range 10 {
					all.Go(func() {
						began := time.Now()
						at := "/v1/workflows"
						if !strings.HasPrefix(target, "?") {
							at += "/"
						}
						a := c.p.Do(http.MethodGet, at+target, "")
						mu.Lock()
						defer mu.Unlock()
						if time.Since(began) > time.Second {
							held[target]++
						} else if a.Status >= http.StatusBadRequest && a.Status != http.StatusServiceUnavailable {
							t.Errorf("%s: %d %s", target, a.Status, a.Body)
						}
					})
				}
			}
			all.Wait()
			slow.slow.Store(false)
			n := 0
			for _, one := range held {
				n += one
			}
			if n == 0 || n > 2 {
				t.Errorf("%d requests were held for more than a second: %v", n, held)
			}
		}
		for range 3 {
			if _, pause := c.ask(http.MethodGet, "/a/result?wait=2s", "", 0); pause != 0 {
				t.Errorf("after the others have left, the caller pauses for %v", pause)
			}
		}
	})
}

// A caller in the process that ends the run is answered from the commit: between the two, nothing
// is read.
func TestAWaitEndsWithTheCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{}, testbed.Workload("build-1")...)
		begin(t, p, "a")
		began, answered := time.Now(), false
		var finish sync.WaitGroup
		finish.Go(func() {
			time.Sleep(5*time.Second + time.Millisecond)
			hooks.Next(testbed.OnPut, func(do func() error) error {
				hooks.Always(testbed.OnRead, func(do func() error) error {
					if !answered {
						t.Error("the log is read between the commit and the answer")
					}
					return do()
				})
				return do()
			})
			p.Do(http.MethodPost, "/v1/workflows/a/updates/finish", "{}")
		})
		a := p.Do(http.MethodGet, "/v1/workflows/a/result?wait=20s", "")
		if took := time.Since(began); took != 5*time.Second+time.Millisecond || !strings.Contains(string(a.Body), `"completed"`) {
			t.Errorf("after %v the answer is %d %s", took, a.Status, a.Body)
		}
		answered = true
		hooks.Always(testbed.OnRead, nil)
		finish.Wait()
	})
}

// A request that does not wait has no pause, and one of a stream of events is held to the end.
func TestRequestsWithoutAPause(t *testing.T) {
	t.Parallel()
	heldFor(t, -1, func(t *testing.T, c *patientCaller, works *testbed.Process) {
		begin(t, works, "a")
		works.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"p","type":"publisher"}`)
		for _, target := range []string{"/a/result", "/a/result?wait=0s", "/a/history?from=5", "/p/topics/steps", ""} {
			if _, pause := c.ask(http.MethodGet, target, "", time.Minute); pause != 0 {
				t.Errorf("the caller of %q pauses for %v", target, pause)
			}
		}
		for _, target := range []string{"/a/history?from=5&wait=15s", "/p/topics/steps?wait=15s"} {
			began := time.Now()
			a := c.p.DoWith(httpapi.InStream(t.Context()), http.MethodGet, "/v1/workflows"+target, "")
			if took := time.Since(began); took != 15*time.Second || strings.Contains(string(a.Body), "retryAfter") {
				t.Errorf("in a stream, %s was held for %v: %s", target, took, a.Body)
			}
		}
	})
}

// A header that says nothing of how long the caller has waited is refused, on each route that
// waits. Other routes ignore it.
func TestWaitedHeader(t *testing.T) {
	t.Parallel()
	heldFor(t, 250*time.Millisecond, func(t *testing.T, c *patientCaller, works *testbed.Process) {
		begin(t, works, "a")
		for _, waited := range []string{"", "soon", "-1s", "3", "1s, 2s", "9999999999h"} {
			for _, first := range []string{"POST ", "GET ", "GET /a/result", "GET /a/history", "GET /a/topics/x", "GET /a/updates/u", "POST /a/updates/add"} {
				method, target, _ := strings.Cut(first, " ")
				r := httptest.NewRequestWithContext(t.Context(), method, "/v1/workflows"+target, strings.NewReader(`{"type":"counter"}`))
				for value := range strings.SplitSeq(waited, ", ") {
					r.Header.Add(httpapi.WaitedHeader, value)
				}
				if method == http.MethodPost && target != "" {
					r.Body = http.NoBody
				}
				if a := testbed.Ask(t, c.p.Handler, r); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "Weft-Waited") {
					t.Errorf("%s with %q: %d %s", first, waited, a.Status, a.Body)
				}
			}
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/workflows/a", nil)
		r.Header.Set(httpapi.WaitedHeader, "soon")
		if a := testbed.Ask(t, c.p.Handler, r); a.Status != http.StatusOK {
			t.Errorf("a description: %d %s", a.Status, a.Body)
		}
		if _, pause := c.ask(http.MethodGet, "/a/result?wait=20s", "", 1<<63-1); pause != time.Minute || c.held != 0 {
			t.Errorf("after centuries, the caller is held for %v, and pauses for %v", c.held, pause)
		}
	})
}
