package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// basket is a workflow with a contract.
type (
	basketItem struct {
		SKU      string `json:"sku"`
		Quantity int    `json:"quantity"`
	}
	// looseItem is what another program takes for an item.
	looseItem struct {
		SKU string `json:"sku"`
	}
	limitedItem struct {
		SKU string `json:"sku" jsonschema:"minLength=3"`
	}
)

var (
	basket     = workflow.NewWorkflow[basketItem, []basketItem]("basket")
	basketPut  = workflow.NewUpdate[basketItem, int]("put")
	basketDrop = workflow.NewSignal[basketItem]("drop")
	basketDone = workflow.NewSignal[workflow.None]("done")
	basketLook = workflow.NewQuery[basketItem, int]("look")
	// basketOnly is a signal with limits.
	basketOnly = workflow.NewSignal[limitedItem]("limited")

	basketNames = workflow.Names(basketPut, basketDrop, basketOnly, basketDone, basketLook)
)

// runBasket collects items until it is done. It sets its handlers and receives its signals after a
// while only.
func runBasket(ctx workflow.Context, first basketItem) ([]basketItem, error) {
	items := []basketItem{first}
	basketPut.Handle(ctx, func(_ workflow.Context, i basketItem) (int, error) {
		items = append(items, i)
		return len(items), nil
	})
	basketLook.Handle(ctx, func(basketItem) (int, error) { return len(items), nil })
	if _, err := basketDone.Receive(ctx); err != nil {
		return nil, err
	}
	for {
		i, ok, err := basketDrop.TryReceive(ctx)
		if err != nil || !ok {
			return items, err
		}
		items = append(items, i)
	}
}

// refusedWith fails the test unless a request is refused with a status and a text.
func refusedWith(t *testing.T, p *testbed.Process, status int, text, target, body string) {
	t.Helper()
	a := p.Do(http.MethodPost, "/v1/workflows"+target, body)
	if a.Status != status || !strings.Contains(string(a.Body), text) {
		t.Errorf("%s %s: %d %s, want %d with %s", target, body, a.Status, a.Body, status, text)
	}
}

// What the contract refuses changes nothing, whether the process has the run's code in memory or
// not, and harms no run.
func TestTheContractRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		bound := workflow.Bind(basket, runBasket, basketNames)
		p := d.Start(executor.Options{}, bound)
		cold := d.Idle(executor.Options{}, bound)
		if _, err := basket.Start(t.Context(), p.Client, "w", basketItem{"tea", 1}); err != nil {
			t.Fatal(err)
		}
		before := d.Snapshot()
		for _, p := range []*testbed.Process{p, cold} {
			refusedWith(t, p, 400, `"at":"input.quantity"`, "", `{"workflowId":"x","type":"basket","input":{"sku":"tea"}}`)
			refusedWith(t, p, 400, `"known":["done","drop","limited"]`, "/w/signals/drp", `{"input":{"sku":"tea","quantity":1}}`)
			refusedWith(t, p, 400, `"at":"input.quantity"`, "/w/signals/drop", `{"input":{"sku":"tea","quantity":"1"}}`)
			refusedWith(t, p, 400, `there is \"quantiy\"`, "/w/signals/drop", `{"input":{"sku":"tea","quantiy":1}}`)
			for _, number := range []string{"10.0", "1e1"} { // JSON Schema takes them for integers, and Go does not
				refusedWith(t, p, 422, `"at":"input.quantity"`, "/w/updates/put", `{"input":{"sku":"tea","quantity":`+number+`}}`)
			}
			refusedWith(t, p, 422, `"type":"UnknownUpdate"`, "/w/updates/putt", `{"input":{"sku":"tea","quantity":1}}`)
			refusedWith(t, p, 422, `"type":"BadInput"`, "/w/updates/put", `{"input":{"sku":1,"quantity":1}}`)
			refusedWith(t, p, 404, `"known":["look"]`, "/w/queries/lok", `{"input":{"sku":"tea","quantity":1}}`)
			refusedWith(t, p, 400, `"at":"input.Sku"`, "/w/queries/look", `{"input":{"Sku":"tea","quantity":1}}`)
			refusedWith(t, p, 400, `"at":"start.input.quantity"`, "/x/signals/drop", `{"input":{"sku":"tea","quantity":1},"start":{"type":"basket","input":{"sku":"tea","quantity":{}}}}`)
			refusedWith(t, p, 400, `"at":"input.sku"`, "/x/signals/drop", `{"input":{"quantity":1},"start":{"type":"basket","input":{"sku":"tea","quantity":1}}}`)
			refusedWith(t, p, 422, `"started":false`, "/x/updates/put", `{"input":{"quantity":1},"start":{"type":"basket","idConflictPolicy":"terminateExisting","input":{"sku":"tea","quantity":1}}}`)
			refusedWith(t, p, 422, `"started":false`, "/w/updates/put", `{"input":{"quantity":1},"start":{"type":"basket","idConflictPolicy":"terminateExisting","input":{"sku":"tea","quantity":1}}}`)
		}
		if d.Snapshot() != before {
			t.Error("a refused request has changed something")
		}
		if err := basketDrop.Send(t.Context(), p.Client, "w", basketItem{"cup", 2}); err != nil {
			t.Error(err)
		}
		if err := basketDone.Send(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Error(err)
		}
		if got, err := basket.Get(p.Client, "w").Result(t.Context()); err != nil || len(got) != 2 {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// A lenient binding requires no member. It still refuses names and types.
func TestALenientContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(basket, runBasket, basketNames, workflow.BindOptions{Lenient: true}))
		for _, r := range []struct{ target, body string }{
			{"", `{"workflowId":"w","type":"basket","input":{}}`}, {"/w/signals/drop", `{"input":{}}`}, {"/w/updates/put", `{"input":{}}`}, {"/w/queries/look", `{"input":{}}`},
		} {
			if a := p.Do(http.MethodPost, "/v1/workflows"+r.target, r.body); a.Status >= 300 {
				t.Errorf("%s: %d %s", r.target, a.Status, a.Body)
			}
		}
		refusedWith(t, p, 400, `"at":"input.sku"`, "/w/signals/drop", `{"input":{"sku":1}}`)
		refusedWith(t, p, 400, `"known"`, "/w/signals/drp", ``)
	})
}

// The contract of a run that is pinned to another build is that build's. A process of this build
// does not hold requests against its own: it says which build takes them, also of a paused run.
func TestTheContractOfAnotherBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		pinned := workflow.BindOptions{Pinned: true}
		one := d.Idle(executor.Options{Build: "build-1"}, workflow.Bind(basket, runBasket, basketNames, pinned))
		two := d.Idle(executor.Options{Build: "build-2"}, workflow.Bind(basket, func(workflow.Context, basketItem) ([]basketItem, error) { return nil, nil }, pinned))
		if _, err := basket.Start(t.Context(), one.Client, "w", basketItem{"tea", 1}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			refusedWith(t, two, 409, "other-build", "/w/signals/drop", `{"input":{"sku":"tea","quantity":1}}`)
			refusedWith(t, two, 409, "other-build", "/w/signals/drp", ``)
			refusedWith(t, one, 400, `"known"`, "/w/signals/drp", ``)
			if a := one.Do(http.MethodPost, "/v1/workflows/w/pause", ""); a.Status != http.StatusOK {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	})
}

// A result from outside is held against the contract of the run's build, as a signal is. Another
// build does not judge it, even if the result would suit that build's own type.
func TestResultsOfAnotherBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, taken := testbed.New(t), &tokens{}
		weighed, pinned, byHand := workflow.NewWorkflow[workflow.None, int]("weighed"), workflow.BindOptions{Pinned: true}, activity.Options{Pending: time.Hour}
		grams := activity.New("weigh", func(ctx context.Context, _ activity.None) (int, error) {
			_, err := taken.take(ctx)
			return 0, err
		}, byHand)
		item := activity.New("weigh", func(context.Context, activity.None) (basketItem, error) { return basketItem{}, nil }, byHand)
		one := d.Start(executor.Options{Build: "build-1"}, grams, workflow.Bind(weighed, func(ctx workflow.Context, _ workflow.None) (int, error) {
			return grams.Run(ctx, activity.None{})
		}, pinned))
		two := d.Idle(executor.Options{Build: "build-2"}, item, workflow.Bind(weighed, func(workflow.Context, workflow.None) (int, error) { return 0, nil }, pinned))
		run, err := weighed.Start(t.Context(), one.Client, "w", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := func(p *testbed.Process, status int, text, result string) {
			t.Helper()
			for path, body := range map[string]string{
				"/v1/activities/complete": fmt.Sprintf(`{"token":%q,"result":%s}`, taken.at(0), result),
				"/v1/workflows/w/activities/5/complete?runId=" + string(run.RunID): fmt.Sprintf(`{"reason":"weighed again","result":%s}`, result),
			} {
				if a := p.Do(http.MethodPost, path, body); a.Status != status || !strings.Contains(string(a.Body), text) || a.Cost.Writes > 0 {
					t.Errorf("%s with %s: %d %s for %v, want %d with %s", path, result, a.Status, a.Body, a.Cost, status, text)
				}
			}
		}
		for _, steer := range []string{"pause", "resume"} {
			want(two, 409, "other-build", `500`)
			want(two, 409, "other-build", `{"sku":"tea","quantity":1}`)
			want(one, 400, `"at":"result"`, `{"sku":"tea","quantity":1}`)
			if a := one.Do(http.MethodPost, "/v1/workflows/w/"+steer, ""); a.Status != http.StatusOK {
				t.Errorf("%s: %d %s", steer, a.Status, a.Body)
			}
		}
		if err := grams.Complete(t.Context(), one.Client, taken.at(0), 500); err != nil {
			t.Fatal(err)
		}
		if got, err := run.Result(t.Context()); err != nil || got != 500 {
			t.Errorf("%d, %v", got, err)
		}
	})
}

var sender = workflow.NewWorkflow[string, string]("sender")

// A signal of workflow code that the receiver's contract does not have is not delivered, and its
// sender gets ErrInvalid. Its value only has to decode, because code has encoded it.
func TestASignalOfCodeIsHeldAgainstTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		unknown, wrong, loose := workflow.NewSignal[basketItem]("drp"), workflow.NewSignal[int]("drop"), workflow.NewSignal[looseItem]("drop")
		capitals, limit := workflow.NewSignal[map[string]any]("drop"), workflow.NewSignal[looseItem]("limited")
		p := d.Start(executor.Options{}, workflow.Bind(basket, runBasket, basketNames), workflow.Bind(sender, func(ctx workflow.Context, _ string) (string, error) {
			texts := []string{}
			to := workflow.External("w")
			for _, send := range []func() workflow.Future[workflow.None]{ // one after the other: signals on their way may overtake each other
				func() workflow.Future[workflow.None] { return unknown.SendTo(ctx, to, basketItem{}) },
				func() workflow.Future[workflow.None] { return wrong.SendTo(ctx, to, 1) },
				func() workflow.Future[workflow.None] { return loose.SendTo(ctx, to, looseItem{"cup"}) },
				func() workflow.Future[workflow.None] {
					return capitals.SendTo(ctx, to, map[string]any{"SKU": "pot", "Quantity": nil})
				},
				func() workflow.Future[workflow.None] { return limit.SendTo(ctx, to, looseItem{"x"}) },
			} {
				switch _, err := send().Get(ctx); {
				case err == nil:
					texts = append(texts, "sent")
				case errors.Is(err, client.ErrInvalid):
					texts = append(texts, err.Error())
				default:
					return "", err
				}
			}
			return strings.Join(texts, "\n"), nil
		}))
		if _, err := basket.Start(t.Context(), p.Client, "w", basketItem{"tea", 1}); err != nil {
			t.Fatal(err)
		}
		got, err := sender.Run(t.Context(), p.Client, "e", "")
		texts := strings.Split(got, "\n")
		if err != nil || len(texts) != 5 || !strings.Contains(texts[0], `takes no signal "drp": give one of ["done" "drop" "limited"]`) || !strings.Contains(texts[1], "cannot unmarshal number") || !slices.Equal(texts[2:], []string{"sent", "sent", "sent"}) {
			t.Errorf("%q, %v", texts, err)
		}
		if err := basketDone.Send(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Error(err)
		}
		if items, err := basket.Get(p.Client, "w").Result(t.Context()); err != nil || !slices.Equal(items, []basketItem{{"tea", 1}, {"cup", 0}, {"pot", 0}}) {
			t.Errorf("%v, %v", items, err)
		}
		d.CheckReplay(p)
	})
}

// strictItem is an item of a later contract: the same type with one more required field.
type strictItem struct {
	basketItem
	Shelf string `json:"shelf"`
}

// A request that was answered before a deployment gets the same answer after it, although the new
// contract does not have it: its start has another input, or no such type any more. A request that
// was not answered before is refused, and changes nothing.
func TestARepetitionComesBeforeTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		strict := workflow.NewWorkflow[strictItem, []basketItem]("basket")
		stricter := workflow.Bind(strict, func(ctx workflow.Context, first strictItem) ([]basketItem, error) {
			return runBasket(ctx, first.basketItem)
		}, basketNames)
		for name, later := range map[string][]workflow.Registration{"a required field is added": {stricter}, "the type is removed": {workflow.Bind(sender, idle)}} {
			d := testbed.New(t)
			before := d.Idle(executor.Options{}, workflow.Bind(basket, runBasket, basketNames))
			start := func(id string) string {
				return `{"type":"basket","workflowId":"w","requestId":"` + id + `","input":{"sku":"tea","quantity":1}}`
			}
			with := func(kind, id string) string {
				return `{"input":{"sku":"tea","quantity":1},"` + kind + `":"` + id + `","start":{"type":"basket","idConflictPolicy":"useExisting","input":{"sku":"tea","quantity":1}}}`
			}
			requests := []struct{ target, body, later string }{
				{"", start("r1"), start("r2")},
				{"/w/signals/drop", with("requestId", "s1"), with("requestId", "s2")},
				{"/w/updates/put", with("updateId", "u1"), with("updateId", "u2")},
				{"/x/signals/drop", with("requestId", "s3"), with("requestId", "s4")},
				{"/y/updates/put", with("updateId", "u3"), with("updateId", "u4")},
			}
			for _, r := range requests {
				if a := before.Do(http.MethodPost, "/v1/workflows"+r.target, r.body); a.Status >= 300 {
					t.Fatalf("%s: %d %s", r.target, a.Status, a.Body)
				}
			}
			log := d.Snapshot()
			after := d.Idle(executor.Options{}, later...)
			for _, r := range requests {
				if a := after.Do(http.MethodPost, "/v1/workflows"+r.target, r.body); a.Status >= 300 {
					t.Errorf("%s: %s again: %d %s", name, r.target, a.Status, a.Body)
				}
				refusedWith(t, after, 400, `urn:weft:problem:invalid`, r.target, r.later)
			}
			refusedWith(t, after, 400, `urn:weft:problem:invalid`, "/new/signals/drop", with("requestId", "s5"))
			refusedWith(t, after, 400, `urn:weft:problem:invalid`, "/new/updates/put", with("updateId", "u5"))
			if d.Snapshot() != log {
				t.Errorf("%s: a repetition or a refused request has changed something", name)
			}
		}
	})
}

// A new schedule and a change of one are found again after a deployment whose contract does not
// have their action. Those that were not answered before are refused.
func TestARepeatedScheduleComesBeforeTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		strict := workflow.NewWorkflow[strictItem, []basketItem]("basket")
		d := testbed.New(t)
		before := d.Idle(executor.Options{}, workflow.Bind(basket, runBasket, basketNames))
		after := d.Idle(executor.Options{}, workflow.Bind(strict, func(ctx workflow.Context, first strictItem) ([]basketItem, error) {
			return runBasket(ctx, first.basketItem)
		}, basketNames))
		const schedule = `"schedule":{"spec":{"cron":["@daily"]},"action":{"type":"basket","input":{"sku":"tea","quantity":1}}}}`
		create, change := `{"scheduleId":"s","requestId":"r1",`+schedule, `{"requestId":"u1",`+schedule
		for _, p := range []*testbed.Process{before, after, before} {
			if a := p.Do(http.MethodPost, "/v1/schedules", create); a.Status >= 300 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if a := p.Do(http.MethodPost, "/v1/schedules/s/update", change); a.Status >= 300 {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		log := d.Snapshot()
		for _, id := range []string{"", "u2"} {
			for _, name := range []string{"s", "t"} {
				if a := after.Do(http.MethodPost, "/v1/schedules/"+name+"/update", `{"requestId":"`+id+`",`+schedule); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), `"at":"action.input.shelf"`) {
					t.Errorf("%d %s", a.Status, a.Body)
				}
			}
		}
		if d.Snapshot() != log {
			t.Error("a refused request has changed something")
		}
	})
}

// A new action of a schedule is held against the contract by whichever request it comes: by that
// of schedules, or by the update of the schedule's workflow, which the Go client and the CLI send.
// A refused change changes nothing, and the schedule goes on with its action.
func TestEachChangeOfAScheduleIsHeldAgainstTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := d.Start(executor.Options{}, workflow.Bind(basket, runBasket, basketNames))
		const spec = `{"spec":{"cron":["@daily"]},"action":`
		action := func(typ, input string) string {
			return spec + `{"type":"` + typ + `","input":` + input + `}}`
		}
		if a := p.Do(http.MethodPost, "/v1/schedules", `{"scheduleId":"s","schedule":`+action("basket", `{"sku":"tea","quantity":1}`)+`}`); a.Status != 201 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		synctest.Wait()
		log := d.Snapshot()
		for _, c := range []struct{ typ, input, place, text string }{
			{"basket", `{}`, "action.input.sku", "is missing"},
			{"basket", `{"sku":"tea"}`, "action.input.quantity", "is missing"},
			{"basket", `{"SKU":"tea","quantity":1}`, "action.input", "SKU"},
			{"basket", `{"sku":5,"quantity":1}`, "action.input.sku", "want string"},
			{"basket", `null`, "action.input", ""},
			{"baskt", `{"sku":"tea","quantity":1}`, "", `there is no workflow type \"baskt\": give one of [\"basket\"]`},
		} {
			at, under, known := `"at":"`+c.place, `"at":"input.schedule.`+c.place, ""
			if c.place == "" {
				at, under, known = "", "", `"known":["basket"]`
			}
			for _, r := range []struct {
				target, body, at string
				status           int
			}{
				{"/v1/schedules", `{"scheduleId":"t","schedule":` + action(c.typ, c.input) + `}`, at, 400},
				{"/v1/schedules/s/update", `{"schedule":` + action(c.typ, c.input) + `}`, at, 400},
				{"/v1/workflows/weft.schedule:s/updates/weft.update", `{"input":{"schedule":` + action(c.typ, c.input) + `}}`, under, 422},
				{"/v1/workflows/weft.schedule:s/updates/weft.update", `{"input":{"Schedule":` + action(c.typ, c.input) + `}}`, under, 422},
			} {
				a := p.Do(http.MethodPost, r.target, r.body)
				for _, want := range []string{r.at, known, c.text} {
					if a.Status != r.status || !strings.Contains(string(a.Body), want) {
						t.Errorf("%s %s: %d %s, want %d with %s", r.target, r.body, a.Status, a.Body, r.status, want)
					}
				}
			}
			err := p.Schedule("s").Change(t.Context(), c.typ, []byte(c.input), client.ScheduleOptions{Cron: []string{"@daily"}})
			if r := client.AsRejected(err); r == nil || !strings.Contains(err.Error(), strings.ReplaceAll(c.text, `\`, "")) {
				t.Errorf("Change to %s %s: %v", c.typ, c.input, err)
			}
		}
		change := `{"schedule":` + spec + `{"type":"basket","input":{"sku":"tea","quantity":1},"searchAttributes":{"WorkflowId":{"keyword":"x"}}}}}`
		for target, body := range map[string]string{"/v1/schedules/s/update": change, "/v1/workflows/weft.schedule:s/updates/weft.update": `{"input":` + change + `}`} {
			a := p.Do(http.MethodPost, target, body)
			if !strings.Contains(string(a.Body), "cannot be the name of a search attribute") {
				t.Errorf("%s: %d %s", target, a.Status, a.Body)
			}
		}
		if d.Snapshot() != log {
			t.Error("a refused change has changed something")
		}
		if err := p.Schedule("s").Change(t.Context(), "basket", []byte(`{"sku":"cup","quantity":2}`), client.ScheduleOptions{Cron: []string{"@daily"}}); err != nil {
			t.Error(err)
		}
		if s, err := p.Schedule("s").Describe(t.Context()); err != nil || string(s.Schedule.Action.Input) != `{"sku":"cup","quantity":2}` {
			t.Errorf("%+v, %v", s, err)
		}
	})
}

// An update that the binding names exists, although its handler is not set: the message says so.
// The answer has no names, which would suggest another one. Once the handler is set, the same id is
// taken.
func TestAnUpdateWhoseHandlerIsNotSetYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		put := func(ctx workflow.Context) {
			basketPut.Handle(ctx, func(workflow.Context, basketItem) (int, error) { return 1, nil })
		}
		other := workflow.NewUpdate[workflow.None, int]("other")
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(basket, func(ctx workflow.Context, first basketItem) ([]basketItem, error) {
			if first.Quantity > 1 {
				other.Handle(ctx, func(workflow.Context, workflow.None) (int, error) { return 1, nil })
			}
			if _, err := basketDone.Receive(ctx); err != nil {
				return nil, err
			}
			put(ctx)
			_, err := basketDone.Receive(ctx)
			return nil, err
		}, basketNames, workflow.Names(other)))
		for id, c := range map[string]struct {
			quantity int
			has      string
		}{"none": {1, ""}, "another": {2, `, only of [\"other\"]`}} {
			if _, err := basket.Start(t.Context(), p.Client, id, basketItem{"tea", c.quantity}); err != nil {
				t.Fatal(err)
			}
			target, body := "/v1/workflows/"+id+"/updates/put", `{"updateId":"u","input":{"sku":"tea","quantity":1}}`
			a := p.Do(http.MethodPost, target, body)
			text := string(a.Body)
			if want := `this run has no handler of update \"put\" now` + c.has + `: send the update again when the code has set one`; a.Status != 422 || !strings.Contains(text, `"type":"UnknownUpdate"`) || !strings.Contains(text, want) || strings.Contains(text, "known\":") || strings.Contains(text, "no such update") {
				t.Errorf("%s: %d %s, want %s", id, a.Status, a.Body, want)
			}
			if err := basketDone.Send(t.Context(), p.Client, id, workflow.None{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if a := p.Do(http.MethodPost, target, body); a.Status != 200 {
				t.Errorf("%s: %d %s", id, a.Status, a.Body)
			}
		}
	})
}

func idle(workflow.Context, string) (string, error) { return "", nil }

// counting returns an activity whose result comes from outside, with the token that it sets; one of
// another type with the same name; and code that runs the first.
func counting(token *string) (count, spell workflow.Registration, run func(workflow.Context, string) (string, error)) {
	counts := activity.New("count", func(ctx context.Context, _ activity.None) (n int, err error) {
		*token, err = activity.Token(ctx)
		return 0, errors.Join(err, activity.ErrPending)
	})
	spells := activity.New("count", func(context.Context, activity.None) (string, error) { return "", activity.ErrPending })
	return counts, spells, func(ctx workflow.Context, _ string) (string, error) {
		n, err := counts.Run(ctx, activity.None{})
		return strconv.Itoa(n), err
	}
}

// The result of an activity of a pinned run is held against the contract of the run's build. A
// process of another build says so, by hand and by token.
func TestAResultIsHeldAgainstTheBuildOfItsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		var token string
		count, spell, run := counting(&token)
		pinned := workflow.BindOptions{Pinned: true}
		one := d.Start(executor.Options{Build: "build-1"}, count, workflow.Bind(sender, run, pinned))
		two := d.Idle(executor.Options{Build: "build-2"}, spell, workflow.Bind(sender, idle, pinned))
		var started struct{ RunID string }
		one.Do(http.MethodPost, "/v1/workflows", `{"type":"sender","workflowId":"w","input":""}`).Into(t, &started)
		synctest.Wait()
		byHand := "/v1/workflows/w/activities/5/complete?runId=" + started.RunID
		for _, r := range []struct {
			p      *testbed.Process
			result string
			status int
		}{{two, `"seven"`, 409}, {two, "7", 409}, {one, `"seven"`, 400}} {
			for target, body := range map[string]string{byHand: `{"result":` + r.result + `}`, "/v1/activities/complete": `{"token":"` + token + `","result":` + r.result + `}`} {
				if a := r.p.Do(http.MethodPost, target, body); a.Status != r.status {
					t.Errorf("%s %s: %d %s, want %d", target, r.result, a.Status, a.Body, r.status)
				}
			}
		}
		if a := one.Do(http.MethodPost, byHand, `{"result":7}`); a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	})
}

// A result that was accepted before a deployment is found again, also by a process of the new
// deployment that still believes that the activity is pending, and whose contract does not have it.
func TestARepeatedResultComesBeforeTheContract(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, target := range map[string]string{"by token": "/v1/activities/complete", "by hand": "/v1/workflows/w/activities/5/complete?runId="} {
			d := testbed.New(t)
			var token string
			count, spell, run := counting(&token)
			bound := workflow.Bind(sender, run)
			before, after := d.Start(executor.Options{}, count, bound), d.Idle(executor.Options{}, spell, bound)
			var started struct{ RunID string }
			before.Do(http.MethodPost, "/v1/workflows", `{"type":"sender","workflowId":"w","input":""}`).Into(t, &started)
			synctest.Wait()
			body := `{"result":7}`
			if name == "by token" {
				body = `{"token":"` + token + `","result":7}`
			} else {
				target += started.RunID
			}
			after.Do(http.MethodGet, "/v1/workflows/w", "")
			for _, p := range []*testbed.Process{before, after} {
				if a := p.Do(http.MethodPost, target, body); a.Status != http.StatusOK {
					t.Errorf("%s: %d %s", name, a.Status, a.Body)
				}
			}
		}
	})
}

// A value where none is declared is refused. Nothing, null and {} are no value.
func TestAValueWhereNoneIsDeclared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		empty := workflow.NewWorkflow[workflow.None, string]("empty")
		poke := workflow.NewUpdate[workflow.None, workflow.None]("poke")
		count := workflow.NewQuery[workflow.None, int]("count")
		p := testbed.New(t).Start(executor.Options{}, workflow.Bind(empty, func(ctx workflow.Context, _ workflow.None) (string, error) {
			poke.Handle(ctx, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil })
			count.Handle(ctx, func(workflow.None) (int, error) { return 1, nil })
			_, err := basketDone.Receive(ctx)
			return "", err
		}, workflow.Names(poke, count, basketDone)))
		targets := []string{"", "/w/updates/poke", "/w/queries/count", "/w/signals/done"}
		for _, member := range []string{``, `,"input":null`, `,"input":{ }`} {
			for _, target := range targets {
				body := `{` + strings.TrimPrefix(member, ",") + `}`
				if target == "" {
					body = `{"type":"empty","workflowId":"w","idConflictPolicy":"useExisting","idReusePolicy":"allowDuplicate"` + member + `}`
				}
				if a := p.Do(http.MethodPost, "/v1/workflows"+target, body); a.Status >= 300 {
					t.Errorf("%s %s: %d %s", target, body, a.Status, a.Body)
				}
			}
		}
		if _, err := empty.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil { // each done has ended a run
			t.Fatal(err)
		}
		for _, input := range []string{`5`, `"x"`, `[]`, `{"x":1}`} {
			refusedWith(t, p, 400, `"at":"input"`, "", `{"type":"empty","workflowId":"x","input":`+input+`}`)
			refusedWith(t, p, 422, `"at":"input"`, "/w/updates/poke", `{"input":`+input+`}`)
			refusedWith(t, p, 400, `"at":"input"`, "/w/queries/count", `{"input":`+input+`}`)
			refusedWith(t, p, 400, `"at":"input"`, "/w/signals/done", `{"input":`+input+`}`)
		}
	})
}

// Names that begin with "weft." are reserved, also if code takes all names.
func TestReservedNamesAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, workflow.Dynamic(func(ctx workflow.Context, _ string, _ workflow.Raw) (workflow.Raw, error) {
			return nil, workflow.Sleep(ctx, time.Hour)
		}))
		if a := p.Do(http.MethodPost, "/v1/workflows", `{"type":"any","workflowId":"w"}`); a.Status != http.StatusCreated {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		const reserved = `names that begin with \"weft.\" are reserved`
		refusedWith(t, p, 400, reserved, "/w/signals/weft.x", ``)
		refusedWith(t, p, 404, reserved, "/w/queries/weft.x", ``)
		refusedWith(t, p, 422, reserved, "/w/updates/weft.x", `{"input":1}`)
		refusedWith(t, p, 400, `is one of Weft's own`, "", `{"type":"weft.x"}`)
	})
}

// endless is a type whose decoder does not return.
type endless struct{}

func (*endless) UnmarshalJSON([]byte) error { select {} }

// A decoder of the program that hangs holds neither the lock of the workflow nor the request.
func TestADecoderThatHangs(t *testing.T) {
	t.Parallel()
	d := testbed.New(t)
	put, drop := workflow.NewUpdate[endless, int]("put"), workflow.NewSignal[endless]("drop")
	look, stuck := workflow.NewQuery[endless, int]("look"), workflow.NewWorkflow[map[string]endless, string]("stuck")
	p := d.Idle(executor.Options{QueryFor: time.Millisecond}, workflow.Bind(sender, func(ctx workflow.Context, _ string) (string, error) {
		_, err := basketDone.Receive(ctx)
		return "", err
	}, workflow.Names(put, drop, look, basketDone)), workflow.Bind(stuck, func(workflow.Context, map[string]endless) (string, error) { return "", nil }))
	if _, err := sender.Start(t.Context(), p.Client, "w", ""); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the last ones find that too many hang
		for _, target := range []string{"/w/updates/put", "/w/signals/drop", "/w/queries/look"} {
			refusedWith(t, p, 409, "has not returned within 1ms", target, `{"input":1}`)
		}
		refusedWith(t, p, 409, "has not returned within 1ms", "", `{"type":"stuck","input":{"a":1}}`)
		refusedWith(t, p, 409, "has not returned within 1ms", "", `{"type":"stuck","requestId":"r","input":{"a":1}}`)
	}
	if a := p.Do(http.MethodPost, "/v1/schedules", `{"scheduleId":"s","requestId":"r","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"stuck","input":{"a":1}}}}`); a.Status != 409 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	if a := p.Do(http.MethodPost, "/v1/schedules", `{"scheduleId":"s","schedule":{"spec":{"cron":["@daily"]},"action":{"type":"sender","input":""}}}`); a.Status != 201 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	refusedWith(t, p, 409, "has not returned within 1ms", "/weft.schedule:s/updates/weft.update", `{"input":{"schedule":{"spec":{"cron":["@daily"]},"action":{"type":"stuck","input":{"a":1}}}}}`)
	if err := basketDone.Send(t.Context(), p.Client, "w", workflow.None{}); err != nil {
		t.Error(err)
	}
}

// slow is a type whose decoder is slow, the first times.
type slow struct{}

var slowDecodes atomic.Int32

func (*slow) UnmarshalJSON([]byte) error {
	if slowDecodes.Add(-1) >= 0 {
		time.Sleep(time.Minute)
	}
	return nil
}

// A decoder that is slow once loses neither the signal that workflow code sends nor the child that
// it starts: the message is redelivered.
func TestADecoderThatIsSlowOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		note, child := workflow.NewSignal[slow]("note"), workflow.NewWorkflow[slow, string]("child")
		p := testbed.New(t).Start(executor.Options{},
			workflow.Bind(child, func(workflow.Context, slow) (string, error) { return "came", nil }),
			workflow.Bind(basket, func(ctx workflow.Context, _ basketItem) ([]basketItem, error) {
				_, err := note.Receive(ctx)
				return nil, err
			}, workflow.Names(note)),
			workflow.Bind(sender, func(ctx workflow.Context, does string) (string, error) {
				if does == "start" {
					return child.RunChild(ctx, slow{}, workflow.ChildOptions{WorkflowID: "c"})
				}
				_, err := note.SendTo(ctx, workflow.External("w"), slow{}).Get(ctx)
				return "sent", err
			}))
		if _, err := basket.Start(t.Context(), p.Client, "w", basketItem{"tea", 1}); err != nil {
			t.Fatal(err)
		}
		for does, want := range map[string]string{"start": "came", "signal": "sent"} {
			slowDecodes.Store(1)
			if got, err := sender.Run(t.Context(), p.Client, does, does); err != nil || got != want {
				t.Errorf("%s: %q, %v", does, got, err)
			}
		}
		time.Sleep(time.Minute) // until the slow decoders have returned
	})
}
