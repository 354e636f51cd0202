package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
)

func operations(t *testing.T) []*apitest.Operation {
	t.Helper()
	all, err := apitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Every route has its operation in the document, and every operation a route: with the same method
// and path, parameters, access, and a body or none.
func TestDocumentHasTheRoutes(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\{[^}]+\}`)
	described := map[string]*apitest.Operation{}
	for _, o := range operations(t) {
		described[o.ID] = o
	}
	for _, r := range httpapi.Routes() {
		o := described[r.ID]
		delete(described, r.ID)
		if o == nil {
			t.Errorf("openapi.yaml has no operation %s", r.ID)
			continue
		}
		if place, is := r.Method()+" "+r.Path(), o.Method+" "+o.Path; name.ReplaceAllString(place, "{}") != name.ReplaceAllString(is, "{}") {
			t.Errorf("%s is %s in openapi.yaml, and %s in the table of routes", r.ID, is, place)
		}
		query := slices.Compact(slices.Sorted(slices.Values(o.Query()))) // an operation may say more of a parameter of its path
		if taken := slices.Sorted(slices.Values(r.Parameters())); !slices.Equal(query, taken) {
			t.Errorf("%s: openapi.yaml has the parameters %q, and the table of routes %q", r.ID, query, taken)
		}
		if o.HasBody() != r.HasBody() {
			t.Errorf("%s: it has a body in openapi.yaml: %t, and in the table of routes: %t", r.ID, o.HasBody(), r.HasBody())
		}
		if o.Access != r.Access.String() || r.Access == 0 || r.Method() == http.MethodGet && r.Access.Changes() {
			t.Errorf("%s: openapi.yaml has the access %q, and the table of routes %q", r.ID, o.Access, r.Access)
		}
	}
	for id := range described {
		t.Errorf("the table of routes has no %s", id)
	}
}

// Find finds the route that the handler serves, and the workflow that a path names.
func TestFind(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]struct{ id, workflow string }{
		"POST /v1/workflows":                         {"startWorkflow", ""},
		"GET /v1/workflows?type=a":                   {"listWorkflows", ""},
		"HEAD /v1/workflows/a":                       {"describeWorkflow", "a"},
		"GET /v1/workflows/a%2Fb/history":            {"getHistory", "a/b"},
		"POST /v1/workflows/queries/updates/queries": {"updateWorkflow", "queries"},
		"POST /v1/workflows/a/queries/b%2Fc":         {"queryWorkflow", "a"},
		"DELETE /v1/schedules/a":                     {"deleteSchedule", "weft.schedule:a"},
		"POST /v1/batches/a/stop":                    {"stopBatch", "weft.batch:a"},
		"POST /v1/activities/complete":               {"completeActivity", ""},
		"PUT /v1/workflows":                          {},
		"GET /v1/workflows/":                         {},
		"GET /v1/workflows/a/":                       {},
		"GET /v1/workflows/x/../a":                   {},
		"GET /v1/workflows/a/nothing":                {},
		"GET /v2/workflows":                          {},
		"GET /":                                      {},
	} {
		method, path, _ := strings.Cut(target, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		var id, workflow string
		if found := httpapi.Find(r); found != nil {
			var err error
			id = found.ID
			if workflow, err = found.Workflow(r); err != nil {
				t.Errorf("%s: %v", target, err)
			}
		}
		if id != want.id || workflow != want.workflow {
			t.Errorf("%s is %q of the workflow %q, want %q of %q", target, id, workflow, want.id, want.workflow)
		}
	}
}

// An operation that may be refused because it needs another build may also be refused because that
// build cannot be reached.
func TestOtherBuildsMayBeBusy(t *testing.T) {
	t.Parallel()
	n := 0
	for _, o := range operations(t) {
		outcomes := o.Outcomes()
		if !slices.Contains(outcomes, "409 urn:weft:problem:other-build") {
			continue
		}
		if n++; !slices.Contains(outcomes, "503 urn:weft:problem:busy") {
			t.Errorf("%s may be refused for another build, and openapi.yaml does not say that it may be busy", o.ID)
		}
	}
	if n == 0 {
		t.Error("openapi.yaml has no operation that another build may have to carry out")
	}
}

// The document is served as it is.
func TestDocumentIsServed(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		a := p.Do(http.MethodGet, "/v1/openapi.yaml", "")
		if a.Status != http.StatusOK || string(a.Body) != string(httpapi.OpenAPI) || a.Header.Get("Content-Type") != "application/yaml" {
			t.Errorf("%d %v, %d bytes", a.Status, a.Header, len(a.Body))
		}
	})
}

// unscripted lists what the document describes and no script shows, and what shows it instead.
var unscripted = map[string]string{
	"401 urn:weft:problem:unauthorized":                      "the local server alone: internal/local, TestToken",
	"403 urn:weft:problem:forbidden":                         "the local server alone: internal/local, TestPages",
	"500 urn:weft:problem:internal":                          "a defect: internal/function has a request that panics",
	"413 urn:weft:problem:too-large":                         "what is too large for a script: TestPayloadLimit; answers that Lambda does not take: internal/function",
	"listTypes 503 urn:weft:problem:busy":                    "package function, TestRequestsThatAreNotForwarded",
	"getType 503 urn:weft:problem:busy":                      "package function, TestRequestsThatAreNotForwarded",
	"getDocument 503 urn:weft:problem:busy":                  "package function, TestRequestsThatAreNotForwarded",
	"getDocument 200":                                        "the document is too long for a script: TestDocumentIsServed",
	"retryActivity 503 urn:weft:problem:outcome-unknown":     "package executor, TestRetryWhoseRecordIsLost",
	"heartbeatActivity 503 urn:weft:problem:outcome-unknown": "package executor, TestBeatWhoseRecordIsLost",
	"listWorkflows 503 urn:weft:problem:busy":                "TestNoList",
	"countWorkflows 404 urn:weft:problem:not-found":          "the same way as listWorkflows",
	"countWorkflows 503 urn:weft:problem:busy":               "the same way as listWorkflows",
	"listSchedules 404 urn:weft:problem:not-found":           "TestNoList",
	"listSchedules 503 urn:weft:problem:busy":                "TestNoList",
	"startBatch 404 urn:weft:problem:not-found":              "TestNoList",
	"listBatches 404 urn:weft:problem:not-found":             "TestNoList",
	"listBatches 503 urn:weft:problem:busy":                  "TestNoList",
	"listBuilds 404 urn:weft:problem:not-found":              "TestNoList",
	"changeBatchRate 409 urn:weft:problem:update-limit":      "the same way as triggerSchedule's",
	"stopBatch 409 urn:weft:problem:update-limit":            "the same way as triggerSchedule's",
	"redriveQueue 503 urn:weft:problem:busy":                 "TestRedriveAnswers",
	"getWebhookSecret 200":                                   "the secret is another each time: TestExamples",
	"getWebhookSecret 503 urn:weft:problem:busy":             "the same way as listWorkflows",
	"406 urn:weft:problem:not-acceptable":                    "scripts have no headers: TestNoEvents",
}

// The scripts of the contract and of the update cases, and testdata/refusals, show the same
// statuses and problems of each operation as the document.
func TestDocumentHasWhatScriptsShow(t *testing.T) {
	t.Parallel()
	described, scripted := map[string]bool{}, map[string]bool{}
	for _, o := range operations(t) {
		for _, outcome := range o.Outcomes() {
			described[o.ID+" "+outcome] = true
		}
	}
	for _, scripts := range []string{"testdata/scripts", "../executor/testdata/cases", "../executor/testdata/features"} {
		datadriven.Walk(t, scripts, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "request" {
					note(t, scripted, testbed.ParseRequests(d.Input)[0], d.Expected)
				}
				return d.Expected
			})
		})
	}
	noteRefusals(t, scripted)
	for outcome := range scripted {
		if !described[outcome] {
			t.Errorf("a script shows %s, and openapi.yaml does not describe it", outcome)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(described)) {
		_, general, _ := strings.Cut(outcome, " ")
		if !scripted[outcome] && unscripted[outcome] == "" && unscripted[general] == "" {
			t.Errorf("openapi.yaml describes %s, and no script shows it", outcome)
		}
	}
}

var (
	answerLine  = regexp.MustCompile(`(?m)^(\d{3}) writes=`)
	problemLine = regexp.MustCompile(`"type": ?"(urn:weft:problem:[a-z-]+)"`)
)

// note records the outcome of a request in a script, which is its last answer: others may precede
// it.
func note(t *testing.T, scripted map[string]bool, r testbed.Request, expected string) {
	t.Helper()
	answers := answerLine.FindAllStringSubmatchIndex(expected, -1)
	u, err := url.Parse(r.Target)
	if err != nil || answers == nil {
		return // the process dies, or net/http would refuse it
	}
	o, _ := apitest.Find(operations(t), r.Method, u.EscapedPath())
	if o == nil {
		return // there is nothing there: TestContract
	}
	last := expected[answers[len(answers)-1][0]:]
	status, err := strconv.Atoi(last[:3])
	if err != nil {
		t.Fatal(err)
	}
	outcome := fmt.Sprint(o.ID, " ", status)
	if p := problemLine.FindStringSubmatch(last); p != nil {
		outcome += " " + p[1]
	}
	scripted[outcome] = true
}

// newer is a log that a newer version of Weft has written.
type newer struct{ store.Log }

// Backward implements store.Log.
func (l newer) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	page, err := l.Log.Backward(ctx, workflow, before, until, limit)
	for i := range page.Items {
		page.Items[i].Body = append([]byte{255}, page.Items[i].Body...)
	}
	return page, err
}

// throttled is a list that cannot be read for now.
type throttled struct{ store.Lister }

// ListRuns implements store.Lister.
func (throttled) ListRuns(context.Context, store.Filter, string, int) ([]store.Summary, string, error) {
	return nil, "", store.ErrThrottled
}

// A deployment may have no list of workflows, and the list may be busy.
func TestNoList(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, _ *testbed.Process) {
		for _, c := range []struct {
			lister store.Lister
			status int
		}{{nil, http.StatusNotFound}, {throttled{}, http.StatusServiceUnavailable}} {
			d.Ports.Lister = c.lister
			p := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
			refused(t, d, p, http.MethodGet, workflows, "", c.status)
			refused(t, d, p, http.MethodGet, "/v1/schedules", "", c.status)
			refused(t, d, p, http.MethodGet, "/v1/batches", "", c.status)
			refused(t, d, p, http.MethodPost, "/v1/batches", `{"filter":"Shop = 'a'","dryRun":true}`, c.status)
			builds := "/v1/builds"
			if c.lister == nil {
				builds += "?pageToken=x" // without a token it names only the build
			}
			refused(t, d, p, http.MethodGet, builds, "", c.status)
		}
	})
}
