package httpapi_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/turntest"
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

// Every endpoint has an operation in the document, and every operation an endpoint.
func TestDocumentHasTheEndpoints(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\{[^}]+\}`)
	var described, served []string
	for _, o := range operations(t) {
		described = append(described, o.Method+" "+name.ReplaceAllString(o.Path, "{}"))
	}
	for _, pattern := range httpapi.Patterns() {
		served = append(served, name.ReplaceAllString(pattern, "{}"))
	}
	slices.Sort(described)
	slices.Sort(served)
	if !slices.Equal(described, served) {
		t.Errorf("openapi.yaml describes\n%s\nand the mux serves\n%s", strings.Join(described, "\n"), strings.Join(served, "\n"))
	}
}

// Every endpoint takes what the document says of its query string, and nothing else.
func TestDocumentHasTheParameters(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`\{[^}]+\}`)
	taken := map[string][]string{}
	for _, pattern := range httpapi.Patterns() {
		taken[name.ReplaceAllString(pattern, "{}")] = slices.Sorted(slices.Values(httpapi.ParametersOf(pattern)))
	}
	for _, o := range operations(t) {
		place := o.Method + " " + name.ReplaceAllString(o.Path, "{}")
		described := slices.Compact(slices.Sorted(slices.Values(o.Query()))) // an operation may say more of a parameter of its path
		if !slices.Equal(described, taken[place]) {
			t.Errorf("%s: openapi.yaml has the parameters %q, and the endpoint takes %q", place, described, taken[place])
		}
	}
}

// The document is served as it is.
func TestDocumentIsServed(t *testing.T) {
	bubble(t, func(t *testing.T, _ *turntest.Deployment, p *turntest.Process) {
		a := p.Do(http.MethodGet, "/v1/openapi.yaml", "")
		if a.Status != http.StatusOK || string(a.Body) != string(httpapi.OpenAPI) || a.Header.Get("Content-Type") != "application/yaml" {
			t.Errorf("%d %v, %d bytes", a.Status, a.Header, len(a.Body))
		}
	})
}

// unscripted are what the document describes and no script shows, with what does.
var unscripted = map[string]string{
	"401 urn:weft:problem:unauthorized":                      "the local server alone: internal/local, TestToken",
	"403 urn:weft:problem:forbidden":                         "the local server alone: internal/local, TestPages",
	"500 urn:weft:problem:internal":                          "a defect: internal/function has a request that panics",
	"409 urn:weft:problem:not-ready":                         "a run that a newer version wrote: TestNewerRuns",
	"413 urn:weft:problem:too-large":                         "what is too large for a script: TestPayloadLimit; answers that Lambda does not take: internal/function",
	"getDocument 200":                                        "the document is too long for a script: TestDocumentIsServed",
	"listWorkflows 404 urn:weft:problem:not-found":           "a deployment without a list: TestNoList",
	"failUpdate 409 urn:weft:problem:other-build":            "the same way as cancelWorkflow's",
	"heartbeatActivity 503 urn:weft:problem:outcome-unknown": "package turn, TestBeatWhoseRecordIsLost",
	"listWorkflows 503 urn:weft:problem:busy":                "TestNoList",
	"listSchedules 404 urn:weft:problem:not-found":           "TestNoList",
	"listSchedules 503 urn:weft:problem:busy":                "TestNoList",
}

// The scripts of the contract and of the update cases, and the document, have the same statuses and problems of each
// operation.
func TestDocumentHasWhatScriptsShow(t *testing.T) {
	t.Parallel()
	described, shown := map[string]bool{}, map[string]bool{}
	for _, o := range operations(t) {
		for _, outcome := range o.Outcomes() {
			described[o.ID+" "+outcome] = true
		}
	}
	for _, scripts := range []string{"testdata/scripts", "../turn/testdata/cases", "../turn/testdata/features"} {
		datadriven.Walk(t, scripts, func(t *testing.T, path string) {
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "request" {
					note(t, shown, turntest.ParseRequests(d.Input)[0], d.Expected)
				}
				return d.Expected
			})
		})
	}
	for outcome := range shown {
		if !described[outcome] {
			t.Errorf("a script shows %s, and openapi.yaml does not describe it", outcome)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(described)) {
		_, general, _ := strings.Cut(outcome, " ")
		if !shown[outcome] && unscripted[outcome] == "" && unscripted[general] == "" {
			t.Errorf("openapi.yaml describes %s, and no script shows it", outcome)
		}
	}
}

var (
	answerLine  = regexp.MustCompile(`(?m)^(\d{3}) writes=`)
	problemLine = regexp.MustCompile(`"type": ?"(urn:weft:problem:[a-z-]+)"`)
)

// note notes the outcome of a request in a script: what it says last, after what happened meanwhile.
func note(t *testing.T, shown map[string]bool, r turntest.Request, expected string) {
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
	shown[outcome] = true
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

// Every operation on a run that a newer version wrote says that it is not ready.
func TestNewerRuns(t *testing.T) {
	bubble(t, func(t *testing.T, d *turntest.Deployment, p *turntest.Process) {
		first := start(t, p, `{"workflowId":"a","type":"counter"}`)
		waiting := start(t, p, `{"workflowId":"w","type":"waiter"}`)
		synctest.Wait()
		const hourly = `{"scheduleId":"s","schedule":{"spec":{"cron":["@hourly"]},"action":{"type":"counter"}}}`
		if a := p.Do(http.MethodPost, "/v1/schedules", hourly); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		d.Ports.Log = newer{d.Store}
		old := d.Idle(turn.Options{}, turntest.Workload("build-1")...)
		for _, o := range operations(t) {
			if slices.Contains(o.Outcomes(), "409 urn:weft:problem:not-ready") {
				target := strings.NewReplacer("{workflowId}", "a", "{update}", "add", "{signal}", "poke", "{query}", "sum", "{scheduleId}", "s").Replace(o.Path)
				body := map[string]string{
					"startWorkflow": `{"workflowId":"a","type":"counter"}`, "updateWorkflow": `{"input":1}`, "resetWorkflow": `{"to":"firstTask"}`,
					"createSchedule": hourly, "updateSchedule": `{"schedule":{"spec":{"cron":["@daily"]},"action":{"type":"counter"}}}`,
					"backfillSchedule": `{"startAt":"2000-01-01T00:00:00Z","endAt":"2000-01-02T00:00:00Z"}`,
				}[o.ID]
				if o.ID == "deleteWorkflow" {
					target += "?runId=" + string(first.RunID)
				}
				if strings.HasSuffix(o.ID, "Activity") {
					body = `{"token":"` + turntest.Pass(string(waiting.RunID)) + `"}`
				}
				if a := old.Do(o.Method, target, body); a.Status != http.StatusConflict {
					t.Errorf("%s: %d %s", o.ID, a.Status, a.Body)
				}
			}
		}
	})
}

// throttled is a list that cannot be read now.
type throttled struct{ store.Lister }

// ListRuns implements store.Lister.
func (throttled) ListRuns(context.Context, store.Filter, string, int) ([]store.Summary, string, error) {
	return nil, "", store.ErrThrottled
}

// A deployment may keep no list, and its list may be busy.
func TestNoList(t *testing.T) {
	bubble(t, func(t *testing.T, d *turntest.Deployment, _ *turntest.Process) {
		for _, c := range []struct {
			lister store.Lister
			status int
		}{{nil, http.StatusNotFound}, {throttled{}, http.StatusServiceUnavailable}} {
			d.Ports.Lister = c.lister
			p := d.Idle(turn.Options{}, turntest.Workload("build-1")...)
			refused(t, d, p, http.MethodGet, workflows, "", c.status)
			refused(t, d, p, http.MethodGet, "/v1/schedules", "", c.status)
		}
	})
}
