package function

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/examples/cart"
	"github.com/seed-41655fb1/weft/examples/fanout"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// timeOut is that of the functions in these tests.
const timeOut = time.Minute

// record is a message of a recorded batch, with the contents of a delivery. Its id is the message's
// place.
func record(t *testing.T, name string, place int, d queue.Delivery) object {
	t.Helper()
	file := "sqs-standard.json"
	if d.Group != "" {
		file = "sqs-fifo.json"
	}
	r := recorded(t, file)["Records"].([]any)[0].(object)
	r["messageId"], r["receiptHandle"] = fmt.Sprint("message ", place), d.Receipt
	r["body"] = base64.RawStdEncoding.EncodeToString(d.Body)
	attributes := within(r, "attributes")
	attributes["ApproximateReceiveCount"] = fmt.Sprint(d.Received)
	if d.Group != "" {
		attributes["MessageGroupId"] = d.Group
		name += ".fifo"
	}
	r["eventSourceARN"] = "arn:aws:sqs:us-east-1:123456789012:weft-" + name
	return r
}

func batch(t *testing.T, name string, deliveries ...queue.Delivery) object {
	t.Helper()
	var records []object
	for i, d := range deliveries {
		records = append(records, record(t, name, i, d))
	}
	return object{"Records": records}
}

// failures lets a function handle a batch, as Lambda would, and returns the indexes of the messages
// to redeliver.
func failures(t *testing.T, f *Function, event object) (places []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeOut)
	defer cancel()
	for _, failed := range invoke[events.SQSEventResponse](ctx, t, f, event).BatchItemFailures {
		places = append(places, strings.TrimPrefix(failed.ItemIdentifier, "message "))
	}
	return places
}

// mapping plays the event source mapping of a queue: it receives the messages, lets the function
// handle them, and deletes those that are done.
func mapping(t *testing.T, d *testbed.Deployment, f *Function, name string) {
	t.Helper()
	deliveries, err := d.Queue.Receive(t.Context(), name, queue.MaxBatch)
	if err != nil {
		t.Fatal(err)
	}
	failed := failures(t, f, batch(t, name, deliveries...))
	for i, d2 := range deliveries {
		if slices.Contains(failed, fmt.Sprint(i)) {
			continue
		}
		if err := d.Queue.Delete(t.Context(), name, d2.Receipt); err != nil {
			t.Fatal(err)
		}
	}
}

// drain plays the mappings of a deployment until its queues are empty.
func drain(t *testing.T, d *testbed.Deployment, p *testbed.Process) {
	t.Helper()
	consumers := map[string]*Function{
		queue.Activities: function(t, Activity, p, Options{}),
		queue.Workflow:   function(t, Workflow, p, Options{}),
		queue.Timers:     function(t, Workflow, p, Options{}),
	}
	for {
		handled := false
		for _, name := range slices.Sorted(maps.Keys(consumers)) {
			for d.Queue.Ready(name) {
				mapping(t, d, consumers[name], name)
				handled = true
			}
		}
		at, more := d.Queue.Next()
		if !more {
			return
		}
		if !handled {
			time.Sleep(time.Until(at))
		}
	}
}

// take receives all messages of a queue that are visible.
func take(t *testing.T, d *testbed.Deployment, name string) (all []queue.Delivery) {
	t.Helper()
	for d.Queue.Ready(name) {
		deliveries, err := d.Queue.Receive(t.Context(), name, queue.MaxBatch)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, deliveries...)
	}
	return all
}

func remove(t *testing.T, d *testbed.Deployment, name string, deliveries ...queue.Delivery) {
	t.Helper()
	for _, gone := range deliveries {
		if err := d.Queue.Delete(t.Context(), name, gone.Receipt); err != nil {
			t.Fatal(err)
		}
	}
}

func want(t *testing.T, what string, got []string, places ...string) {
	t.Helper()
	if !slices.Equal(got, places) {
		t.Errorf("%s: %q are to be redelivered, want %q", what, got, places)
	}
}

func do(t *testing.T, p *testbed.Process, method, target, body string, text string) {
	t.Helper()
	if a := p.Do(method, target, body); a.Status >= http.StatusBadRequest || !strings.Contains(string(a.Body), text) {
		t.Fatalf("%s %s: %d %s, want %q", method, target, a.Status, a.Body, text)
	}
}

// A cart is checked out: three activities, one after the other.
func TestSequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, cart.Registrations()...)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}`, "cart-1")
		do(t, p, "POST", "/v1/workflows/cart-1/updates/addItem", `{"input":{"sku":"tea","quantity":2}}`, "completed")
		do(t, p, "POST", "/v1/workflows/cart-1/updates/checkout", `{"waitFor":"accepted"}`, "accepted")
		drain(t, d, p)
		do(t, p, "GET", "/v1/workflows/cart-1/result", "", `"parcel"`)
		d.CheckReplay(p)
	})
}

// A function refuses the messages of a queue that its variables do not name, and says what to
// change. With the variable it handles them.
func TestUnknownQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, testbed.Workload("build-1")...)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"courier","input":[{"name":"x","queue":"reports"}]}`, "a")
		name := queue.ForTasks("reports")
		messages := take(t, d, name)
		event, err := json.Marshal(batch(t, name, messages...))
		if err != nil || len(messages) == 0 {
			t.Fatal(len(messages), err)
		}
		urls, before := map[string]string{queue.Activities: "https://sqs/1/weft-activities"}, d.Snapshot()
		_, err = function(t, Activity, p, Options{QueueOf: QueueOf(urls)}).Invoke(t.Context(), event)
		if err == nil || !strings.Contains(err.Error(), "weft-"+name) || !strings.Contains(err.Error(), "WEFT_TASK_QUEUES") || d.Snapshot() != before {
			t.Errorf("it answers %v", err)
		}
		urls[name] = "https://sqs/1/weft-" + name
		want(t, "with the variable", failures(t, function(t, Activity, p, Options{QueueOf: QueueOf(urls)}), batch(t, name, messages...)))
		if d.Snapshot() == before {
			t.Error("the message had no effect")
		}
		remove(t, d, name, messages...)
	})
}

// Fifty activities at once: their results come back through the workflow queue, ten to a batch.
func TestFanOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, fanout.Registrations()...)
		pages := `"` + strings.Join(strings.Split(strings.Repeat("page ", 50), " ")[:50], `","`) + `"`
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"book","type":"fanout","input":[`+pages+`]}`, "book")
		drain(t, d, p)
		do(t, p, "GET", "/v1/workflows/book/result", "", strings.ToUpper(pages))
		d.CheckReplay(p)
	})
}

// books starts workflows of three pages each, runs all attempts, and returns their results by
// workflow, as they are in the workflow queue.
func books(t *testing.T, d *testbed.Deployment, p *testbed.Process, ids ...string) map[string][]queue.Delivery {
	t.Helper()
	f := function(t, Activity, p, Options{})
	for _, id := range ids {
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"`+id+`","type":"fanout","input":["a","b","c"]}`, id)
	}
	for d.Queue.Ready(queue.Activities) {
		mapping(t, d, f, queue.Activities)
	}
	results := map[string][]queue.Delivery{}
	for _, r := range take(t, d, queue.Workflow) {
		results[r.Group] = append(results[r.Group], r)
	}
	return results
}

// If a message of a group fails, those behind it are redelivered too. Other groups continue.
func TestGroupStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, fanout.Registrations()...)
		results := books(t, d, p, "one", "two")
		one, two := results["one"], results["two"]
		bad := queue.Delivery{Body: []byte("\x01not CBOR"), Receipt: "bad", Received: 1, Group: "one"}
		f := function(t, Workflow, p, Options{})
		got := failures(t, f, batch(t, queue.Workflow, one[0], two[0], bad, two[1], one[1], two[2], one[2]))
		want(t, "a batch with one that cannot be read", got, "2", "4", "6")
		do(t, p, "GET", "/v1/workflows/two/result", "", `["A","B","C"]`)

		want(t, "redelivered messages", failures(t, f, batch(t, queue.Workflow, one[1], one[2])))
		do(t, p, "GET", "/v1/workflows/one/result", "", `["A","B","C"]`)
		remove(t, d, queue.Workflow, slices.Concat(one, two)...)
	})
}

// If one message fails, or its handler panics, the others are handled.
func TestPartialFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, fanout.Registrations()...)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"book","type":"fanout","input":["a","b","c"]}`, "book")
		good := take(t, d, queue.Activities)
		bad := queue.Delivery{Body: []byte("\x01not CBOR"), Receipt: "bad", Received: 1}
		event := batch(t, queue.Activities, good[0], bad, good[1], bad, good[2])
		event["Records"].([]object)[3]["body"] = "not base64!"
		event["Records"].([]object)[3]["receiptHandle"] = "worse"
		want(t, "a batch of activities", failures(t, function(t, Activity, p, Options{}), event), "1", "3")
		remove(t, d, queue.Activities, good...)

		// A message of another kind in the workflow queue is a defect, which shows as a panic.
		results := take(t, d, queue.Workflow)
		stray := good[0]
		stray.Group = "stray"
		got := failures(t, function(t, Workflow, p, Options{}), batch(t, queue.Workflow, append([]queue.Delivery{stray}, results...)...))
		want(t, "a batch with a defect", got, "0")
		do(t, p, "GET", "/v1/workflows/book/result", "", `["A","B","C"]`)
		remove(t, d, queue.Workflow, results...)
	})
}

// An invocation whose time is over leaves everything for later, and counts no attempt.
func TestNoTimeLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, fanout.Registrations()...)
		ended, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		results := books(t, d, p, "book")["book"]
		answer := invoke[events.SQSEventResponse](ended, t, function(t, Workflow, p, Options{}), batch(t, queue.Workflow, results...))
		if len(answer.BatchItemFailures) != len(results) {
			t.Errorf("%d of %d results are to be redelivered", len(answer.BatchItemFailures), len(results))
		}
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"late","type":"fanout","input":["a"]}`, "late")
		late := take(t, d, queue.Activities)
		invoke[events.SQSEventResponse](ended, t, function(t, Activity, p, Options{}), batch(t, queue.Activities, late...))
		remove(t, d, queue.Activities, late...) // a copy has replaced it; otherwise this would strand the run
		time.Sleep(time.Minute)                 // the results become visible again
		drain(t, d, p)
		for _, id := range []string{"book", "late"} {
			do(t, p, "GET", "/v1/workflows/"+id+"/result", "", `"A"`)
			do(t, p, "GET", "/v1/workflows/"+id+"/history", "", `"attempt":1`)
		}
	})
}

func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for whole, longest := range map[time.Duration]time.Duration{
			15 * time.Minute: 15*time.Minute - Reserve, time.Minute: time.Minute - Reserve, 2 * Reserve: Reserve, 3 * time.Second: 1500 * time.Millisecond,
		} {
			lambda, cancel := context.WithTimeout(t.Context(), whole)
			ctx, a, end := begin(lambda, 0)
			deadline, _ := ctx.Deadline()
			if a.longest != longest || time.Until(a.deadline) != whole || time.Until(deadline) != longest {
				t.Errorf("of %v the work has %v, an attempt %v and the process %v", whole, time.Until(deadline), a.longest, time.Until(a.deadline))
			}
			end()
			cancel()
		}
		ctx, a, end := begin(t.Context(), time.Minute)
		late, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		if _, a, end := begin(late, time.Minute); a.longest != time.Minute-Reserve {
			t.Errorf("held up for ten seconds of a minute, an attempt may take %v", a.longest)
		} else {
			end()
		}
		if _, limited := ctx.Deadline(); limited || a != (allowance{}) {
			t.Error("an invocation without a deadline has got one")
		}
		end()
	})
}

// An attempt that does not fit into the function is held, and ends at its deadline, if it has one.
func TestTooLongForFunction(t *testing.T) {
	t.Parallel()
	long := activity.New("long", func(context.Context, int) (int, error) { return 1, nil }, activity.Options{StartToClose: timeOut, ScheduleToClose: 24 * time.Hour})
	runs := workflow.Bind(workflow.NewWorkflow[int, int]("runs"), func(ctx workflow.Context, n int) (int, error) { return long.Run(ctx, n) })
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, runs, long)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"runs","input":1}`, "a")
		drain(t, d, p)
		do(t, p, "GET", "/v1/workflows/a", "", "an attempt may take "+timeOut.String())
		do(t, p, "GET", "/v1/workflows/a", "", `"status":"running"`)
		for range 25 * 12 {
			time.Sleep(5 * time.Minute)
			if _, err := p.Service.Service.Deliveries.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			drain(t, d, p)
		}
		do(t, p, "GET", "/v1/workflows/a/result", "", "scheduleToClose")
	})
}

// shortened records the visibilities that a function set.
type shortened struct {
	name, receipt string
	d             time.Duration
}

func TestShorten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// An attempt of 30 seconds needs 62: it may be given up late, and is committed then.
		const needs = 62 * time.Second
		for visibility, asked := range map[time.Duration]int{0: 0, 6 * time.Minute: 0, ShortenFrom + needs - 1: 0, ShortenFrom + needs: 1, time.Hour: 1} {
			d, p := process(t, fanout.Registrations()...)
			var got []shortened
			f := function(t, Activity, p, Options{Visibility: visibility, Extend: func(_ context.Context, name, receipt string, d time.Duration) error {
				got = append(got, shortened{name, receipt, d})
				return errors.New("no permission")
			}})
			do(t, p, "POST", "/v1/workflows", `{"workflowId":"book","type":"fanout","input":["a"]}`, "book")
			message := take(t, d, queue.Activities)
			want(t, "an attempt", failures(t, f, batch(t, queue.Activities, message...)))
			if len(got) != asked || asked > 0 && got[0] != (shortened{queue.Activities, message[0].Receipt, needs}) {
				t.Errorf("with a visibility of %v: %v", visibility, got)
			}
			do(t, p, "GET", "/v1/workflows/book/result", "", `"A"`) // whether or not it could be shortened
			remove(t, d, queue.Activities, message...)
		}
	})
}

// keeper keeps messages, or refuses to.
type keeper struct {
	refuses error
	kept    []string
}

// Keep implements queue.Keeper.
func (k *keeper) Keep(_ context.Context, name string, d queue.Delivery, reason string) error {
	if k.refuses != nil {
		return k.refuses
	}
	k.kept = append(k.kept, fmt.Sprintf("%s %q of group %q, because %s", name, d.Raw, d.Group, reason))
	return nil
}

// A dead letter that no version can read is kept, with its queue, before it is deleted. If it
// cannot be kept, it stays in its queue. Without a place for it, it is deleted.
func TestUnreadableDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, told, log := testbed.New(t), &testbed.Observed{}, &testbed.Warnings{}
		k := &keeper{}
		d.Ports.Keeper = k
		urls := map[string]string{
			queue.Workflow: "https://sqs/1/weft-workflow.fifo", queue.Timers: "https://sqs/1/weft-timers", queue.Activities: "https://sqs/1/weft-activities", "tasks-gpu": "https://sqs/1/weft-tasks-gpu",
		}
		o := executor.Options{Observe: observe.New(told), Logger: log.Logger()}
		f := function(t, Dead, d.Idle(o), Options{DeadOf: DeadOf(urls)})
		bad := queue.Delivery{Body: []byte("\x01not CBOR"), Receipt: "bad", Received: 1}
		const raw, reason = `"AW5vdCBDQk9S"`, "because "
		for name, want := range map[string]string{
			queue.Timers: "timers", queue.Activities: "activities", "tasks-gpu": "tasks-gpu", queue.Workflow: "workflow", "other": "weft-other-dead",
		} {
			one := bad
			if name == queue.Workflow {
				one.Group = "cart-1"
			}
			k.kept, k.refuses = nil, nil
			if got := failures(t, f, batch(t, queue.DeadLetters(name), one)); len(got) > 0 {
				t.Errorf("%s: %q stays", name, got)
			}
			if prefix := fmt.Sprintf("%s %s of group %q, %s", want, raw, one.Group, reason); len(k.kept) != 1 || !strings.HasPrefix(k.kept[0], prefix) {
				t.Errorf("%s: kept %q, want %s...", name, k.kept, prefix)
			}
		}
		if got := told.Sum(observe.DeadLetters); got != 5 {
			t.Errorf("%v dead letters are counted, want 5", got)
		}
		k.refuses, k.kept = errors.New("access denied"), nil
		if got := failures(t, f, batch(t, queue.DeadLetters(queue.Timers), bad)); len(got) != 1 || len(k.kept) > 0 {
			t.Errorf("a letter that could not be kept: %q stays, %q kept", got, k.kept)
		}
		if text := log.Take(); !strings.Contains(text, "stays in its queue") || !strings.Contains(text, "access denied") || strings.Contains(text, "not CBOR") {
			t.Errorf("the log: %s", text)
		}
		without := testbed.New(t)
		if got := failures(t, function(t, Dead, without.Idle(executor.Options{}), Options{}), batch(t, queue.DeadLetters(queue.Timers), bad)); len(got) > 0 {
			t.Errorf("without a place for it, %q stays", got)
		}
	})
}

// No dead letter strands a run: an activity and a result are sent again, and an unreadable message
// is deleted.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, fanout.Registrations()...)
		f := function(t, Dead, d.Idle(executor.Options{}), Options{}) // without any code
		results := books(t, d, p, "book")["book"]
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"dead","type":"fanout","input":["a"]}`, "dead")
		lost := take(t, d, queue.Activities)
		unreadable := queue.Delivery{Body: []byte("\x01not CBOR"), Receipt: "bad", Received: 1, Group: "book"}
		newer := queue.Delivery{Body: []byte{0xff, 0xa0}, Receipt: "newer", Received: 1, Group: "book"}
		got := failures(t, f, batch(t, queue.DeadLetters(queue.Workflow), append(results, unreadable, newer)...))
		want(t, "dead letters of the workflow queue", got, "4")
		want(t, "a dead activity", failures(t, f, batch(t, queue.DeadLetters(queue.Activities), lost...)))
		remove(t, d, queue.Workflow, results...)
		remove(t, d, queue.Activities, lost...)
		drain(t, d, p)
		do(t, p, "GET", "/v1/workflows/book/result", "", `["A","B","C"]`)
		do(t, p, "GET", "/v1/workflows/dead/result", "", `["A"]`)
	})
}

// A cart sends a reminder after a day: a sweep shortly before sends its timer.
func TestSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, p := process(t, cart.Registrations()...)
		f := function(t, Timer, p, Options{})
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}`, "cart-1")
		sweep := func() int { return invoke[map[string]int](t.Context(), t, f, recorded(t, "schedule.json"))["sent"] }
		if sent := sweep(); sent != 0 {
			t.Errorf("%d timers were sent a day ahead", sent)
		}
		time.Sleep(24*time.Hour - 90*time.Second)
		if sent := sweep(); sent != 1 {
			t.Errorf("%d timers were sent, want 1", sent)
		}
		if sent := sweep(); sent != 0 {
			t.Errorf("%d timers were sent again", sent)
		}
		drain(t, d, p)
		fired, err := p.History(t.Context(), "cart-1")
		if err != nil || testbed.Count(fired, history.TypeTimerFired) != 1 {
			t.Errorf("%v, %v", fired, err)
		}
		if d.Queue.Ready(queue.Timers) {
			t.Error("a timer is left")
		}
	})
}
