package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// ends are the requests that bring the run of a workflow into a state.
var ends = map[history.Status]struct{ start, method, then, body string }{
	history.Running:    {start: `"type":"counter"`},
	history.Completed:  {start: `"type":"sleeper","input":"0s"`},
	history.Failed:     {start: `"type":"sleeper","input":"no time at all"`},
	history.Canceled:   {start: `"type":"counter"`, then: "/cancel"},
	history.Terminated: {start: `"type":"counter"`, then: "/terminate"},
	history.TimedOut:   {start: `"type":"counter","runTimeout":"1s"`},
}

// become starts a workflow and brings its run into a state.
func become(t *testing.T, p *testbed.Process, id string, s history.Status) *schema.StartResponse {
	t.Helper()
	how := ends[s]
	run := start(t, p, `{"workflowId":"`+id+`",`+how.start+`}`)
	if how.then != "" {
		p.Do(http.MethodPost, workflows+"/"+id+how.then, "")
	}
	if s == history.TimedOut {
		time.Sleep(2 * time.Second)
	}
	if got := status(t, p, id, run.RunID); got != s.String() {
		t.Fatalf("the run of %s is %s", id, got)
	}
	return run
}

func status(t *testing.T, p *testbed.Process, id string, run history.RunID) string {
	t.Helper()
	var d struct{ Status string }
	p.Do(http.MethodGet, fmt.Sprintf("%s/%s?runId=%s", workflows, id, run), "").Into(t, &d)
	return d.Status
}

// policyOutcome returns the outcome of a start if there is a run in this state, written down a
// second time from the contract.
func policyOutcome(s history.Status, reuse, conflict string) (code int, problem string) {
	switch {
	case reuse == "rejectDuplicate" && conflict == "terminateExisting":
		return http.StatusBadRequest, "invalid"
	case s == history.Running && conflict == "useExisting":
		return http.StatusOK, ""
	case s == history.Running && conflict == "terminateExisting":
		return http.StatusCreated, ""
	case s == history.Running:
		return http.StatusConflict, "already-open"
	case reuse == "rejectDuplicate", reuse == "allowDuplicateFailedOnly" && s == history.Completed:
		return http.StatusConflict, "already-used"
	}
	return http.StatusCreated, ""
}

// All policies against a run in each state.
func TestStartPolicies(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		for s := range ends {
			for i, reuse := range []string{"", "allowDuplicate", "allowDuplicateFailedOnly", "rejectDuplicate"} {
				for j, conflict := range []string{"", "fail", "useExisting", "terminateExisting"} {
					checkPolicy(t, d, p, fmt.Sprintf("%s-%d-%d", s, i, j), s, reuse, conflict)
				}
			}
		}
	})
}

func checkPolicy(t *testing.T, d *testbed.Deployment, p *testbed.Process, id string, s history.Status, reuse, conflict string) {
	t.Helper()
	before := become(t, p, id, s)
	body := fmt.Sprintf(`{"workflowId":%q,"type":"counter","idReusePolicy":%q,"idConflictPolicy":%q}`, id, reuse, conflict)
	dump := d.Snapshot()
	a := p.Do(http.MethodPost, workflows, body)
	var got struct {
		Type  string
		RunID history.RunID
	}
	a.Into(t, &got)
	code, problem := policyOutcome(s, reuse, conflict)
	if a.Status != code || problem != "" && got.Type != "urn:weft:problem:"+problem {
		t.Errorf("a run is %s, %s: %d %s, want %d %s", s, body, a.Status, a.Body, code, problem)
	}
	after := status(t, p, id, before.RunID)
	switch {
	case code == http.StatusCreated && (got.RunID.Number() != before.RunID.Number()+1 || s == history.Running && after != "terminated"):
		t.Errorf("%s: run %s after %s, which is %s", body, got.RunID, before.RunID, after)
	case code != http.StatusCreated && (after != s.String() || d.Snapshot() != dump || got.RunID != "" && got.RunID != before.RunID):
		t.Errorf("%s: %s, and it changed something; the run is %s", body, a.Body, after)
	}
}

// page is a page of a history or of the list.
type page struct {
	Events        []struct{ ID int64 }
	Workflows     []schema.WorkflowSummary
	NextPageToken string
}

func getPage(t *testing.T, p *testbed.Process, target string) (pg page) {
	t.Helper()
	a := p.Do(http.MethodGet, target, "")
	if a.Status != http.StatusOK {
		t.Fatalf("%s: %d %s", target, a.Status, a.Body)
	}
	a.Into(t, &pg)
	return pg
}

// A history has pages of 1,000 events. Changes between two pages (more events, another run) do not
// disturb them.
func TestHistoryPages(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		signal := func(n int) {
			for range n {
				p.Do(http.MethodPost, workflows+"/a/signals/poke", "")
			}
		}
		signal(249) // of four events each, after the start's four
		history := workflows + "/a/history"
		first := getPage(t, p, history)
		if len(first.Events) != 1000 || first.NextPageToken != "" {
			t.Fatalf("%d events and the token %q", len(first.Events), first.NextPageToken)
		}
		signal(1)
		first = getPage(t, p, history)
		signal(300)
		p.Do(http.MethodPost, workflows+"/a/terminate", "")
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		want := int64(0)
		for pg := first; ; pg = getPage(t, p, history+"?pageToken="+pg.NextPageToken) {
			for _, e := range pg.Events {
				if want++; e.ID != want {
					t.Fatalf("event %d, want %d", e.ID, want)
				}
			}
			if pg.NextPageToken == "" {
				break
			}
		}
		if want != 4+550*4+1 {
			t.Errorf("%d events", want)
		}
	})
}

// A page of a history has as many events as the request asks for, and each event is in one page.
func TestHistoryPageSize(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		run := string(start(t, p, `{"workflowId":"a","type":"counter"}`).RunID)
		history := workflows + "/a/history"
		for _, size := range []string{"0", "-1", "1001", "x", "1.5", "99999999999999999999"} {
			refused(t, d, p, http.MethodGet, history+"?pageSize="+size, "", http.StatusBadRequest)
		}
		for size, want := range map[string][]int{"1": {1, 1, 1, 1}, "3": {3, 1}, "4": {4}, "1000": {4}} {
			for _, more := range []string{"", "&from=1", "&from=1&wait=1s", "&pageToken=" + run + "/1"} {
				var got []int
				for token := more; ; {
					pg := getPage(t, p, history+"?pageSize="+size+token)
					got = append(got, len(pg.Events))
					if pg.NextPageToken == "" {
						break
					}
					token = "&pageToken=" + pg.NextPageToken
				}
				if !slices.Equal(got, want) {
					t.Errorf("pages of %s%s have %v events, want %v", size, more, got, want)
				}
			}
		}
	})
}

// A page token that no history returned.
func TestHistoryTokens(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		run := string(start(t, p, `{"workflowId":"a","type":"counter"}`).RunID)
		for token, want := range map[string]int{
			"x": 400, "/": 400, "/5": 400, run: 400, run + "/": 400, run + "/0": 400, run + "/-1": 400, run + "/x": 400,
			run + "/99999999999999999999": 400, "latest/5": 400, "0-0123456789abcdef/5": 400, "1-0123456789abcdef/5": 404, "2-0123456789abcdef/5": 404,
		} {
			refused(t, d, p, http.MethodGet, workflows+"/a/history?pageToken="+token, "", want)
		}
		refused(t, d, p, http.MethodGet, workflows+"/a/history?runId=1-0123456789abcdef&pageToken="+run+"/5", "", 400)
		for from, want := range map[string]int{"/1": 4, "/4": 1, "/5": 0, "/9223372036854775807": 0} {
			if pg := getPage(t, p, workflows+"/a/history?runId="+run+"&pageToken="+run+from); len(pg.Events) != want || pg.NextPageToken != "" {
				t.Errorf("from %s: %+v", from, pg)
			}
		}
	})
}

// The list has pages of 100 runs, the latest start first. Runs that start between two pages do not
// disturb them.
func TestListPages(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		for i := range 230 {
			typ := `"counter"`
			if i%2 == 0 {
				typ = `"sleeper","input":"0s"`
			}
			start(t, p, fmt.Sprintf(`{"workflowId":"w%d","type":%s}`, i, typ))
			time.Sleep(time.Second)
		}
		for query, want := range map[string]int{"?": 230, "?type=sleeper&": 115, "?status=running&": 115, "?type=sleeper&status=running&": 0} {
			seen := map[string]bool{}
			last := time.Now().Add(time.Hour)
			for pg := getPage(t, p, workflows+query); ; pg = getPage(t, p, workflows+query+"pageToken="+pg.NextPageToken) {
				for _, w := range pg.Workflows {
					if seen[w.WorkflowID] || w.StartedAt.After(last) {
						t.Errorf("%s: %s is listed twice, or too late", query, w.WorkflowID)
					}
					seen[w.WorkflowID], last = true, w.StartedAt
				}
				if pg.NextPageToken == "" {
					break
				}
				start(t, p, `{"type":"sleeper","input":"0s"}`)
			}
			if got := len(seen); got < want || got > want+20 {
				t.Errorf("%s: %d runs, want %d", query, got, want)
			}
		}
	})
}

// A page token continues the list that it came from, however the request writes it, and no other:
// that would silently leave out runs.
func TestPageTokenOfAnotherList(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		for range 101 {
			start(t, p, `{"type":"counter"}`)
		}
		const filter, since = "filter=WorkflowType+%3D+%27counter%27", "startedAfter=1999-01-01T00:00:00Z"
		token := getPage(t, p, workflows+"?"+filter+"&"+since).NextPageToken
		if token == "" {
			t.Fatal("there is no second page")
		}
		goOn := "pageToken=" + token
		for _, same := range []string{filter + "&" + since + "&" + goOn, goOn + "&" + since + "&type=&" + filter, filter + "&" + since + "&X-Amz-Date=1&" + goOn} {
			if pg := getPage(t, p, workflows+"?"+same); len(pg.Workflows) != 1 || pg.NextPageToken != "" {
				t.Errorf("%s: %d runs, and the token %q", same, len(pg.Workflows), pg.NextPageToken)
			}
		}
		for _, other := range []string{
			goOn, filter + "&" + goOn, since + "&" + goOn, filter + "&" + since + "&status=running&" + goOn, filter + "&" + since + "&build=b&" + goOn,
			filter + "&startedAfter=1999-01-01T00:00:01Z&" + goOn, filter + "&" + since + "&" + goOn[:len("pageToken=")+8],
		} {
			refused(t, d, p, http.MethodGet, workflows+"?"+other, "", 400)
		}
		refused(t, d, p, http.MethodGet, "/v1/schedules?"+goOn, "", 400)
	})
}

// Every answer is JSON with the contract's field names. A page is never null, even if it is empty.
func TestEmptyList(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		var got map[string]json.RawMessage
		p.Do(http.MethodGet, workflows, "").Into(t, &got)
		if string(got["workflows"]) != "[]" || len(got["version"]) == 0 || len(got) != 2 {
			t.Errorf("%s", got)
		}
	})
}
