package apitest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

const (
	run     = `"runId":"1-6f1a9ac0be13a5d2"`
	problem = `{"type":"urn:weft:problem:not-found","title":"Not found","status":404,"detail":"x"}`
)

// exchanges are requests and answers, each with a part of the error; empty if the exchange has no
// error.
var exchanges = map[string]struct {
	method, target, sent string
	status               int
	header, body         string
	want                 string
}{
	"as described":                {"GET", "/v1/workflows/a/result?wait=1s", "", 202, jsonType, `{"workflowId":"a",` + run + `,"status":"running"}`, ""},
	"a HEAD without a body":       {"HEAD", "/v1/workflows/a/result", "", 202, jsonType, "", ""},
	"empty members":               {"POST", "/v1/workflows/a/cancel", `{"reason":""}`, 202, jsonType, `{}`, ""},
	"nothing there":               {"GET", "/v2", "", 404, problemType, problem, ""},
	"a gateway's refusal":         {"GET", "/v1/workflows/a", "", 403, "", `{"message":"Forbidden"}`, ""},
	"a status":                    {"GET", "/v1/workflows/a/result", "", 201, jsonType, `{"workflowId":"a",` + run + `,"status":"running"}`, "no status 201"},
	"a member that is missing":    {"GET", "/v1/workflows/a/result", "", 200, jsonType, `{"workflowId":"a",` + run + `}`, "missing property 'status'"},
	"a member that is not named":  {"GET", "/v1/workflows/a/result", "", 202, jsonType, `{"workflowId":"a",` + run + `,"status":"running","x":1}`, "'x' not allowed"},
	"a member of another form":    {"GET", "/v1/workflows/a/result", "", 202, jsonType, `{"workflowId":"a","runId":"1","status":"running"}`, "/runId"},
	"what is not JSON":            {"GET", "/v1/workflows/a/result", "", 202, jsonType, `{`, "EOF"},
	"a content type":              {"GET", "/v1/workflows/a/result", "", 202, "text/html", `<html>`, "text/html"},
	"a problem of another kind":   {"GET", "/v1/workflows/a/result", "", 400, problemType, problem, "urn:weft:problem:invalid"},
	"a header that is missing":    {"POST", "/v1/workflows", `{"type":"x"}`, 503, problemType, strings.NewReplacer("not-found", "busy", "404", "503").Replace(problem), "Retry-After"},
	"a parameter that works":      {"GET", "/v1/workflows/a/result?wait=soon", "", 202, jsonType, `{"workflowId":"a",` + run + `,"status":"running"}`, "query wait"},
	"a path's parameter":          {"GET", "/v1/workflows/a%20b/result", "", 202, jsonType, `{"workflowId":"a",` + run + `,"status":"running"}`, "path workflowId"},
	"a body that works":           {"POST", "/v1/workflows/a/cancel", `{"why":"x"}`, 202, jsonType, `{}`, "'why' not allowed"},
	"a body that is missing":      {"POST", "/v1/workflows", ``, 201, jsonType, `{"workflowId":"a",` + run + `}`, "the body is missing"},
	"a path that is not there":    {"GET", "/v2", "", 200, jsonType, `{}`, "openapi.yaml has no GET /v2"},
	"an event of another type":    {"GET", "/v1/workflows/a/history", "", 200, jsonType, `{"events":[{"id":1,"type":"Nothing","time":"2026-11-21T17:45:00Z","attributes":{}}]}`, "/events/0/type"},
	"an event that is no object":  {"GET", "/v1/workflows/a/history", "", 200, jsonType, `{"events":["TimerFired"]}`, "want object"},
	"an event without a type":     {"GET", "/v1/workflows/a/history", "", 200, jsonType, `{"events":[{"id":1,"time":"2026-11-21T17:45:00Z","attributes":{}}]}`, "missing property 'type'"},
	"an event of another form":    {"GET", "/v1/workflows/a/history", "", 200, jsonType, `{"events":[{"id":1,"type":"TimerFired","time":"2026-11-21T17:45:00Z","attributes":{}}]}`, "missing property 'startedEventId'"},
	"a time that is none":         {"GET", "/v1/workflows/a/history", "", 200, jsonType, `{"events":[{"id":1,"type":"TimerFired","time":"soon","attributes":{"startedEventId":1}}]}`, "date-time"},
	"a method that is not there":  {"PUT", "/v1/workflows", "", 405, problemType, strings.NewReplacer("not-found", "method-not-allowed", "404", "405").Replace(problem), "no status 405"},
	"a rejection without failure": {"POST", "/v1/workflows/a/updates/add", "", 422, jsonType, `{"updateId":"u1",` + run + `,"stage":"rejected"}`, "missing property 'failure'"},
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, c := range exchanges {
		u, err := url.Parse(c.target)
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{"Content-Type": {c.header}}
		if c.header != "" {
			header.Set("Weft-Cost", "writes=0, reads=1, messages=0")
		}
		if strings.HasSuffix(u.Path, "/history") {
			header.Set("Weft-Resume", "1-0123456789abcdef:4")
		}
		err = (&Exchange{c.method, u, []byte(c.sent), c.status, header, []byte(c.body)}).Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// recorder is a test that counts the differences that are reported to it.
type recorder struct {
	testing.TB
	told int
}

func (r *recorder) Errorf(string, ...any) { r.told++ }
func (r *recorder) Helper()               {}

// Requests and answers pass through a handler or a transport unchanged, and are checked.
func TestWrap(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Sent", string(sent))
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "tea")
	}))
	defer server.Close()
	seen := &recorder{TB: t}
	c := &http.Client{Transport: Transport(seen, nil)}
	resp, err := c.Post(server.URL+"/v1/workflows", jsonType, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil || string(body) != "tea" || resp.Header.Get("X-Sent") != "{}" || seen.told != 1 {
		t.Errorf("%v, %q, %v; %d differences", err, body, resp.Header, seen.told)
	}
	w := httptest.NewRecorder()
	Handler(seen, server.Config.Handler).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/workflows", strings.NewReader("{}")))
	if w.Code != http.StatusTeapot || w.Body.String() != "tea" || w.Header().Get("X-Sent") != "{}" || seen.told != 2 {
		t.Errorf("%d, %q, %v; %d differences", w.Code, w.Body, w.Header(), seen.told)
	}
}

// failingBody fails while it is read.
type failingBody struct{}

var errBroken = errors.New("broken off")

func (failingBody) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(io.MultiReader(strings.NewReader("{"), failing{errBroken}))}, nil
}

// The reader of an answer that breaks off gets its error, and the answer is not checked.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	seen := &recorder{TB: t}
	resp, err := (&http.Client{Transport: Transport(seen, failingBody{})}).Get("http://weft.test/v1/workflows")
	if err != nil {
		t.Fatal(err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "{" || !errors.Is(err, errBroken) || seen.told != 0 {
		t.Errorf("%q, %v, %d differences", body, err, seen.told)
	}
}

// Below compares an API that is in a folder. The document does not name the folder.
func TestBelow(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		w.Header().Set("Weft-Cost", "writes=0, reads=1, messages=0")
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"workflowId":"a",`+run+`,"status":"running"}`)
	}))
	defer server.Close()
	seen := &recorder{TB: t}
	c := &http.Client{Transport: Below(seen, "/live", nil)}
	for path, told := range map[string]int{"/live/v1/workflows/a/result": 0, "/live/v1/workflows/a%3Ab/result": 0, "/other/v1/workflows/a/result": 1} {
		seen.told = 0
		resp, err := c.Get(server.URL + path)
		if err := errors.Join(err, resp.Body.Close()); err != nil || seen.told != told {
			t.Errorf("%s: %v; %d differences, want %d", path, err, seen.told, told)
		}
	}
}
