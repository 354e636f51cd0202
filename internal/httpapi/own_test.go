package httpapi_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// ofOwn are the requests of each route that names the type of a workflow, with a type and a
// workflow id in place of TYPE and ID. Each starts a run, or will.
var ofOwn = map[string]struct{ target, body string }{
	"startWorkflow":  {workflows, `{"workflowId":"ID","type":"TYPE","input":INPUT}`},
	"signalWorkflow": {workflows + "/ID/signals/poke", `{"start":{"type":"TYPE","input":INPUT}}`},
	"updateWorkflow": {workflows + "/ID/updates/add", `{"start":{"type":"TYPE","input":INPUT,"idConflictPolicy":"useExisting"}}`},
	"createSchedule": {"/v1/schedules", `{"scheduleId":"new","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"TYPE","workflowId":"ID","input":INPUT}}}`},
	"updateSchedule": {"/v1/schedules/s/update", `{"schedule":{"spec":{"cron":["@daily"]},"action":{"type":"TYPE","workflowId":"ID","input":INPUT}}}`},
}

// batchInput is the input of a batch's workflow that terminates every run. Versions that started it
// by its type let callers do so who may not start batches.
const batchInput = `{"id":"b","key":"k","filter":"WorkflowType = 'counter'","action":{"kind":"terminate"},"mostRuns":1000}`

// No route starts one of Weft's own workflows by its type, or a workflow of a program with an id of
// theirs. Such a request changes nothing.
func TestOwnWorkflowsAreNotStarted(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		if a := p.Do(http.MethodPost, "/v1/schedules", hourly); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		for _, route := range slices.Sorted(maps.Keys(ofOwn)) {
			for _, c := range []struct{ id, typ, input, says string }{
				{"weft.batch:b", "weft.batch", batchInput, "batches"},
				{"b", "weft.batch", batchInput, "is one of Weft's own"},
				{"b", "weft.schedule", `{"id":"b","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"counter"}}}`, "is one of Weft's own"},
				{"b", "weft.mine", "null", "is one of Weft's own"},
				{"weft.batch:b", "counter", "0", `with "weft."`},
				{"weft.schedule:b", "counter", "0", `with "weft."`},
				{"weft.mine", "counter", "0", `with "weft."`},
			} {
				with := strings.NewReplacer("TYPE", c.typ, "ID", c.id, "INPUT", c.input)
				target, body := with.Replace(ofOwn[route].target), with.Replace(ofOwn[route].body)
				refused(t, d, p, http.MethodPost, target, body, http.StatusBadRequest)
				if a := p.Do(http.MethodPost, target, body); !strings.Contains(string(a.Body), strings.ReplaceAll(c.says, `"`, `\"`)) {
					t.Errorf("%s of %s %s: %s, want %s", route, c.typ, c.id, a.Body, c.says)
				}
			}
		}
		for _, id := range []string{"weft.batch:b", "b", "weft.schedule:b", "weft.mine"} {
			if a := p.Do(http.MethodGet, workflows+"/"+id, ""); a.Status != http.StatusNotFound {
				t.Errorf("there is a workflow %s: %s", id, a.Body)
			}
		}
		refused(t, d, p, http.MethodPost, "/v1/schedules", `{"scheduleId":"weft.x","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"counter"}}}`, http.StatusBadRequest)
	})
}

// The test before knows each route whose body has the type of a workflow.
func TestRoutesOfTypes(t *testing.T) {
	t.Parallel()
	var routes []string
	for _, r := range httpapi.Routes() {
		all := map[string]any{}
		if body, _ := r.Bodies(); body != nil {
			addForms(all, body)
		}
		for name, form := range all {
			if _, typed := reflect.TypeOf(form).FieldByName("Type"); typed && name != "FailActivityRequest" && name != "FailByHandRequest" {
				routes = append(routes, r.ID)
			}
		}
	}
	slices.Sort(routes)
	if want := slices.Sorted(maps.Keys(ofOwn)); !slices.Equal(routes, want) {
		t.Errorf("the routes %q name types, and the test has %q", routes, want)
	}
}

// The routes of batches and schedules start their workflows, and the other requests of workflows
// reach them.
func TestOwnRoutesStartOwnWorkflows(t *testing.T) {
	bubble(t, func(t *testing.T, _ *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`) // the batch waits after it
		start(t, p, `{"workflowId":"w","type":"waiter"}`)
		for _, c := range []struct{ target, body, id string }{
			{"/v1/batches", slowly, "weft.batch:x"},
			{"/v1/schedules", strings.Replace(hourly, `"s"`, `"s","header":{"tenant":"acme"}`, 1), "weft.schedule:s"},
		} {
			if a := p.Do(http.MethodPost, c.target, c.body); a.Status != http.StatusCreated {
				t.Errorf("%s: %d %s", c.target, a.Status, a.Body)
			}
			at := workflows + "/" + c.id
			for _, r := range []struct{ method, target, body string }{
				{http.MethodGet, "", ""},
				{http.MethodGet, "/history", ""},
				{http.MethodPost, "/queries/weft.describe", `{}`},
				{http.MethodPost, "/pause", `{}`},
				{http.MethodPost, "/resume", `{}`},
				{http.MethodPost, "/terminate", `{}`},
				{http.MethodGet, "/result?wait=0s", ""},
			} {
				if a := p.Do(r.method, at+r.target, r.body); a.Status >= 300 {
					t.Errorf("%s %s: %d %s", r.method, at+r.target, a.Status, a.Body)
				}
			}
		}
		var h schema.HistoryResponse
		a := p.Do(http.MethodGet, workflows+"/weft.schedule:s/history", "")
		a.Into(t, &h)
		var opened struct{ Header map[string]string }
		if text, err := json.Marshal(h.Events[0].Attributes); err != nil || json.Unmarshal(text, &opened) != nil || opened.Header["tenant"] != "acme" {
			t.Errorf("the schedule has the header %v", opened.Header)
		}
	})
}

// A workflow that an earlier version started with an id that begins with "weft." goes on to take
// signals and updates with a start while it is open. They open no run after it has closed.
func TestRunsWithOwnIDsTakeSignalsWithStart(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		id := "weft.mine"
		c, err := p.Process.Service.Process.Parser().StartOwn(&schema.StartRequest{WorkflowID: &id, Type: "counter"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Process.Service.Requests.Start(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		at := workflows + "/" + id
		signal, update := `{"start":{"type":"counter"}}`, `{"input":1,"start":{"type":"counter","idConflictPolicy":"useExisting"}}`
		if a := p.Do(http.MethodPost, at+"/signals/poke", signal); a.Status != http.StatusAccepted {
			t.Errorf("a signal: %d %s", a.Status, a.Body)
		}
		if a := p.Do(http.MethodPost, at+"/updates/add", update); a.Status != http.StatusOK {
			t.Errorf("an update: %d %s", a.Status, a.Body)
		}
		terminates := strings.Replace(signal, `"counter"`, `"counter","idConflictPolicy":"terminateExisting"`, 1)
		refused(t, d, p, http.MethodPost, at+"/signals/poke", terminates, http.StatusBadRequest)
		if a := p.Do(http.MethodPost, at+"/terminate", `{}`); a.Status != http.StatusOK {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		refused(t, d, p, http.MethodPost, at+"/signals/poke", signal, http.StatusBadRequest)
		refused(t, d, p, http.MethodPost, at+"/updates/add", strings.Replace(update, "1", "2", 1), http.StatusBadRequest)
	})
}
