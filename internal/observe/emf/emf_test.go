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

	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
)

var at = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func recorder() (*emf.Recorder, *bytes.Buffer) {
	var out bytes.Buffer
	return emf.New(&out, "shop", func() time.Time { return at }), &out
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
	want := `{"Messages":1,"Namespace":"shop","StuckTasks":1,"TaskDuration":[1.5,2],"TaskFailures":1,"WorkflowTasks":2,"Writes":2,` +
		`"_aws":{"Timestamp":1795251600000,"CloudWatchMetrics":[{"Namespace":"Weft","Dimensions":[["Namespace"]],"Metrics":[` +
		`{"Name":"StuckTasks","Unit":"Count"},{"Name":"TaskFailures","Unit":"Count"},{"Name":"WorkflowTasks","Unit":"Count"},` +
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
		&observe.Request{Cost: meter.Cost{Writes: 1, Reads: 1, Messages: 1, Lost: 1}}, &observe.LostRace{}, &observe.Hung{}, &observe.DeadLetter{}, &observe.Held{}, &observe.Unhandled{},
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
	r := emf.New(full{}, "shop", nil)
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
