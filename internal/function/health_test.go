package function

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// A message that is returned to its queue is reported from its third receive on, whatever the role.
// Messages that are done are not reported.
func TestReturnedMessages(t *testing.T) {
	t.Parallel()
	for role, name := range map[Role]string{Workflow: queue.Workflow, Activity: queue.Activities, Dead: queue.DeadLetters(queue.Timers)} {
		synctest.Test(t, func(t *testing.T) {
			d, told := testbed.New(t), &testbed.Observed{}
			p := d.Idle(executor.Options{Observe: observe.New(told)}, testbed.Workload("build-1")...)
			do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"counter"}`, "a")
			do(t, p, "POST", "/v1/workflows/a/updates/do", `{"input":{"name":"x"},"waitFor":"accepted"}`, "accepted")
			f := function(t, role, p, Options{})
			newer := func(receipt string, received int) queue.Delivery {
				m := queue.Delivery{Body: []byte{0xff, 0xa0}, Receipt: receipt, Received: received}
				if role == Workflow {
					m.Group = receipt
				}
				return m
			}
			var before float64
			for received, want := range []float64{1: 0, 2: 0, 3: 1, 4: 1} {
				if received == 0 {
					continue
				}
				failures(t, f, batch(t, name, newer("one", received), newer("another", 1)))
				if got := told.Sum(observe.ReturnedMessages); got-before != want {
					t.Errorf("%s, receive %d: %v were reported, want %v", role, received, got-before, want)
				} else {
					before = got
				}
			}
			failures(t, f, batch(t, name, newer("one", 3), newer("another", 7)))
			if got := told.Sum(observe.ReturnedMessages); got-before != 2 {
				t.Errorf("%s: %v of two were reported", role, got-before)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d, told := testbed.New(t), &testbed.Observed{}
		p := d.Idle(executor.Options{Observe: observe.New(told)}, testbed.Workload("build-1")...)
		do(t, p, "POST", "/v1/workflows", `{"workflowId":"a","type":"counter"}`, "a")
		do(t, p, "POST", "/v1/workflows/a/updates/do", `{"input":{"name":"x"},"waitFor":"accepted"}`, "accepted")
		messages := take(t, d, queue.Activities)
		messages[0].Received = 9
		want(t, "an activity", failures(t, function(t, Activity, p, Options{}), batch(t, queue.Activities, messages...)))
		if got := told.Sum(observe.ReturnedMessages); got != 0 {
			t.Errorf("%v messages that are done were reported", got)
		}
	})
}

// A message that another version returns is reported once: by the function that the queue gave it
// to.
func TestReturnedMessagesOfAnotherBuild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, told := testbed.New(t), &testbed.Observed{}
		o := executor.Options{Build: "build-1", Observe: observe.New(told)}
		one := d.Idle(o, testbed.Workload("build-1")...)
		o.Build = "build-2"
		two := d.Idle(o, testbed.Workload("build-2")...)
		do(t, one, "POST", "/v1/workflows", `{"workflowId":"p","type":"pinned"}`, "p")
		do(t, one, "POST", "/v1/workflows/p/updates/nap", `{"input":"1m","waitFor":"accepted"}`, "accepted")
		time.Sleep(time.Minute)
		messages := take(t, d, queue.Timers)
		messages[0].Received = 3
		event := batch(t, queue.Timers, messages...)
		ended, cancel := context.WithDeadline(t.Context(), time.Now())
		defer cancel()
		forward := func(_ context.Context, build string, event []byte) ([]byte, error) {
			lc := &lambdacontext.LambdaContext{ClientContext: Mark(build, time.Time{})}
			return function(t, Workflow, one, Options{}).Invoke(lambdacontext.NewContext(ended, lc), event) // without time for it
		}
		want(t, "a version without time", failures(t, function(t, Workflow, two, Options{Forward: forward}), event), "0")
		if got := told.Sum(observe.ReturnedMessages); got != 1 {
			t.Errorf("%v messages were reported, want 1", got)
		}
		want(t, "a version that does not answer", failures(t, function(t, Workflow, two, Options{Forward: failing(errLostAnswer)}), event), "0")
		if got := told.Sum(observe.ReturnedMessages); got != 2 {
			t.Errorf("%v messages were reported, want 2", got)
		}
	})
}

// depths is an inspector with these messages.
type depths map[string]queue.Depth

// Depth implements queue.Inspector.
func (d depths) Depth(_ context.Context, name string) (queue.Depth, error) {
	depth, ok := d[name]
	switch {
	case !ok:
		return depth, fmt.Errorf("%w: no queue %q", queue.ErrInvalid, name)
	case depth.Waiting < 0:
		return depth, errors.New("access denied")
	}
	return depth, nil
}

// Each five minutes the timer function reports the dead letters that are in any queue, received or
// not. A queue without dead letters counts as empty. One that cannot be asked is in the log, and
// hides no other.
func TestDeadLettersThatStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, told, log := testbed.New(t), &testbed.Observed{}, &testbed.Warnings{}
		o := executor.Options{Observe: observe.New(told), Logger: log.Logger()}
		o.Engine.TaskQueues = []string{"slow"}
		d.Ports.Inspector = depths{
			queue.Activities: {Waiting: 70}, queue.DeadLetters(queue.Activities): {Waiting: 1, InFlight: 2}, queue.DeadLetters(queue.Timers): {},
			queue.DeadLetters(queue.ForTasks("slow")): {InFlight: 4}, queue.DeadLetters(queue.Workflow): {Waiting: -1}, queue.Unreadable: {Waiting: 2},
		}
		d.Ports.Keeper = &keeper{}
		f := function(t, Timer, d.Idle(o), Options{})
		event, err := json.Marshal(recorded(t, "schedule.json"))
		if err != nil {
			t.Fatal(err)
		}
		for minute := range 12 {
			if _, err := f.Invoke(t.Context(), event); err != nil {
				t.Fatal(err)
			}
			lines, text := told.Take(), log.Take()
			want := []string{"2 dead letters of unreadable", "3 dead letters of activities", "4 dead letters of tasks-slow"}
			if minute%5 != 0 {
				want = nil
			}
			if slices.Sort(lines); !slices.Equal(lines, want) {
				t.Errorf("minute %d: %q, want %q", minute, lines, want)
			}
			for _, line := range []string{"access denied", "queue=tasks-slow messages=4"} {
				if strings.Contains(text, line) != (want != nil) {
					t.Errorf("minute %d: the log: %s", minute, text)
				}
			}
			time.Sleep(time.Minute)
		}
		if got := told.Sum(observe.DeadLetters); got != 3*9 {
			t.Errorf("%v dead letters, want 27", got)
		}
	})
}

// A panic of a handler around the API, as of the web page, counts as a server error, as one of the
// API does. Each counts once.
func TestPanicsAreCounted(t *testing.T) {
	t.Parallel()
	for what, inAPI := range map[string]bool{"around the API": false, "in the API": true} {
		synctest.Test(t, func(t *testing.T) {
			told := &testbed.Observed{}
			p := testbed.New(t).Idle(executor.Options{Observe: observe.New(told)}, testbed.Workload("build-1")...)
			hub := p.Process.Service.Process.Observed()
			p.Process.API = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, ended := hub.Request(r.Context(), &observe.Request{Status: http.StatusInternalServerError, Cause: refusal.ByDefect})
				defer ended()
				panic("out of order")
			})
			f, err := New(API, p.Process, Options{Log: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			if !inAPI {
				f.api = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("out of order") })
			}
			a := ask(t, f, requested(t, formats[0], "GET", "/v1/workflows", "", ""))
			if got := told.Sum(observe.ServerErrors); got != 1 || a.StatusCode != http.StatusInternalServerError {
				t.Errorf("%s: %v server errors, %+v", what, got, a)
			}
		})
	}
}
