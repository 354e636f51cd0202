package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// step is a request of the story in the document's examples. It sends an example, or the given
// body, and its answer is an example.
type step struct {
	operation, target, send string
	body                    string
	status                  int
	example                 string
}

// The story until checkout, while no process handles messages.
var shopping = []step{
	{"startWorkflow", "", "cart", "", 201, "opened"},
	{"getHistory", "/cart-42/history", "", "", 200, "started"},
	{"startWorkflow", "", "cart", "", 200, "sentAgain"},
	{"startWorkflow", "", "", `{"workflowId":"cart-42","type":"cart"}`, 409, "alreadyOpen"},
	{"updateWorkflow", "/cart-42/updates/addItem", "addItem", "", 200, "addItem"},
	{"updateWorkflow", "/cart-42/updates/addItem", "tooMany", "", 422, "tooMany"},
	{"updateWorkflow", "/cart-42/updates/addItem", "", `{"waitFor":"admitted"}`, 400, "invalid"},
	{"signalWorkflow", "/cart-42/signals/note", "note", "", 202, "note"},
	{"queryWorkflow", "/cart-42/queries/cart", "contents", "", 200, "contents"},
	{"updateWorkflow", "/cart-42/updates/checkout", "checkout", "", 202, "checkout"},
	{"pollUpdate", "/cart-42/updates/checkout-1", "", "", 202, "checkout"},
	{"describeWorkflow", "/cart-42", "", "", 200, "checkingOut"},
	{"getWaits", "/cart-42/waits", "", "", 200, "checkingOut"},
	{"getResult", "/cart-42/result", "", "", 202, "open"},
	{"describeWorkflow", "/cart-41", "", "", 404, "noWorkflow"},
}

// The story from then on.
var afterwards = []step{
	{"pollUpdate", "/cart-42/updates/checkout-1?wait=20s", "", "", 200, "checkout"},
	{"getResult", "/cart-42/result?wait=20s", "", "", 200, "receipt"},
	{"startWorkflow", "?wait=20s", "cart", "", 200, "ended"},
	{"signalWorkflow", "/cart-42/signals/note", "", "", 404, "closed"},
	{"startWorkflow", "", "", `{"workflowId":"cart-42","type":"cart","idReusePolicy":"rejectDuplicate"}`, 409, "alreadyUsed"},
	{"signalWorkflow", "/cart-42/signals/note", "", `{"start":{"type":"cart","idReusePolicy":"rejectDuplicate"}}`, 409, "alreadyUsed"},
	{"signalWorkflow", "/cart-43/signals/note", "noteThatOpens", "", 202, "noteThatOpens"},
	{"listWorkflows", "?type=cart&status=running", "", "", 200, "open"},
	{"countWorkflows", "/v1/counts?type=cart&groupBy=ExecutionStatus", "", "", 200, "byStatus"},
	{"sumCosts", "/v1/costs?type=cart&groupBy=WorkflowType", "", "", 200, "byType"},
	{"resetWorkflow", "/cart-43/reset", "lastTask", "", 201, "opened"},
	{"listRuns", "/cart-43/runs", "", "", 200, "reset"},
	{"updateWorkflow", "/cart-44/updates/addItem", "firstItem", "", 200, "firstItem"},
	{"updateWorkflow", "/cart-44/updates/checkout", "", `{"updateId":"checkout-1"}`, 200, "declined"},
	{"startWorkflow", "", "", `{"type":"cart","input":{"owner":"` + strings.Repeat("a", 300_000) + `"}}`, 413, "tooLarge"},
	{"cancelWorkflow", "/cart-44/cancel", "reason", "", 202, "done"},
	{"createSchedule", "/v1/schedules", "hourly", "", 201, "created"},
	{"createSchedule", "/v1/schedules", "hourly", "", 200, "sentAgain"},
	{"createSchedule", "/v1/schedules", "", `{"scheduleId":"hourly","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"cart"}}}`, 409, "alreadyThere"},
	{"describeSchedule", "/v1/schedules/hourly", "", "", 200, "hourly"},
	{"listSchedules", "/v1/schedules", "", "", 200, "one"},
	{"pauseSchedule", "/v1/schedules/hourly/pause", "note", "", 200, "done"},
	{"unpauseSchedule", "/v1/schedules/hourly/unpause", "back", "", 200, "done"},
	{"triggerSchedule", "/v1/schedules/hourly/trigger", "atOnce", "", 200, "done"},
	{"updateSchedule", "/v1/schedules/hourly/update", "daily", "", 200, "done"},
	{"backfillSchedule", "/v1/schedules/hourly/backfill", "morning", "", 200, "done"},
	{"deleteSchedule", "/v1/schedules/hourly", "", "", 200, "done"},
}

// The examples of the document are what the API answers, except for ids and times.
func TestExamples(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		s := story{t: t, all: operations(t), used: map[string]bool{}}
		hooks := d.Hook()
		s.play(d.Idle(executor.Options{}, cart.Registrations()...), shopping...)
		s.playTrouble(d)
		s.playBuilds(testbed.New(t))
		s.playDeployment(testbed.New(t))
		s.play(d.Start(executor.Options{}, cart.Registrations()...), afterwards...)
		s.playBatches(testbed.New(t))
		s.playActivities(d)
		s.playByHand(testbed.New(t))
		hooks.Always(testbed.OnRead, testbed.Faults["throttle"]())
		hooks.Always(testbed.OnPut, testbed.Faults["throttle"]())
		p := d.Idle(executor.Options{}, cart.Registrations()...)
		s.play(p, step{"describeWorkflow", "/cart-42", "", "", 503, "busy"})
		s.play(p, step{"startWorkflow", "", "cart", "", 503, "busy"})
		hooks.Always(testbed.OnRead, nil)
		hooks.Always(testbed.OnPut, testbed.Faults["lose-request"]())
		s.play(p, step{"startWorkflow", "", "", `{"type":"cart"}`, 503, "outcomeUnknown"})
		s.checkWhole()
	})
}

// playTrouble plays a deployment whose code fails, and other refusals that depend on the state of
// a run.
func (s *story) playTrouble(d *testbed.Deployment) {
	broken := workflow.Bind(cart.Workflow, func(ctx workflow.Context, in cart.Start) (cart.Receipt, error) { panic("not today") }, cart.Names)
	s.play(d.Idle(executor.Options{Build: "build-2"}, broken),
		step{"queryWorkflow", "/cart-42/queries/cart", "", "", 409, "notReady"},
		step{"updateWorkflow", "/cart-42/updates/addItem", "", `{"input":{"sku":"cup","quantity":1}}`, 409, "notReady"})
	var few executor.Options
	few.Engine.Limits.UpdatesInFlight, few.Engine.Limits.UpdatesInTotal = 1, 2
	p := d.Idle(few, append(testbed.Workload("build-1"), cart.Registrations()...)...)
	p.Do(http.MethodPost, workflows, `{"workflowId":"cart-45","type":"cart","input":{"owner":"ada"}}`)
	p.Do(http.MethodPost, workflows+"/cart-45/updates/addItem", `{"input":{"sku":"tea","quantity":1}}`)
	p.Do(http.MethodPost, workflows+"/cart-45/updates/checkout", `{"waitFor":"accepted"}`)
	s.play(p, step{"updateWorkflow", "/cart-45/updates/addItem", "addItem", "", 409, "updateLimit"})
	few.Engine.Limits.UpdatesInTotal = 0
	s.play(d.Idle(few, cart.Registrations()...), step{"updateWorkflow", "/cart-45/updates/addItem", "addItem", "", 429, "updatesInFlight"})
	p.Do(http.MethodPost, workflows+"/cart-45/terminate", "")
	p.Do(http.MethodPost, workflows, `{"workflowId":"counter-1","type":"counter"}`)
	s.play(p, step{"queryWorkflow", "/counter-1/queries/wrong", "", "", 422, "queryFailed"})
}

// playBatches plays a batch that cancels a run, and one that is stopped.
func (s *story) playBatches(d *testbed.Deployment) {
	p := d.Idle(executor.Options{}, cart.Registrations()...)
	p.Do(http.MethodPost, workflows, `{"workflowId":"cart-46","type":"cart","input":{"owner":"ada"}}`)
	time.Sleep(time.Second)
	p.Do(http.MethodPost, "/v1/batches", `{"batchId":"another","filter":"WorkflowType = 'cart'","action":{"kind":"cancel"}}`)
	time.Sleep(time.Second)
	s.play(p,
		step{"startBatch", "/v1/batches", "cancelCarts", "", 201, "started"},
		step{"startBatch", "/v1/batches", "cancelCarts", "", 200, "sentAgain"},
		step{"startBatch", "/v1/batches", "", `{"batchId":"cancel-carts","filter":"WorkflowType = 'cart'","dryRun":true}`, 409, "batchThere"},
		step{"changeBatchRate", "/v1/batches/cancel-carts/rate", "slower", "", 200, "done"},
		step{"stopBatch", "/v1/batches/another/stop", "reason", "", 200, "done"})
	p = d.Start(executor.Options{}, cart.Registrations()...)
	time.Sleep(5 * time.Second)
	s.play(p, step{"describeBatch", "/v1/batches/cancel-carts", "", "", 200, "carts"}, step{"listBatches", "/v1/batches", "", "", 200, "two"})
}

// playBuilds plays a run that is pinned to a build, and moved to another.
func (s *story) playBuilds(d *testbed.Deployment) {
	process := func(build string) *testbed.Process {
		return d.Idle(executor.Options{Build: build}, workflow.Bind(cart.Workflow, cart.Run, cart.Names, workflow.BindOptions{Pinned: true}))
	}
	process("build-1").Do(http.MethodPost, workflows, `{"workflowId":"cart-42","type":"cart"}`)
	s.play(process("build-2"),
		step{"queryWorkflow", "/cart-42/queries/cart", "", "", 409, "otherBuild"},
		step{"moveWorkflow", "/cart-42/move", "named", "", 200, "moved"},
		step{"moveWorkflow", "/cart-42/move", "unpinned", "", 200, "unpinned"})
}

// playActivities plays activities that are completed from outside.
func (s *story) playActivities(d *testbed.Deployment) {
	taken := make(chan string, 1)
	approve := activity.New("approve", func(ctx context.Context, _ activity.None) (string, error) {
		token, err := activity.Token(ctx)
		taken <- token
		return token, cmp.Or(err, activity.ErrPending)
	})
	waits := workflow.Bind(workflow.NewWorkflow[activity.None, string]("waits"), func(ctx workflow.Context, _ activity.None) (string, error) {
		result, _ := approve.Run(ctx, activity.None{}) // a failure is no reason to end
		return result, workflow.Sleep(ctx, time.Minute)
	})
	p := d.Start(executor.Options{}, approve, waits)
	begin := func(id string) {
		p.Do(http.MethodPost, workflows, `{"type":"waits","workflowId":"`+id+`"}`)
		s.token = <-taken
		synctest.Wait() // until the function has returned, only it can record details of a heartbeat
	}
	begin("waits-1")
	s.play(p,
		step{"heartbeatActivity", "/v1/activities/heartbeat", "halfway", "", 200, "goOn"},
		step{"completeActivity", "/v1/activities/complete", "approved", "", 200, "done"},
		step{"completeActivity", "/v1/activities/complete", "approved", "", 200, "repeated"},
		step{"failActivity", "/v1/activities/fail", "declined", "", 409, "ended"},
		step{"heartbeatActivity", "/v1/activities/heartbeat", "halfway", "", 409, "over"})
	begin("waits-2")
	s.play(p, step{"failActivity", "/v1/activities/fail", "declined", "", 200, "done"})
}

// exampleToken stands for a token in the document.
const exampleToken = "AaQBYWECcjEtYWMwYmM3MTRjOWE5NDFiNAMFBAFigFHrvDnF9Pvo45Brmcg7NHuQUvTneLK16CeuUgvGKQ"

// story compares answers with the examples, and remembers which ones it has seen.
type story struct {
	t    *testing.T
	all  []*apitest.Operation
	used map[string]bool
	// token replaces the one in the document.
	token string
}

func (s *story) play(p *testbed.Process, steps ...step) {
	s.t.Helper()
	for _, step := range steps {
		for _, o := range s.all {
			if o.ID == step.operation {
				s.compare(p, o, step)
			}
		}
	}
}

func (s *story) compare(p *testbed.Process, o *apitest.Operation, step step) {
	s.t.Helper()
	body := step.body
	if sent, ok := o.Sent[step.send]; ok {
		body = strings.ReplaceAll(indented(s.t, sent.Value), exampleToken, s.token)
		s.used[sent.Place] = true
	} else if step.send != "" {
		s.t.Errorf("%s has no example %s", o.ID, step.send)
	}
	target := step.target
	if !strings.HasPrefix(target, "/v1/") {
		target = workflows + target
	}
	a := p.Do(o.Method, target, body)
	example, ok := o.Answered[step.status][step.example]
	s.used[example.Place] = true
	var answer any
	a.Into(s.t, &answer)
	got := indented(s.t, answer)
	if diff := gocmp.Diff(masked(indented(s.t, example.Value)), masked(got)); !ok || a.Status != step.status || diff != "" {
		s.t.Errorf("%s %s is answered with\n%d\n%s\nand openapi.yaml has at %s:\n%s", step.operation, step.target, a.Status, got, example.Place, diff)
	}
}

// elsewhere are the examples that another test compares.
var elsewhere = map[string]string{
	"unknownPage": "internal/local, TestUnknownPageExample",
	"noToken":     "internal/local, TestNoTokenExample",
	"noEvents":    "TestNoEvents",
}

// checkWhole reports examples that the story did not use.
func (s *story) checkWhole() {
	for _, o := range s.all {
		examples := []map[string]apitest.Example{o.Sent}
		for answered := range maps.Values(o.Answered) {
			examples = append(examples, answered)
		}
		for _, named := range examples {
			for name, example := range named {
				if !s.used[example.Place] && elsewhere[name] == "" {
					s.t.Errorf("nothing shows that the example %s of %s is real", name, o.ID)
				}
			}
		}
	}
}

func indented(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// chance matches what differs from run to run, and what depends on the clock of the test.
var chance = regexp.MustCompile(`\d+-[0-9a-f]{16}|\d{4}-\d\d-\d\dT[0-9:.]+Z|"(?:historySizeBytes|writeUnits|readUnits|dollars)": [\d.e+-]+|"stack": ".*"|"version": ".{12}"|\.go:\d+|whsec_[\w+/=]+`)

func masked(text string) string {
	return chance.ReplaceAllStringFunc(text, func(found string) string {
		name, _, isMember := strings.Cut(found, ":")
		switch {
		case strings.HasPrefix(found, `"`) && isMember:
			return fmt.Sprintf("%s: ...", name)
		case strings.HasPrefix(found, ".go:"):
			return ".go:line"
		case strings.HasSuffix(found, "Z"):
			return "a moment"
		}
		return "a run"
	})
}
