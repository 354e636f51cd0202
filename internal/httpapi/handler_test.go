package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

const workflows = "/v1/workflows"

// bubble calls fn in a bubble, with a deployment and a process that handles messages.
func bubble(t *testing.T, fn func(t *testing.T, d *testbed.Deployment, p *testbed.Process)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, testbed.Workload("build-1")...)
		fn(t, d, p)
		d.CheckReplay(p)
	})
}

func start(t *testing.T, p *testbed.Process, body string) *schema.StartResponse {
	t.Helper()
	a := p.Do(http.MethodPost, workflows, body)
	if a.Status != http.StatusCreated {
		t.Fatalf("start %s: %d %s", body, a.Status, a.Body)
	}
	answer := &schema.StartResponse{}
	a.Into(t, answer)
	return answer
}

// refused sends a request that must be refused, and change neither the store nor the queues.
func refused(t *testing.T, d *testbed.Deployment, p *testbed.Process, method, target, body string, status int) {
	t.Helper()
	before := d.Snapshot()
	a := p.Do(method, target, body)
	if a.Status != status {
		t.Errorf("%s %s %.80s: %d %s, want %d", method, target, body, a.Status, a.Body, status)
	}
	if a.Cost.Writes+a.Cost.Lost+a.Cost.Messages != 0 || d.Snapshot() != before {
		t.Errorf("%s %s %.80s is refused, and cost %v", method, target, body, a.Cost)
	}
}

// postings are the requests that take a body, each with a valid one.
var postings = map[string]string{
	workflows:                      `{"workflowId":"b","type":"counter"%s}`,
	workflows + "/a/signals/poke":  `{"requestId":"r1"%s}`,
	workflows + "/a/queries/plus":  `{"input":1%s}`,
	workflows + "/a/updates/add":   `{"input":1%s}`,
	workflows + "/a/cancel":        `{"reason":"x"%s}`,
	workflows + "/a/terminate":     `{"reason":"x"%s}`,
	workflows + "/a/reset":         `{"to":"firstTask"%s}`,
	workflows + "/a/updates/never": `{"updateId":"u1"%s}`,
}

// Every request that takes a body refuses one that is not a single object in UTF-8, with only its
// own fields, each at most once.
func TestMalformedBodies(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		for target, good := range postings {
			for _, bad := range []string{`,"nonsense":1`, `,"input":1,"input":2`, ",\"input\":\"\xff\"", `,`, `}`, `} {}`, `}]`, `} ` + "\x00"} {
				refused(t, d, p, http.MethodPost, target, fmt.Sprintf(good, bad), http.StatusBadRequest)
			}
			object := fmt.Sprintf(good, "")
			for _, bad := range []string{"null", "[" + object + "]", object[:len(object)-1], "\ufeff" + object, "\xff", `"` + object + `"`, "{}{}", "0x7b"} {
				refused(t, d, p, http.MethodPost, target, bad, http.StatusBadRequest)
			}
		}
	})
}

// A query string with a parameter that the endpoint does not know is refused: without a misspelt
// parameter, the request would select everything.
func TestQueryStrings(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		for _, target := range []string{"?runID=x", "?runId=x&runId=y", "?wait=1s", "?%zz", "/result?wait=1s&wait=2s"} {
			refused(t, d, p, http.MethodGet, workflows+"/a"+target, "", http.StatusBadRequest)
		}
		refused(t, d, p, http.MethodGet, workflows+"?Status=running", "", http.StatusBadRequest)
		refused(t, d, p, http.MethodPost, workflows+"/a/updates/add?wait=1s", `{"input":1}`, http.StatusBadRequest)
		if a := p.Do(http.MethodGet, workflows+"/a?X-Amz-Signature=00", ""); a.Status != http.StatusOK {
			t.Errorf("signed in its query string: %d %s", a.Status, a.Body)
		}
	})
}

// A body of exactly the limit is read, and one byte more is refused, even if the input ends before
// that and only blanks follow.
func TestBodyLimit(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		a := p.Do(http.MethodPost, workflows, strings.Repeat(" ", httpapi.MaxBody+1))
		if !strings.Contains(string(a.Body), "an input may have 262144") || !strings.Contains(string(a.Body), "--large-payloads") {
			t.Errorf("the limit of an input, and the remedy, are not named: %s", a.Body)
		}
		for target, good := range postings {
			object := fmt.Sprintf(good, "")
			blanks := strings.Repeat(" ", httpapi.MaxBody-len(object))
			refused(t, d, p, http.MethodPost, target, object+blanks+" ", http.StatusRequestEntityTooLarge)
			refused(t, d, p, http.MethodPost, target, " "+blanks+object, http.StatusRequestEntityTooLarge)
			if !strings.HasSuffix(target, "e") && !strings.HasSuffix(target, "l") { // those that end the run
				if a := p.Do(http.MethodPost, target, object+blanks); a.Status >= 400 && a.Status != http.StatusUnprocessableEntity {
					t.Errorf("a body of %d bytes to %s: %d %s", httpapi.MaxBody, target, a.Status, a.Body)
				}
			}
		}
	})
}

// An input of exactly the limit is accepted, and one byte more is refused, whatever the request.
// Reasons have a limit of their own.
func TestPayloadLimit(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		start(t, p, `{"workflowId":"c","type":"bulky"}`)
		most, mostReason := executor.Defaults().MaxPayload, 4<<10
		text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
		for target, field := range map[string]string{
			workflows:                      `"workflowId":"b","type":"registrar","input"`,
			workflows + "/a/signals/mail":  `"requestId":"r1","input"`,
			workflows + "/c/queries/weigh": `"input"`,
			workflows + "/c/updates/echo":  `"updateId":"u1","input"`,
		} {
			refused(t, d, p, http.MethodPost, target, "{"+field+":"+text(most+1)+"}", http.StatusRequestEntityTooLarge)
			if a := p.Do(http.MethodPost, target, "{"+field+":"+text(most)+"}"); a.Status >= 400 {
				t.Errorf("an input of %d bytes to %s: %d %.200s", most, target, a.Status, a.Body)
			}
		}
		for _, how := range []string{"/a/terminate", "/a/cancel"} {
			refused(t, d, p, http.MethodPost, workflows+how, `{"reason":`+text(mostReason+3)+`}`, http.StatusRequestEntityTooLarge)
		}
		if a := p.Do(http.MethodPost, workflows+"/a/cancel", `{"reason":`+text(mostReason+2)+`}`); a.Status != http.StatusAccepted {
			t.Errorf("a reason of %d bytes: %d %.200s", mostReason, a.Status, a.Body)
		}
		if a := p.Do(http.MethodGet, workflows+"/a/history", ""); a.Status != http.StatusOK {
			t.Errorf("history: %d", a.Status)
		}
	})
}

// A workflow that writes more than a commit may hold writes several commits. An activity that
// starts with the same input as the run is an example.
func TestCommitLimit(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		name := strings.Repeat("x", 200<<10)
		job := `{"name":"` + name + `"}`
		start(t, p, `{"workflowId":"b","type":"parallel","input":[`+job+`]}`)
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		for _, request := range []string{"do", "add"} {
			input := map[string]string{"do": job, "add": "1"}[request]
			if a := p.Do(http.MethodPost, workflows+"/a/updates/"+request, `{"input":`+input+`}`); a.Status != http.StatusOK {
				t.Errorf("update %s: %d %.200s", request, a.Status, a.Body)
			}
		}
		for id, events := range map[string]int{"a": 2, "b": 1} {
			if a := p.Do(http.MethodGet, workflows+"/"+id+"/history", ""); strings.Count(string(a.Body), `"splitBefore"`) != events {
				t.Errorf("the history of %s: %d %.200s", id, a.Status, a.Body)
			}
		}
	})
}

// JSON is accepted if its answers can still be read, and refused if it is nested deeper.
func TestDeepJSON(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		signal := func(depth int) string {
			return `{"input":` + strings.Repeat("[", depth) + `"[[\"{"` + strings.Repeat("]", depth) + `}`
		}
		for _, depth := range []int{1000, 9_990, 9_999, 10_000, 400_000} {
			refused(t, d, p, http.MethodPost, workflows+"/a/signals/deep", signal(depth), http.StatusBadRequest)
		}
		refused(t, d, p, http.MethodPost, workflows+"/a/signals/deep", strings.Repeat(`{"a":`, 200_000), http.StatusBadRequest)
		if a := p.Do(http.MethodPost, workflows+"/a/signals/deep", signal(999)); a.Status != http.StatusAccepted {
			t.Errorf("999 levels: %d %s", a.Status, a.Body)
		}
		a := p.Do(http.MethodGet, workflows+"/a/history", "")
		var page struct{ Events []json.RawMessage }
		if a.Into(t, &page); len(page.Events) != 8 {
			t.Errorf("%d events", len(page.Events))
		}
	})
}

// A poll returns as soon as its event happens: the bubble's clock says when that is.
func TestPollsReturnWhenTheirEventHappens(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		other := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
		start(t, p, `{"workflowId":"a","type":"sleeper","input":"7s"}`)
		start(t, p, `{"workflowId":"b","type":"counter"}`)
		p.Do(http.MethodPost, workflows+"/b/updates/nap", `{"updateId":"u1","input":"7s","waitFor":"accepted"}`)
		began := time.Now()
		for _, test := range []struct {
			p      *testbed.Process
			target string
			atMost time.Duration
		}{
			{p, "/a/result", 7 * time.Second},
			{other, "/a/result", 9 * time.Second}, // commits of another process wake nobody: the poll looks every 2 s
			{p, "/b/updates/u1", 7 * time.Second},
			{other, "/b/updates/u1", 9 * time.Second},
		} {
			go func() {
				a := test.p.Do(http.MethodGet, workflows+test.target+"?wait=20s", "")
				if took := time.Since(began); a.Status != http.StatusOK || took < 7*time.Second || took > test.atMost {
					t.Errorf("%s: %d after %v", test.target, a.Status, took)
				}
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// A caller that disconnects ends its own wait and nothing else: what was accepted stays, and what
// is in progress completes.
func TestCallersWhoDisconnect(t *testing.T) {
	bubble(t, func(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
		start(t, p, `{"workflowId":"a","type":"counter"}`)
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		p.DoWith(ctx, http.MethodPost, workflows+"/a/updates/nap", `{"updateId":"u1","input":"10s"}`)
		p.DoWith(ctx, http.MethodGet, workflows+"/a/result?wait=20s", "")
		p.DoWith(ctx, http.MethodPost, workflows+"/a/updates/add", `{"updateId":"u2","input":1}`)
		p.DoWith(ctx, http.MethodPost, workflows+"/a/signals/poke", `{"requestId":"r1"}`)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the caller was kept for %v", took)
		}
		time.Sleep(20 * time.Second)
		for _, id := range []string{"u1", "u2"} {
			if a := p.Do(http.MethodGet, workflows+"/a/updates/"+id, ""); a.Status != http.StatusOK {
				t.Errorf("update %s: %d %s", id, a.Status, a.Body)
			}
		}
		if runs := d.Runs("a"); !runs[0].State.Signaled("r1") {
			t.Error("the signal did not arrive")
		}
	})
}
