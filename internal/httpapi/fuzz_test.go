package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// FuzzRequest sends arbitrary requests to the handler. The answer is always one of the API's, and a
// refusal changes nothing. go test ./internal/httpapi -fuzz FuzzRequest
func FuzzRequest(f *testing.F) {
	for target, good := range postings {
		for _, tail := range []string{"", `,"input":"x"`, `,"input":[1e400,{"a":null}]`, `,"timeout":"1s","waitFor":"accepted"`, `,"updateId":"u1"`, `,"runTimeout":"1ms"`, `}`, "\xff"} {
			f.Add(http.MethodPost, target, []byte(strings.Replace(good, "%s", tail, 1)))
		}
	}
	for _, target := range []string{"", "/a", "/a/result?wait=1s", "/a/history", "/a/updates/u1?wait=5s", "/closed/result?runId=", "/a%2Fb", "//", "/..", "/%ff", "?status=running&type=x"} {
		f.Add(http.MethodGet, workflows+target, []byte(nil))
	}
	f.Add("", "*", []byte("{}"))
	f.Fuzz(func(t *testing.T, method, target string, body []byte) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			return // net/http refuses it
		}
		synctest.Test(t, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", bytes.NewReader(body))
			r.Method, r.URL = method, u
			ask(t, r)
		})
	})
}

// FuzzParameters sends any value of each parameter of a query string.
func FuzzParameters(f *testing.F) {
	for i := range parameters {
		for _, v := range []string{
			"", "1s", "20s", "-1s", "9999999h", "0.5", "1-0123456789abcdef", "4294967296-0123456789abcdef", "1-0123456789abcdef/1", "//1", "running", "void",
			"2026-11-21T17:45:00Z", "10000-01-01T00:00:00Z", "AAAA", "A%", "\x00", "\xff", "é",
		} {
			f.Add(uint8(i), v)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, value string) {
		synctest.Test(t, func(t *testing.T) {
			target := workflows + parameters[int(which)%len(parameters)] + url.QueryEscape(value)
			a := ask(t, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
			switch a.Status {
			case http.StatusOK, http.StatusAccepted, http.StatusBadRequest, http.StatusNotFound:
			default:
				t.Errorf("%s: %d", target, a.Status)
			}
		})
	})
}

// parameters are the parameters of query strings, on the paths of requests that use them.
var parameters = []string{
	"/a/result?wait=", "/a/updates/u1?wait=", "/a?runId=", "/a/result?runId=", "/a/updates/u1?runId=", "/a/history?runId=",
	"/a/history?pageToken=", "?pageToken=", "?status=", "?type=", "?startedAfter=", "?startedBefore=",
}

// ask sends a request to a deployment with some runs, and checks what holds of every answer.
func ask(t *testing.T, r *http.Request) *testbed.Answer {
	d := testbed.New(t)
	p := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
	start(t, p, `{"workflowId":"a","type":"counter"}`)
	p.Do(http.MethodPost, workflows+"/a/updates/add", `{"updateId":"u1","input":1}`)
	start(t, p, `{"workflowId":"closed","type":"sleeper","input":"0s"}`)
	before := d.Snapshot()
	a := testbed.Ask(t, p.Handler, r)
	var problem struct{ Type string }
	_ = json.Unmarshal(a.Body, &problem) // an answer has another form
	wrote := a.Cost.Writes+a.Cost.Lost+a.Cost.Messages != 0
	// A task that failed is recorded; no other refusal changes anything.
	if a.Status >= 400 && problem.Type != "urn:weft:problem:not-ready" && (wrote || d.Snapshot() != before) {
		t.Errorf("%s %s: %d %s, and it changed something (%v)", r.Method, r.URL, a.Status, a.Body, a.Cost)
	}
	if !wrote && d.Snapshot() != before {
		t.Errorf("%s %s changed something and says that it cost %v", r.Method, r.URL, a.Cost)
	}
	d.CheckReplay(p)
	return a
}
