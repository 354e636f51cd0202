package command_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// aRun is the id of a run.
const aRun = history.RunID("1-0102030405060708")

// parser returns a parser of a deployment with the workflow type "order", whose input must not be
// the word bad.
func parser(tb testing.TB) *command.Parser {
	tb.Helper()
	types := &engine.Registry{}
	err := types.AddWorkflow(&engine.Workflow{
		Name: "order", CheckInput: func(p history.Payload) error {
			if string(p) == `"bad"` {
				return errors.New("it is bad")
			}
			return nil
		},
	})
	if err != nil {
		tb.Fatal(err)
	}
	made := byte(0)
	return &command.Parser{
		Types: types, MaxPayload: 100, SoftLimit: 20 * time.Second,
		NewID: func() [16]byte { made++; return [16]byte{15: made} },
		Now:   func() time.Time { return time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC) },
	}
}

// read decodes the body of a request.
func read[B any](t *testing.T, text string) *B {
	t.Helper()
	b := new(B)
	if err := json.Unmarshal([]byte(text), b); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b
}

// refused checks how a request was refused. An empty want means that it was accepted.
func refused(t *testing.T, body string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", body, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v, want %q", body, err, want)
	case want != "" && !errors.Is(err, refusal.Invalid) && !errors.Is(err, refusal.TooLarge):
		t.Errorf("%s: %v is of another kind", body, err)
	}
}

var large = `"` + strings.Repeat("x", 100) + `"`

// An invalid start is refused with the first of its errors.
func TestStart(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"type":"order"}`: "",
		`{"type":"order","workflowId":"w","input":{"a":1}}`:                                         "",
		`{"type":"order","workflowId":""}`:                                                          "the workflow id is empty",
		`{"type":"order","workflowId":"a/b","requestId":"a b"}`:                                     "the workflow id has a character",
		`{"type":"","requestId":"a b"}`:                                                             "the requestId has a character",
		`{}`:                                                                                        `the type is missing: give one of ["order"]`,
		`{"type":"nobody","runTimeout":"-1s"}`:                                                      `there is no workflow type "nobody": give one of ["order"]`,
		`{"type":"order","runTimeout":"-1s","startDelay":"-1s"}`:                                    "the runTimeout is negative",
		`{"type":"order","executionTimeout":"-1s"}`:                                                 "the executionTimeout is negative",
		`{"type":"order","startDelay":"-1s"}`:                                                       "the startDelay is negative",
		`{"type":"order","runTimeout":"1us"}`:                                                       "the runTimeout is below a millisecond",
		`{"type":"order","executionTimeout":"1us"}`:                                                 "the executionTimeout is below a millisecond",
		`{"type":"order","cronSchedule":"now","startDelay":"1s"}`:                                   "leave the startDelay out",
		`{"type":"order","cronSchedule":"now"}`:                                                     "the cronSchedule: ",
		`{"type":"order","cronSchedule":"0 0 31 2 *"}`:                                              "names no moment in the next years",
		`{"type":"order","retryPolicy":{"maximumAttempts":-1},"idReusePolicy":"no"}`:                "the retryPolicy is invalid",
		`{"type":"order","idReusePolicy":"no","idConflictPolicy":"no"}`:                             `there is no idReusePolicy "no": give allowDuplicate, allowDuplicateFailedOnly or rejectDuplicate`,
		`{"type":"order","idConflictPolicy":"no"}`:                                                  `there is no idConflictPolicy "no": give fail, useExisting or terminateExisting`,
		`{"type":"order","idReusePolicy":"rejectDuplicate","idConflictPolicy":"terminateExisting"}`: "leave one of them out",
		`{"type":"order","input":` + large + `}`:                                                    "the input has 102 bytes, and may have 100",
		`{"type":"order","input":"bad","header":{"":1}}`:                                            `the input does not decode as the input of workflow type "order": it is bad`,
		`{"type":"order","header":{"":1}}`:                                                          "the name of a header field is empty",
		`{"type":"order","searchAttributes":{"AND":{"int":1}}}`:                                     "filters have that word already",
	} {
		_, err := parser(t).Start(read[schema.StartRequest](t, body))
		refused(t, body, err, want)
	}
}

// A start has all that its request says. A missing id is generated, and is the same if the request
// is sent again.
func TestStartHasItsRequest(t *testing.T) {
	t.Parallel()
	p := parser(t)
	s, err := p.Start(read[schema.StartRequest](t, `{"type":"order","input":[1],"runTimeout":"1m","retryPolicy":{},"idReusePolicy":"rejectDuplicate"}`))
	if err != nil {
		t.Fatal(err)
	}
	e := s.Event()
	if !s.Made() || s.Workflow() != "w-00000000000000000000000000000001" || e.RequestID != "00000000000000000000000000000002" {
		t.Errorf("workflow %q, made: %v, request %q", s.Workflow(), s.Made(), e.RequestID)
	}
	if e.WorkflowType != "order" || string(e.Input) != "[1]" || e.RunTimeout != history.Duration(time.Minute) || e.Retry == nil || e.Retry.InitialInterval == 0 {
		t.Errorf("the event is %+v", e)
	}
	if s.Reuse() != command.RejectDuplicate || s.Conflict() != "" || s.Code().Name != "order" {
		t.Errorf("policies %q and %q, code of %q", s.Reuse(), s.Conflict(), s.Code().Name)
	}
	again := read[schema.StartRequest](t, `{"type":"order","requestId":"r"}`)
	one, err := p.Start(again)
	two, err2 := p.Start(again)
	if err != nil || err2 != nil || one.Workflow() != two.Workflow() || one.Made() {
		t.Errorf("%v, %v: %+v and %+v", err, err2, one, two)
	}
}

func TestSignal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workflow   string
		run        history.RunID
		name, body string
		want       string
	}{
		{"w", "", "paid", `{}`, ""},
		{"w", aRun, "paid", `{"input":1,"requestId":"r"}`, ""},
		{"", "no", "", `{"requestId":"a b"}`, "the workflow id is empty"},
		{"w", "no", "", `{}`, "the runId is not the id of a run"},
		{"w", "", "", `{"requestId":"a b"}`, "the signal's name is empty"},
		{"w", "", "paid", `{"requestId":"a b","input":` + large + `}`, "the requestId has a character"},
		{"w", "", "paid", `{"input":` + large + `,"start":{}}`, "the input has 102 bytes"},
		{"w", aRun, "paid", `{"start":{"type":"order","idConflictPolicy":"fail"}}`, "give the idConflictPolicy useExisting or terminateExisting, or none"},
		{"w", aRun, "paid", `{"start":{"type":"order"}}`, "leave the runId out"},
		{"w", "", "paid", `{"start":{"type":"order","workflowId":"v","startDelay":"1s"}}`, `the start is of workflow "v"`},
		{"w", "", "paid", `{"start":{"type":"order","startDelay":"1s"}}`, "leave the startDelay out"},
		{"w", "", "paid", `{"start":{}}`, "the type is missing"},
		{"w", "", "paid", `{"start":{"type":"order","workflowId":"w"}}`, ""},
	} {
		s, err := parser(t).Signal(c.workflow, c.run, c.name, read[schema.SignalRequest](t, c.body))
		refused(t, c.body, err, c.want)
		if (s == nil) != (c.want != "") {
			t.Errorf("%s: %+v and %v", c.body, s, err)
		}
	}
}

func TestQuery(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ workflow, name, body, want string }{
		{"w", "state", `{"input":1}`, ""},
		{"", "", `{"input":` + large + `}`, "the query's name is empty"},
		{"", "state", `{"input":` + large + `}`, "the input has 102 bytes"},
		{"", "state", `{}`, "the workflow id is empty"},
	} {
		_, err := parser(t).Query(c.workflow, "", c.name, read[schema.QueryRequest](t, c.body))
		refused(t, c.body, err, c.want)
	}
}

func TestUpdate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workflow   string
		run        history.RunID
		name, body string
		want       string
	}{
		{"w", aRun, "pay", `{}`, ""},
		{"a b", "", "", `{"waitFor":"no"}`, "the workflow id has a character"},
		{"w", "", "", `{"updateId":"a b"}`, "the update's name is empty"},
		{"w", "", "pay", `{"updateId":"a b","waitFor":"no"}`, "the updateId has a character"},
		{"w", "", "pay", `{"waitFor":"no","input":` + large + `}`, `there is no waitFor "no": give accepted or completed`},
		{"w", "", "pay", `{"input":` + large + `,"timeout":"-1s"}`, "the input has 102 bytes"},
		{"w", aRun, "pay", `{"timeout":"-1s","start":{}}`, "the time to wait is negative"},
		{"w", aRun, "pay", `{"start":{"cronSchedule":"now"}}`, "needs an idConflictPolicy: give fail, useExisting or terminateExisting"},
		{"w", aRun, "pay", `{"start":{"cronSchedule":"now","idConflictPolicy":"fail"}}`, "leave the cronSchedule out"},
		{"w", aRun, "pay", `{"start":{"idConflictPolicy":"fail"}}`, "leave the runId out"},
		{"w", "", "pay", `{"start":{"idConflictPolicy":"fail","type":"order"}}`, ""},
	} {
		u, err := parser(t).Update(c.workflow, c.run, c.name, read[schema.UpdateRequest](t, c.body))
		refused(t, c.body, err, c.want)
		if (u.Workflow() == "") != (c.want != "") {
			t.Errorf("%s: %+v and %v", c.body, u, err)
		}
	}
	for body, want := range map[string]time.Duration{`{}`: 20 * time.Second, `{"timeout":"0s"}`: 0, `{"timeout":"5s"}`: 5 * time.Second, `{"timeout":"1h"}`: 20 * time.Second} {
		if u, err := parser(t).Update("w", "", "pay", read[schema.UpdateRequest](t, body)); err != nil || u.Wait() != want || u.Request().ID == "" {
			t.Errorf("%s: %+v, %v", body, u, err)
		}
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"eventId":4}`: "", `{"to":"firstTask"}`: "", `{"to":"lastTask","exclude":["updates","signals"]}`: "", `{"build":"b"}`: "",
		`{"reason":"` + strings.Repeat("x", 4097) + `","requestId":"a b"}`: "the reason has 4097 bytes: give at most 4096",
		`{"requestId":"a b"}`:                 "the requestId has a character",
		`{}`:                                  "give one of eventId, to, and build",
		`{"eventId":1,"to":"no"}`:             "give one of eventId, to, and build",
		`{"to":"no","exclude":["no"]}`:        `there is no task "no" to reset to`,
		`{"to":"firstTask","exclude":["no"]}`: `a reset cannot exclude "no": give updates or signals`,
	} {
		_, err := parser(t).Reset("w", "", read[schema.ResetRequest](t, body))
		refused(t, body, err, want)
	}
}

// Requests with few checks.
func TestOthers(t *testing.T) {
	t.Parallel()
	p, long := parser(t), strings.Repeat("x", 20<<10+1)
	_, end := p.End("w", "", long)
	_, ended := p.End("", "", long)
	_, deleted := p.Delete("w", "")
	_, move := p.Move("w", "", &schema.MoveRequest{Build: "b", Unpin: true})
	_, poll := p.Poll("w", "", "a b", "")
	_, failed := p.FailUpdate("w", "", "u", &schema.FailUpdateRequest{Reason: long})
	_, completed := p.CompleteActivity(&schema.CompleteActivityRequest{Result: []byte(large)})
	_, token := p.CompleteActivity(&schema.CompleteActivityRequest{})
	_, text := p.FailActivity(&schema.FailActivityRequest{Message: long})
	_, details := p.FailActivity(&schema.FailActivityRequest{Details: make([]byte, 1<<20)})
	_, beat := p.Heartbeat(&schema.HeartbeatActivityRequest{Details: make([]byte, 16<<10+1)})
	for want, err := range map[string]error{
		"the reason has 20481 bytes": end, "the workflow id is empty": ended, "say which run is to be deleted": deleted,
		"a move to build \"b\" cannot unpin the run": move, "the updateId has a character": poll, "the reason has": failed,
		"the input has 102 bytes": completed, "there is no token": token, "type and message have 20481 bytes": text,
		"the details of the error have": details, "the details of a heartbeat have 16385 bytes": beat,
	} {
		refused(t, want, err, want)
	}
}

// Reads are parsed like other requests: what waits, what a page token names.
func TestReads(t *testing.T) {
	t.Parallel()
	p := parser(t)
	for wait, want := range map[string]string{"": "", "0s": "", "20s": "", "-1s": "wait is not a duration", "soon": "wait is not a duration"} {
		_, await := p.Await("w", "", wait)
		_, poll := p.Poll("w", "", "u", wait)
		_, start := p.StartAndAwait(read[schema.StartRequest](t, `{"type":"order"}`), wait)
		for _, err := range []error{await, poll, start} {
			refused(t, "wait="+wait, err, want)
		}
	}
	if _, err := p.Await("", "", "soon"); err == nil || !strings.Contains(err.Error(), "wait is not") {
		t.Errorf("of two errors the second is reported: %v", err)
	}
	for _, c := range []struct {
		run         history.RunID
		token, want string
	}{
		{"", "", ""},
		{aRun, command.HistoryToken(aRun, 7), ""},
		{"", command.HistoryToken(aRun, 7), ""},
		{"1-0000000000000000", command.HistoryToken(aRun, 7), "did not return the pageToken"},
		{"", "7", "did not return the pageToken"},
		{"", "/7", "did not return the pageToken"},
		{"", string(aRun) + "/0", "did not return the pageToken"},
	} {
		h, err := p.History("w", c.run, c.token)
		refused(t, c.token, err, c.want)
		if err == nil && c.token != "" && (h.From() != 7 || h.Run() != aRun) {
			t.Errorf("%q is event %d of run %q", c.token, h.From(), h.Run())
		}
	}
}

// A page token of a list is valid for the query that returned it alone.
func TestList(t *testing.T) {
	t.Parallel()
	p := parser(t)
	if _, err := p.List(&filter.Filter{}, command.ListPage{Query: "all", Token: "x", Limit: 1}); !errors.Is(err, refusal.NotFound) {
		t.Errorf("a deployment without a list: %v", err)
	}
	p.Lists = true
	first, err := p.List(&filter.Filter{}, command.ListPage{Query: "all", Token: "", Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	token := first.Token("place")
	if next, err := p.List(&filter.Filter{}, command.ListPage{Query: "all", Token: token, Limit: 1}); err != nil || next.Place() != "place" {
		t.Errorf("the next page: %+v and %v", next, err)
	}
	for _, wrong := range []string{"place", strings.TrimSuffix(token, "place")} {
		_, err := p.List(&filter.Filter{}, command.ListPage{Query: "all", Token: wrong, Limit: 1})
		refused(t, wrong, err, "this list did not return the pageToken")
	}
	_, err = p.List(&filter.Filter{}, command.ListPage{Query: "others", Token: token, Limit: 1})
	refused(t, token, err, "this list did not return the pageToken")
}
