package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// errLostAnswer is the error of a version that was invoked and did not answer.
var errLostAnswer = errors.New("the connection was closed")

// builds is a deployment with a run p that is pinned to build-1, and the processes of two builds.
// Their events go to observers.
func builds(t *testing.T, observers ...observe.Sink) (d *testbed.Deployment, one, two *testbed.Process) {
	t.Helper()
	d = testbed.New(t)
	one = d.Idle(executor.Options{Build: "build-1", Observe: observe.New(observers...)}, testbed.Workload("build-1")...)
	two = d.Idle(executor.Options{Build: "build-2", Observe: observe.New(observers...)}, testbed.Workload("build-2")...)
	do(t, one, "POST", "/v1/workflows", `{"workflowId":"p","type":"pinned"}`, "p")
	return d, one, two
}

// forwarding returns a Forward to a function of a version. It records the events that it forwards.
func forwarding(f *Function, events *[]string) Forward {
	return func(ctx context.Context, build string, event []byte) ([]byte, error) {
		*events = append(*events, build+" "+string(event))
		deadline, _ := ctx.Deadline()
		lc := &lambdacontext.LambdaContext{ClientContext: Mark(build, deadline)}
		return f.Invoke(lambdacontext.NewContext(context.Background(), lc), event)
	}
}

func failing(err error) Forward {
	return func(context.Context, string, []byte) ([]byte, error) { return nil, fmt.Errorf("%w: on purpose", err) }
}

// A request reaches the version unchanged, through each kind of gateway, and its answer comes back
// unchanged.
func TestForwardedRequests(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, one, two := builds(t)
				var events []string
				f := function(t, API, two, Options{Forward: forwarding(function(t, API, one, Options{}), &events)})
				event := requested(t, format, "POST", "/v1/workflows/p/updates/add", "", `{"updateId":"u1","input":3}`)
				if a := ask(t, f, event); a.StatusCode != 200 || !strings.Contains(a.Body, `"result":3`) {
					t.Errorf("answered %d %s", a.StatusCode, a.Body)
				}
				text, err := json.Marshal(event)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(events, []string{"build-1 " + string(text)}) {
					t.Errorf("forwarded: %q", events)
				}
			})
		})
	}
}

// A signal or an update with a start goes to an open run that is pinned to an older build, also if
// that build's contract does not have the start: it opens no run. The start is held against the
// contract of the build that gets the request first.
func TestForwardedStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type older struct{ Name, Town string }
		type newer struct{ Name string }
		add, end, pinned := workflow.NewUpdate[int, int]("add"), workflow.NewSignal[int]("end"), workflow.BindOptions{Pinned: true}
		names := workflow.Names(add, end)
		run := func(ctx workflow.Context) (int, error) {
			add.Handle(ctx, func(_ workflow.Context, n int) (int, error) { return n, nil })
			return end.Receive(ctx)
		}
		d := testbed.New(t)
		one := d.Idle(executor.Options{Build: "build-1"}, workflow.Bind(workflow.NewWorkflow[older, int]("shop"), func(ctx workflow.Context, _ older) (int, error) { return run(ctx) }, names, pinned))
		two := d.Idle(executor.Options{Build: "build-2"}, workflow.Bind(workflow.NewWorkflow[newer, int]("shop"), func(ctx workflow.Context, _ newer) (int, error) { return run(ctx) }, names, pinned))
		do(t, one, "POST", "/v1/workflows", `{"workflowId":"s","type":"shop","input":{"Name":"a","Town":"b"}}`, "s")
		var events []string
		f := function(t, API, two, Options{Forward: forwarding(function(t, API, one, Options{}), &events)})
		for _, c := range []struct {
			path, input, start string
			status             int
			want               string
		}{
			{"updates/add", `3`, `{"Name":"a"}`, 200, `"result":3`},
			{"updates/add", `3`, `{"Name":7}`, 400, `start.input.Name`},
			{"updates/add", `"3"`, `{"Name":"a"}`, 422, `BadInput`},
			{"signals/end", `4`, `{"Name":7}`, 400, `start.input.Name`},
			{"signals/end", `4`, `{"Name":"a"}`, 202, `"started":false`},
		} {
			body := `{"input":` + c.input + `,"start":{"type":"shop","idConflictPolicy":"useExisting","input":` + c.start + `}}`
			if a := ask(t, f, requested(t, formats[0], "POST", "/v1/workflows/s/"+c.path, "", body)); a.StatusCode != c.status || !strings.Contains(a.Body, c.want) {
				t.Errorf("%s %s: %d %s", c.path, body, a.StatusCode, a.Body)
			}
		}
		if len(events) != 3 {
			t.Errorf("forwarded %q", events)
		}
	})
}

// The version that has a build answers requests for its contract.
func TestForwardedContracts(t *testing.T) {
	t.Parallel()
	for _, format := range formats {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				older := workflow.Bind(workflow.NewWorkflow[string, int]("only.older"), func(workflow.Context, string) (int, error) { return 0, nil })
				one, two := d.Idle(executor.Options{Build: "build-1"}, older), d.Idle(executor.Options{Build: "build-2"}, testbed.Workload("build-2")...)
				var events []string
				f := function(t, API, two, Options{Forward: forwarding(function(t, API, one, Options{}), &events)})
				for path, want := range map[string]string{"/v1/types": `"name":"only.older"`, "/v1/types/only.older": `"input":{"type":"string"}`} {
					if a := ask(t, f, requested(t, format, "GET", path, "build=build-1", "")); a.StatusCode != 200 || !strings.Contains(a.Body, want) {
						t.Errorf("%s answered %d %s", path, a.StatusCode, a.Body)
					}
				}
				if a := ask(t, f, requested(t, format, "GET", "/v1/openapi.yaml", "types=only.older&build=build-1", "")); a.StatusCode != 200 || !strings.Contains(a.Body, "only.older") {
					t.Errorf("the OpenAPI document: %d %.300s", a.StatusCode, a.Body)
				}
				if len(events) != 3 {
					t.Errorf("forwarded %q", events)
				}
				if a := ask(t, f, requested(t, format, "GET", "/v1/types", "build=build-2", "")); a.StatusCode != 200 || len(events) != 3 {
					t.Errorf("answered %d %s, and forwarded %q", a.StatusCode, a.Body, events)
				}
				nowhere := function(t, API, two, Options{Forward: failing(ErrNoVersion)})
				if a := ask(t, nowhere, requested(t, format, "GET", "/v1/types", "build=build-7", "")); a.StatusCode != 409 || !strings.Contains(a.Body, "problem:other-build") {
					t.Errorf("answered %d %s", a.StatusCode, a.Body)
				}
			})
		})
	}
}

// healthNames is a sink of the names of health metrics.
type healthNames struct{ names []string }

// Observe implements observe.Sink.
func (f *healthNames) Observe(_ context.Context, e observe.Event) {
	observe.Measure(e, func(m *observe.Metric, _ float64) {
		if m.Health {
			f.names = append(f.names, m.Name)
		}
	})
}

// A request that cannot be forwarded is refused with the reason, and none is forwarded twice.
func TestRequestsThatAreNotForwarded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		metrics := &healthNames{}
		_, one, two := builds(t, metrics)
		var events []string
		// Each takes the run for the other's: one moves it to another build before it forwards the
		// event.
		here := function(t, API, one, Options{Forward: failing(errLostAnswer)})
		astray := func(ctx context.Context, build string, event []byte) ([]byte, error) {
			do(t, two, "POST", "/v1/workflows/p/move", "", "build-2")
			return forwarding(here, &events)(ctx, build, event)
		}
		update := func() object {
			return requested(t, formats[0], "POST", "/v1/workflows/p/updates/add", "", `{"updateId":"u1","input":3}`)
		}
		query := requested(t, formats[0], "POST", "/v1/workflows/p/queries/sum", "", "")
		get := func(path string) object { return requested(t, formats[0], "GET", path, "build=build-1", "") }
		for _, c := range []struct {
			name    string
			forward Forward
			event   object
			status  int
			kind    string
			again   string
			failed  string // its metrics
		}{
			{"no versions", nil, update(), 409, "other-build", "", ""},
			{"no such version", failing(ErrNoVersion), update(), 409, "other-build", "", ""},
			{"refused", failing(ErrNotForwarded), update(), 503, "busy", "1", "ApiFailures ServerErrors"},
			{"not answered", failing(errLostAnswer), update(), 503, "outcome-unknown", "1", "ApiFailures ServerErrors"},
			{"a query that is not answered", failing(errLostAnswer), query, 503, "busy", "1", "ApiFailures ServerErrors"},
			{"moved meanwhile", astray, update(), 503, "busy", "1", "ApiFailures ServerErrors"},
			{"the types of another build", failing(ErrNotForwarded), get("/v1/types"), 503, "busy", "1", "ApiFailures ServerErrors"},
			{"a type of another build", failing(ErrNotForwarded), get("/v1/types/pinned"), 503, "busy", "1", "ApiFailures ServerErrors"},
			{"the document of another build", failing(ErrNotForwarded), get("/v1/openapi.yaml"), 503, "busy", "1", "ApiFailures ServerErrors"},
		} {
			metrics.names = nil
			f := function(t, API, two, Options{Forward: c.forward})
			a := ask(t, f, c.event)
			if a.StatusCode != c.status || !strings.Contains(a.Body, "urn:weft:problem:"+c.kind) || a.header("Retry-After") != c.again {
				t.Errorf("%s: %d %s, Retry-After %q", c.name, a.StatusCode, a.Body, a.header("Retry-After"))
			}
			if got := strings.Join(metrics.names, " "); got != c.failed {
				t.Errorf("%s adds to %q, want %q", c.name, got, c.failed)
			}
		}
		if len(events) != 1 {
			t.Errorf("forwarded %d times", len(events))
		}
	})
}

// The messages of another build in a batch go to its version, in their order and unchanged. A
// message that fails there is redelivered, and one that does not reach it is sent again later.
func TestForwardedMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, one, two := builds(t)
		do(t, two, "POST", "/v1/workflows", `{"workflowId":"q","type":"pinned"}`, "q")
		nap := func(p *testbed.Process, id, update string) {
			do(t, p, "POST", "/v1/workflows/"+id+"/updates/nap", `{"updateId":"`+update+`","input":"1m","waitFor":"accepted"}`, "accepted")
		}
		nap(one, "p", "n1")
		nap(two, "q", "n1")
		nap(one, "p", "n2")
		time.Sleep(time.Minute)
		event := batch(t, queue.Timers, take(t, d, queue.Timers)...)
		left := func(o Options) []string { return failures(t, function(t, Workflow, two, o), event) }

		want(t, "a version that does not answer", left(Options{Forward: failing(errLostAnswer)}), "0", "2")
		if d.Queue.Len(queue.Timers) != 3 {
			t.Errorf("%d messages of which a version may have handled two", d.Queue.Len(queue.Timers))
		}
		want(t, "one that fails the second", left(Options{Forward: func(_ context.Context, _ string, event []byte) ([]byte, error) {
			var records struct{ Records []struct{ MessageID string } }
			if err := json.Unmarshal(event, &records); err != nil || len(records.Records) != 2 {
				t.Errorf("%v: the event is %s", err, event)
			}
			return []byte(`{"batchItemFailures":[{"itemIdentifier":"message 2"}]}`), nil
		}}), "2")
		for _, answer := range []string{`{}`, `null`, `{"batchItemFailures":null}`, `{"statusCode":200}`, `{"batchItemFailures":[{"itemIdentifier":""}]}`} {
			want(t, "one that answers "+answer, left(Options{Forward: func(context.Context, string, []byte) ([]byte, error) { return []byte(answer), nil }}), "0", "2")
		}
		want(t, "one that is refused", left(Options{Forward: failing(ErrNotForwarded)}))
		want(t, "no such version", left(Options{Forward: failing(ErrNoVersion)}))
		if n := d.Queue.Len(queue.Timers); n != 3+2 {
			t.Errorf("%d messages, want the three and two copies", n)
		}
		want(t, "no such version, delivered twice", left(Options{Forward: failing(ErrNoVersion)}))
		kept, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 10)
		if err != nil || len(kept) != 2 {
			t.Errorf("%d messages are kept, %v; want each once", len(kept), err)
		}
		var events []string
		want(t, "all", left(Options{Forward: forwarding(function(t, Workflow, one, Options{}), &events)}))
		for _, at := range []string{"p/updates/n1", "p/updates/n2", "q/updates/n1"} {
			do(t, one, "GET", "/v1/workflows/"+at, "", "slept")
		}
	})
}

// A message that only went astray does not count as an attempt at its activity: an activity that
// may be attempted once is attempted.
func TestForwardedAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, one, two := builds(t)
		do(t, one, "POST", "/v1/workflows/p/updates/do", `{"updateId":"d1","input":{"name":"j"},"waitFor":"accepted"}`, "accepted")
		event := batch(t, queue.Activities, take(t, d, queue.Activities)...)
		var events []string
		lost := function(t, Activity, two, Options{Forward: failing(errLostAnswer)})
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{ClientContext: Mark("build-2", time.Time{})})
		if out := invoke[struct{ BatchItemFailures []object }](ctx, t, lost, event); len(out.BatchItemFailures) > 0 {
			t.Errorf("a message that was forwarded to the wrong build is redelivered itself: %v", out)
		}
		time.Sleep(time.Minute)
		again := take(t, d, queue.Activities)
		if i := slices.IndexFunc(again, func(m queue.Delivery) bool { return m.Received == 1 }); i < 0 {
			t.Fatalf("no copy among %d messages", len(again))
		} else {
			event = batch(t, queue.Activities, again[i])
		}
		f := function(t, Activity, two, Options{Forward: forwarding(function(t, Activity, one, Options{}), &events)})
		if out := invoke[struct{ BatchItemFailures []object }](t.Context(), t, f, event); len(out.BatchItemFailures) > 0 || len(events) != 1 {
			t.Errorf("%d events were forwarded, and %v are redelivered", len(events), out)
		}
		do(t, one, "GET", "/v1/workflows/p/updates/d1", "", "did j")
	})
}

// A version has as long as the invocation that waits for it has left, less the time for the answer.
func TestForwardedDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, two := builds(t)
		var left time.Duration
		f := function(t, API, two, Options{Forward: func(ctx context.Context, build string, _ []byte) ([]byte, error) {
			deadline, _ := ctx.Deadline()
			lc := &lambdacontext.LambdaContext{ClientContext: Mark(build, deadline)}
			inner, cancel := waitedFor(lambdacontext.NewContext(context.Background(), lc))
			defer cancel()
			deadline, _ = inner.Deadline()
			left = time.Until(deadline)
			return nil, ErrNoVersion
		}})
		ctx, cancel := context.WithTimeout(t.Context(), timeOut)
		defer cancel()
		invoke[httpAnswer](ctx, t, f, requested(t, formats[0], "POST", "/v1/workflows/p/queries/sum", "", ""))
		if left != timeOut-forwardMargin {
			t.Errorf("the version has %v left", left)
		}
	})
}
