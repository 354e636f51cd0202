package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/examples/agent"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// programOperations returns the operations of the document of workflow types, which a process
// serves.
func programOperations(t *testing.T, p *testbed.Process, types string) []*apitest.Operation {
	t.Helper()
	a := p.Do(http.MethodGet, "/v1/openapi.yaml?types="+types, "")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	all, err := apitest.Operations(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// conversation is what a caller says to carts, and the operation and the status of each answer.
var conversation = []struct {
	target, body, operation string
	status                  int
}{
	{"", `{"type":"cart","workflowId":"c1","input":{"owner":"ada"}}`, "startWorkflow", 201},
	{"", `{"type":"cart","workflowId":"c1","input":{"owner":"ada"}}`, "startWorkflow", 409},
	{"", `{"type":"cart","workflowId":"c2","input":{"owner":7}}`, "startWorkflow", 400},
	{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`, "cartAddItem", 200},
	{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":200}}`, "cartAddItem", 422},
	{"/c1/updates/addItem", `{"input":{"sku":"rope","quantity":1}}`, "cartAddItem", 422},
	{"/c3/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`, "cartAddItem", 404},
	{"/c4/updates/addItem", `{"input":{"sku":"cup","quantity":1},"start":{"type":"cart","input":{"owner":"eve"},"idConflictPolicy":"useExisting"}}`, "cartAddItem", 200},
	{"/c5/signals/note", `{"input":"hurry","start":{"type":"cart","input":{"owner":"bob"}}}`, "cartNote", 202},
	{"/c5/updates/checkout", ``, "cartCheckout", 422},
	{"/c1/signals/note", `{"input":"a present"}`, "cartNote", 202},
	{"/c1/signals/note", `{"input":7}`, "cartNote", 400},
	{"/c1/queries/cart", ``, "cartCart", 200},
	{"/c1/updates/checkout", `{"updateId":"u1","waitFor":"accepted"}`, "cartCheckout", 202},
	{"GET /c1/updates/u1?wait=20s", ``, "pollUpdate", 200},
	{"GET /c1/result?wait=20s", ``, "getResult", 200},
	{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`, "cartAddItem", 404},
	{"POST /v1/schedules", `{"scheduleId":"s1","schedule":{"spec":{"cron":["0 * * * *"]},"action":{"type":"cart","input":{"owner":"ada"}}}}`, "createSchedule", 201},
	{"POST /v1/schedules/s1/update", `{"schedule":{"spec":{"cron":["1 * * * *"]},"action":{"type":"cart","input":{"owner":"eve"}}}}`, "updateSchedule", 200},
}

// The document of a program describes what is said to a cart, and what it answers.
func TestDocumentOfProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, cart.Registrations()...)
		all := programOperations(t, p, "cart")
		unsaid := map[string]bool{}
		for _, o := range all {
			unsaid[o.ID] = true
		}
		for _, c := range conversation {
			method, path, ok := strings.Cut(c.target, " ")
			if !ok {
				method, path = http.MethodPost, c.target
			}
			if !strings.HasPrefix(path, "/v1/") {
				path = workflows + path
			}
			u, err := url.Parse(path)
			if err != nil {
				t.Fatal(err)
			}
			a := p.Do(method, path, c.body)
			o, _ := apitest.Find(all, method, u.EscapedPath())
			if o == nil || o.ID != c.operation || a.Status != c.status {
				t.Errorf("%s %s %s: %d %s, want the operation %s and %d", method, path, c.body, a.Status, a.Body, c.operation, c.status)
				continue
			}
			delete(unsaid, o.ID)
			x := &apitest.Exchange{Method: method, URL: u, Sent: []byte(c.body), Status: a.Status, Header: a.Header, Body: a.Body}
			if err := x.CheckWith(all); err != nil {
				t.Errorf("%s %s %s: %d %s: %v", method, path, c.body, a.Status, a.Body, err)
			}
		}
		if len(unsaid) > 0 {
			t.Errorf("the conversation has none of %v", unsaid)
		}
	})
}

// The document of a program does not describe requests and answers of other types.
func TestDocumentOfProgramIsNarrow(t *testing.T) {
	t.Parallel()
	p := testbed.New(t).Idle(executor.Options{}, cart.Registrations()...)
	all := programOperations(t, p, "cart")
	header := http.Header{"Content-Type": {"application/json"}, "Weft-Cost": {"writes=0, reads=1, messages=0"}}
	const answer = `{"updateId":"u1","runId":"1-6f1a9ac0be13a5d2","stage":"completed","result":`
	for _, c := range []struct {
		path, sent string
		status     int
		body, want string
	}{
		{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`, 200, answer + `{"items":2,"cents":900}}`, ""},
		{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":"2"}}`, 200, answer + `{"items":2,"cents":900}}`, "/input/quantity"},
		{"/c1/updates/addItem", `{"input":{"sku":"tea"}}`, 200, answer + `{"items":2,"cents":900}}`, "missing property 'quantity'"},
		{"/c1/updates/addItem", `{}`, 200, answer + `{"items":2,"cents":900}}`, "missing property 'input'"},
		{"/c1/updates/addItem", ``, 200, answer + `{"items":2,"cents":900}}`, "the body is missing"},
		{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`, 200, answer + `{"items":2,"cents":"900"}}`, "/result/cents"},
		{"/c1/updates/addItem", `{"input":{"sku":"tea","quantity":2},"start":{"type":"order"}}`, 200, answer + `{"items":2,"cents":900}}`, "/start/type"},
		{"/c1/updates/discount", `{}`, 200, answer + `1}`, "has no POST"},
		{"", `{"type":"order"}`, 201, `{"workflowId":"c1","runId":"1-6f1a9ac0be13a5d2"}`, "/type"},
		{"", `{"type":"cart","input":"ada"}`, 201, `{"workflowId":"c1","runId":"1-6f1a9ac0be13a5d2"}`, "/input"},
	} {
		u := &url.URL{Path: workflows + c.path}
		err := (&apitest.Exchange{Method: http.MethodPost, URL: u, Sent: []byte(c.sent), Status: c.status, Header: header, Body: []byte(c.body)}).CheckWith(all)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s %s: %v, want %q", c.path, c.sent, c.body, err, c.want)
		}
	}
}

// The parameter takes several types, and each type that a program has code for.
func TestDocumentOfTypes(t *testing.T) {
	t.Parallel()
	registered := append(cart.Registrations(), agent.Registrations()...)
	registered = append(registered, workflow.Dynamic(func(workflow.Context, string, workflow.Raw) (workflow.Raw, error) { return nil, nil }))
	p := testbed.New(t).Idle(executor.Options{}, registered...)
	for types, want := range map[string]int{"cart,agent": 200, "whatever": 200, "weft.schedule": 404, "cart,weft.batch": 404, "cart,": 400, "cart,agent,cart": 400, ",": 400} {
		if a := p.Do(http.MethodGet, "/v1/openapi.yaml?types="+types, ""); a.Status != want {
			t.Errorf("%s: %d %.200s, want %d", types, a.Status, a.Body, want)
		}
	}
	many := "t" + strings.Repeat(",t", 1000)
	if a := p.Do(http.MethodGet, "/v1/openapi.yaml?types="+many, ""); a.Status != 400 || !strings.Contains(string(a.Body), "give at most 102") {
		t.Errorf("1001 types: %d %.200s", a.Status, a.Body)
	}
	for types, want := range map[string]string{"cart,agent": "cartAddItem agentProgress startWorkflow", "whatever": "startWorkflow getResult"} {
		found := map[string]bool{}
		for _, o := range programOperations(t, p, types) {
			found[o.ID] = true
		}
		for _, id := range strings.Fields(want) {
			if !found[id] {
				t.Errorf("%s has no %s: %v", types, id, found)
			}
		}
	}
	if a := p.Do(http.MethodGet, "/v1/openapi.yaml?types=", ""); a.Status != 200 || len(a.Body) < 100_000 {
		t.Errorf("without types: %d, %d bytes", a.Status, len(a.Body))
	}
}
