package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// The API itself has no server-sent events: it says what to ask for instead. Whoever also takes
// JSON gets that.
func TestNoEvents(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		start(t, p, `{"workflowId":"p","type":"publisher","input":0}`)
		ask := func(method, target, accept string) *testbed.Answer {
			r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
			r.Header.Set("Accept", accept)
			return testbed.Ask(t, p.Handler, r)
		}
		for _, o := range operations(t) {
			if o.ID != "listWorkflows" && o.ID != "getHistory" && o.ID != "readTopic" {
				continue
			}
			target := strings.NewReplacer("{workflowId}", "a", "topics/{topic}", "topics/steps").Replace(o.Path)
			if o.ID == "readTopic" {
				target = strings.Replace(target, "/a/", "/p/", 1)
			}
			refused := ask(http.MethodGet, target, "text/event-stream")
			var got any
			refused.Into(t, &got)
			if want := o.Answered[http.StatusNotAcceptable]["noEvents"].Value; refused.Status != http.StatusNotAcceptable || indented(t, got) != indented(t, want) {
				t.Errorf("%s: %d %s, want the example in openapi.yaml", target, refused.Status, refused.Body)
			}
			for _, accept := range []string{"text/event-stream, application/json", "text/event-stream,*/*;q=0.1", "text/event-stream;q=0", "application/json", "", "text/plain", "a/b/c, ,"} {
				if a := ask(http.MethodGet, target, accept); a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s, Accept %q: %d %v", target, accept, a.Status, a.Header)
				}
			}
		}
		if a := ask(http.MethodGet, workflows+"/a", "text/event-stream"); a.Status != http.StatusOK {
			t.Errorf("a route that has no events: %d %s", a.Status, a.Body)
		}
	})
}

// waits are requests that wait for what does not happen, by their route, and the members of the
// answer that say where to resume.
var waits = map[string]struct{ method, target, body, resume string }{
	"startWorkflow": {http.MethodPost, workflows + "?wait=1h", `{"workflowId":"b","type":"counter"}`, "workflowId runId outcome"},
	"getResult":     {http.MethodGet, workflows + "/a/result?wait=1h", "", "runId status"},
	"pollUpdate":    {http.MethodGet, workflows + "/a/updates/u1?wait=1h", "", "runId stage"},
	"updateWorkflow": {
		http.MethodPost, workflows + "/a/updates/nap", `{"updateId":"u2","input":"2h","timeout":"1h"}`, "updateId runId stage",
	},
	"getHistory":    {http.MethodGet, workflows + "/a/history?from=1000&wait=1h", "", "runId next closed"},
	"readTopic":     {http.MethodGet, workflows + "/p/topics/steps?wait=1h", "", "runId next closed"},
	"listWorkflows": {http.MethodGet, workflows + "?wait=1h&version=", "", "version"},
}

// Every request that can wait ends after 20 s, by the clock of the bubble, whatever it asks for,
// and its answer says where to resume. API Gateway gives up after 29 s.
func TestWaitsEnd(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		start(t, p, `{"workflowId":"p","type":"publisher","input":0}`)
		p.Do(http.MethodPost, workflows+"/a/updates/nap", `{"updateId":"u1","input":"2h","waitFor":"accepted"}`)
		for _, route := range httpapi.Routes() {
			of, known := waits[route.ID]
			if can := slices.Contains(route.Query, "wait") || hasTimeout(&route); can != known {
				t.Errorf("%s can wait: %t, and this test knows it: %t", route.ID, can, known)
			}
			if !known {
				continue
			}
			if route.ID == "listWorkflows" {
				var page schema.ListResponse
				p.Do(http.MethodGet, workflows, "").Into(t, &page)
				of.target += page.Version
			}
			began := time.Now()
			a := p.Do(of.method, of.target, of.body)
			took := time.Since(began)
			var members map[string]any
			a.Into(t, &members)
			for _, name := range strings.Fields(of.resume) {
				if members[name] == nil {
					t.Errorf("%s: the answer has no %s: %s", route.ID, name, a.Body)
				}
			}
			if a.Status >= http.StatusBadRequest || took != 20*time.Second {
				t.Errorf("%s: %d %s after %v, want an answer after 20 s", route.ID, a.Status, a.Body, took)
			}
		}
	})
}

// hasTimeout reports whether the body of a route's requests says how long they may take.
func hasTimeout(t *httpapi.Route) bool {
	body, _ := t.Bodies()
	if body == nil || body.Kind() != reflect.Struct {
		return false
	}
	_, found := body.FieldByName("Timeout")
	return found
}

// A reader that follows next and newRunId sees each event of a chain once and in order, and waits
// for those that are to come.
func TestReaderFollowsAChain(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		run := start(t, p, `{"workflowId":"a","type":"flaky","input":{"nap":"1m","laps":2}}`).RunID
		go func() {
			for i := range 20 {
				time.Sleep(7 * time.Second)
				p.Do(http.MethodPost, workflows+"/a/signals/poke", fmt.Sprintf(`{"requestId":"r%d"}`, i))
			}
		}()
		signals, runs := map[string]bool{}, []history.RunID{run}
		for next := int64(1); ; {
			var page schema.HistoryResponse
			p.Do(http.MethodGet, fmt.Sprintf("%s/a/history?runId=%s&from=%d&wait=20s", workflows, run, next), "").Into(t, &page)
			for _, e := range page.Events {
				if e.ID != next {
					t.Fatalf("event %d of run %s, want %d", e.ID, run, next)
				}
				next++
				if a, ok := e.Attributes.(*history.WorkflowExecutionSignaled); ok {
					signals[a.RequestID] = true // one that was not received is passed on to the next run
				}
			}
			if page.RunID != run || page.Next != next {
				t.Fatalf("a page of run %s up to %d, want run %s up to %d", page.RunID, page.Next, run, next)
			}
			if !page.Closed {
				continue
			}
			if page.NewRunID == "" {
				break
			}
			run, next = page.NewRunID, 1
			runs = append(runs, run)
		}
		if len(runs) != 3 || len(signals) != 20 {
			t.Errorf("the runs %q have %d signals, want 3 runs with 20", runs, len(signals))
		}
	})
}
