package emf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

var at = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

// recorder returns a recorder of all metrics, and what it writes.
func recorder() (*emf.Recorder, *bytes.Buffer) {
	var out bytes.Buffer
	return emf.New(&out, "shop", emf.Options{All: true, Now: func() time.Time { return at }}), &out
}

// The events of an invocation make one line, byte for byte.
func TestLine(t *testing.T) {
	t.Parallel()
	r, out := recorder()
	ctx := context.Background()
	r.Observe(ctx, &observe.Task{Ran: 1500 * time.Microsecond, Failure: "panic", Stuck: true})
	r.Observe(ctx, &observe.Task{Ran: 2 * time.Millisecond})
	r.Observe(ctx, &observe.Spent{Cost: meter.Cost{Writes: 2, Messages: 1}})
	r.Observe(ctx, &observe.Timer{})
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	want := `{"CodeFailures":1,"Deployment":"shop","Messages":1,"StuckTasks":1,"TaskDuration":[1.5,2],"TaskFailures":1,"WorkflowTasks":2,"Writes":2,` +
		`"_aws":{"Timestamp":1795251600000,"CloudWatchMetrics":[{"Namespace":"Weft","Dimensions":[["Deployment"]],"Metrics":[` +
		`{"Name":"CodeFailures","Unit":"Count"},{"Name":"StuckTasks","Unit":"Count"},{"Name":"TaskFailures","Unit":"Count"},{"Name":"WorkflowTasks","Unit":"Count"},` +
		`{"Name":"Writes","Unit":"Count"},{"Name":"Messages","Unit":"Count"},{"Name":"TaskDuration","Unit":"Milliseconds"}]}]}}` + "\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	emftest.Check(t, out.String())
	out.Reset()
	if err := r.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("without events the line is %q, %v", out, err)
	}
}

// Each event has its metrics, and all of them together fit the format.
func TestAllMetrics(t *testing.T) {
	t.Parallel()
	r, out := recorder()
	for _, e := range []observe.Event{
		&observe.Task{Failure: "panic", Stuck: true}, &observe.Update{Outcome: observe.Accepted}, &observe.Update{Outcome: observe.Rejected},
		&observe.Update{Outcome: observe.Refused}, &observe.Attempt{Outcome: observe.TimedOut}, &observe.Timer{}, &observe.Closed{},
		&observe.Attempt{ActivityType: "weft.notify.deliver", Outcome: observe.Failed}, &observe.Closed{Run: observe.Run{Type: "weft.notify"}, Status: history.Failed},
		&observe.Request{Cost: meter.Cost{Writes: 1, Reads: 1, Messages: 1, Lost: 1}},
		&observe.Request{Status: 503, Cause: refusal.ByStore}, &observe.Request{Status: 503, Cause: refusal.ByQueue}, &observe.Request{Status: 503, Cause: refusal.ByContention},
		&observe.Request{Status: 500, Cause: refusal.ByDefect}, &observe.Request{Status: 409, Cause: refusal.ByCode}, &observe.Request{Status: 200, Slow: true},
		&observe.LostRace{}, &observe.Hung{}, &observe.DeadLetter{}, &observe.Held{}, &observe.Unhandled{},
		&observe.CallFailure{Service: observe.ServiceStore, Verdict: observe.VerdictRefused}, &observe.CallFailure{Service: observe.ServiceStore, Verdict: observe.VerdictThrottled},
		&observe.CallFailure{Service: observe.ServiceStore, Verdict: observe.VerdictUnanswered}, &observe.CallFailure{Service: observe.ServiceQueue, Verdict: observe.VerdictRefused},
		&observe.CallFailure{Service: observe.ServiceQueue, Verdict: observe.VerdictThrottled}, &observe.CallFailure{Service: observe.ServiceQueue, Verdict: observe.VerdictUnanswered},
		&observe.CallFailure{Service: observe.ServicePayload, Verdict: observe.VerdictRefused},
		&observe.LateTimers{Lag: 400 * time.Second}, &observe.LateCheck{}, &observe.ProbeFailed{}, &observe.Returned{Messages: 1}, &observe.LettersLeft{Letters: 2},
	} {
		r.Observe(context.Background(), e)
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	sums := emftest.Sums(t, out.String())
	for _, m := range observe.Metrics {
		if _, found := sums[m.Name]; !found {
			t.Errorf("no event adds to %s", m.Name)
		}
	}
}

// A request counts as failed by its status, by one cause. ApiFailures is the sum of the causes.
func TestRequests(t *testing.T) {
	t.Parallel()
	failed := func(by string) map[string]float64 { return map[string]float64{"ApiFailures": 1, by: 1} }
	byCode := map[string]float64{"RefusedByCode": 1, "CodeFailures": 1}
	for _, c := range []struct {
		request *observe.Request
		want    map[string]float64
	}{
		{&observe.Request{Status: 200}, map[string]float64{}},
		{&observe.Request{Status: 404}, map[string]float64{}},
		{&observe.Request{Status: 429}, map[string]float64{}},
		{&observe.Request{Status: 409}, map[string]float64{}},
		{&observe.Request{Status: 409, Cause: refusal.ByCode}, byCode},
		{&observe.Request{Status: 422, Cause: refusal.ByCode}, byCode},
		{&observe.Request{Status: 503, Cause: refusal.ByStore}, failed("UnavailableStore")},
		{&observe.Request{Status: 503, Cause: refusal.ByQueue}, failed("UnavailableQueue")},
		{&observe.Request{Status: 503, Cause: refusal.ByContention}, failed("UnavailableContention")},
		{&observe.Request{Status: 503, Cause: refusal.ByBuild}, failed("ServerErrors")},
		{&observe.Request{Status: 503, Cause: refusal.ByCode}, failed("ServerErrors")},
		{&observe.Request{Status: 503}, failed("ServerErrors")},
		{&observe.Request{Status: 500, Cause: refusal.ByDefect}, failed("ServerErrors")},
		{&observe.Request{Status: 500, Cause: refusal.ByStore}, failed("ServerErrors")},
		{&observe.Request{Status: 503, Cause: refusal.ByStore, Slow: true}, map[string]float64{"ApiFailures": 1, "UnavailableStore": 1, "SlowRequests": 1}},
		{&observe.Request{Status: 200, Slow: true}, map[string]float64{"SlowRequests": 1}},
		{&observe.Request{Status: 503, Cause: refusal.ByStore, Left: true}, map[string]float64{}},
		{&observe.Request{Status: 503, Cause: refusal.ByCaller}, map[string]float64{}},
	} {
		var out bytes.Buffer
		r := emf.New(&out, "shop", emf.Options{Now: func() time.Time { return at }})
		r.Observe(context.Background(), c.request)
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, emftest.Sums(t, out.String())); diff != "" {
			t.Errorf("%d by %q, slow %t, left %t: - want, + the line:\n%s", c.request.Status, c.request.Cause, c.request.Slow, c.request.Left, diff)
		}
	}
}

// Without All, a recorder writes the health metrics of an invocation, and nothing for one that has
// none.
func TestHealth(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := emf.New(&out, "shop", emf.Options{Now: func() time.Time { return at }})
	ctx := context.Background()
	r.Observe(ctx, &observe.Task{Ran: time.Millisecond})
	r.Observe(ctx, &observe.Update{Outcome: observe.Rejected})
	r.Observe(ctx, &observe.Attempt{Outcome: observe.Failed})
	r.Observe(ctx, &observe.Request{Cost: meter.Cost{Writes: 1, Reads: 1, Messages: 1}})
	r.Observe(ctx, &observe.LostRace{})
	r.Observe(ctx, &observe.Unhandled{})
	if err := r.Flush(); err != nil || out.Len() > 0 {
		t.Fatalf("a healthy invocation writes %q, %v", out.String(), err)
	}
	r.Observe(ctx, &observe.Task{Ran: time.Millisecond, Failure: "panic", Stuck: true})
	r.Observe(ctx, &observe.Hung{})
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"StuckTasks": 1, "HungInstances": 1, "CodeFailures": 2, "TaskFailures": 1}
	if diff := cmp.Diff(want, emftest.Sums(t, out.String())); diff != "" {
		t.Errorf("- want, + the line of an invocation that failed:\n%s", diff)
	}
}

// Values that do not fit into a line are written in lines of their own, each value once, and keep
// no memory.
func TestManyValues(t *testing.T) {
	t.Parallel()
	r, out := recorder()
	for range 250 {
		r.Observe(context.Background(), &observe.Task{Ran: time.Millisecond})
	}
	if err := r.Flush(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 3 {
		t.Errorf("%d lines, want 3", n)
	}
	if sums := emftest.Sums(t, out.String()); sums["WorkflowTasks"] != 250 || sums["TaskDuration"] != 250 {
		t.Errorf("the sums are %v", sums)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// What cannot be written is dropped, and does not accumulate.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	r := emf.New(full{}, "shop", emf.Options{})
	r.Observe(context.Background(), &observe.Hung{})
	if err := r.Flush(); err == nil {
		t.Error("no error")
	}
	if err := r.Flush(); err != nil {
		t.Errorf("an empty flush: %v", err)
	}
}

// Handlers of a batch report concurrently.
func TestConcurrentEvents(t *testing.T) {
	t.Parallel()
	r, out := recorder()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			r.Observe(context.Background(), &observe.LostRace{})
			_ = r.Flush() // into memory
		})
	}
	all.Wait()
	if sums := emftest.Sums(t, out.String()); sums["LostRaces"] != 20 {
		t.Errorf("the sums are %v", sums)
	}
}

// The check finds what CloudWatch would refuse.
func TestCheck(t *testing.T) {
	t.Parallel()
	const right = `{"_aws":{"Timestamp":1,"CloudWatchMetrics":[{"Namespace":"W","Dimensions":[["N"]],"Metrics":[{"Name":"A","Unit":"Count"}]}]},"N":"d","A":1}`
	if err := emftest.Problem(right); err != nil {
		t.Errorf("%s: %v", right, err)
	}
	many, err := json.Marshal(make([]int, 101))
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []struct{ old, changed string }{
		{`"Timestamp":1,`, ``},
		{`"Timestamp":1`, `"Timestamp":"1"`},
		{`"Namespace":"W",`, ``},
		{`"Namespace":"W"`, `"Namespace":""`},
		{`"Dimensions":[["N"]],`, ``},
		{`[["N"]]`, `[]`},
		{`[["N"]]`, `[["M"]]`},
		{`"N":"d"`, `"N":1`},
		{`"N":"d"`, `"N":""`},
		{`,"A":1`, ``},
		{`"A":1`, `"A":"1"`},
		{`"A":1`, `"A":[]`},
		{`"A":1`, `"A":null`},
		{`"A":1`, `"A":` + string(many)},
		{`"Unit":"Count"`, `"Unit":"Things"`},
		{`"Name":"A",`, ``},
		{`"Unit":"Count"`, `"Unit":"Count","Color":"red"`},
		{`{"_aws"`, `x {"_aws"`},
		{`"A":1}`, `"A":1} x`},
		{`"_aws"`, `"aws"`},
	} {
		wrong := strings.Replace(right, change.old, change.changed, 1)
		if emftest.Problem(wrong) == nil {
			t.Errorf("%s is taken for right", wrong)
		}
	}
}
