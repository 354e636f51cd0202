package httpapi_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// TestRefusals sends a valid request of each operation in each of several situations, and compares
// the refusals with testdata/refusals. The bed compares each with the document. So an operation
// that refuses in a way that the document lacks fails, whether or not anybody thought of it.
// Rewrite the file with `go test ./internal/httpapi -run TestRefusals -rewrite`.
func TestRefusals(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/refusals", func(t *testing.T, d *datadriven.TestData) string {
		situation := situations[d.Cmd]
		if situation == nil {
			d.Fatalf(t, "there is no such situation")
		}
		var refusals strings.Builder
		for _, o := range operations(t) {
			synctest.Test(t, func(t *testing.T) { refusals.WriteString(refusalIn(t, situation, o)) })
		}
		return refusals.String()
	})
}

// arranged is what a situation is about: a workflow a with a pending activity and an update in
// flight, a workflow w with an activity that goes on outside, a schedule s, and a batch x.
type arranged struct {
	t *testing.T
	d *testbed.Deployment
	// p gets the request.
	p *testbed.Process
	// first and waiting are the ids of the runs of a and w.
	first, waiting string
}

// hourly creates the schedule s.
const hourly = `{"scheduleId":"s","schedule":{"spec":{"cron":["@hourly"]},"action":{"type":"counter"}}}`

// slowly starts the batch x, which does nothing for a long time.
const slowly = `{"batchId":"x","filter":"WorkflowType = 'waiter' OR WorkflowType = 'counter'","action":{"kind":"retry"},"rate":0.01}`

// each sends a request to each workflow of the situation, and demands that it succeeds.
func (s *arranged) each(p *testbed.Process, request, body string) {
	s.t.Helper()
	for _, id := range []string{"a", "w", "weft.schedule:s", "weft.batch:x"} {
		s.do(p, http.MethodPost, workflows+"/"+id+request, body)
	}
}

// do sends a request, and demands that it succeeds.
func (s *arranged) do(p *testbed.Process, method, target, body string) {
	s.t.Helper()
	if a := p.Do(method, target, body); a.Status >= 300 {
		s.t.Fatalf("%s %s: %d %s", method, target, a.Status, a.Body)
	}
}

// process returns a process that handles no messages.
func (s *arranged) process(build string, o executor.Options) *testbed.Process {
	o.Build = build
	return s.d.Idle(o, testbed.Workload(build)...)
}

// situations arrange what each request finds. The first process has started everything.
var situations = map[string]func(s *arranged){
	"closed": func(s *arranged) {
		s.each(s.p, "/terminate", "")
	},
	"paused": func(s *arranged) {
		s.each(s.p, "/pause", "")
	},
	"stuck": func(s *arranged) {
		s.do(s.p, http.MethodPost, workflows+"/a/signals/poke", `{"input":"panic"}`)
	},
	"never-ran-and-paused": func(s *arranged) {
		s.do(s.p, http.MethodPost, workflows+"/a/terminate", "")
		s.first = string(start(s.t, s.process("unborn", executor.Options{}), `{"workflowId":"a","type":"counter"}`).RunID)
		s.do(s.p, http.MethodPost, workflows+"/a/pause", "")
	},
	"not-begun": func(s *arranged) {
		s.do(s.p, http.MethodPost, workflows+"/a/terminate", "")
		s.first = string(start(s.t, s.p, `{"workflowId":"a","type":"counter","startDelay":"1h"}`).RunID)
	},
	"pinned-elsewhere": func(s *arranged) {
		s.each(s.process("build-2", executor.Options{}), "/move", `{"build":"build-2"}`)
	},
	"stuck-and-pinned-elsewhere": func(s *arranged) {
		s.do(s.p, http.MethodPost, workflows+"/a/move", `{"build":"build-1"}`)
		s.do(s.p, http.MethodPost, workflows+"/a/signals/poke", `{"input":"panic"}`)
		s.p = s.process("build-2", executor.Options{})
	},
	"paused-and-pinned-elsewhere": func(s *arranged) {
		s.each(s.process("build-2", executor.Options{}), "/move", `{"build":"build-2"}`)
		s.each(s.p, "/pause", "")
	},
	"written-by-a-newer-version": func(s *arranged) {
		s.d.Ports.Log = newer{s.d.Store}
		s.p = s.process("build-1", executor.Options{})
	},
	"no-more-updates": func(s *arranged) {
		var few executor.Options
		few.Engine.Limits.UpdatesInTotal, few.Engine.Limits.UpdatesInFlight = 1, 100
		s.p = s.process("build-1", few)
		s.do(s.p, http.MethodPost, "/v1/schedules/s/trigger", "")
	},
	"no-more-updates-at-once": func(s *arranged) {
		var few executor.Options
		few.Engine.Limits.UpdatesInFlight = 1
		s.p = s.process("build-1", few)
	},
	"throttled": func(s *arranged) {
		hooks := s.d.Hook()
		s.p = s.process("build-1", executor.Options{})
		hooks.Always(testbed.OnRead, testbed.Faults["throttle"]())
	},
	"no-list": func(s *arranged) {
		s.d.Ports.Lister = nil
		s.p = s.process("build-1", executor.Options{})
	},
	"list-throttled": func(s *arranged) {
		s.d.Ports.Lister = throttled{}
		s.p = s.process("build-1", executor.Options{})
	},
	"writes-are-lost": func(s *arranged) {
		hooks := s.d.Hook()
		s.p = s.process("build-1", executor.Options{})
		hooks.Always(testbed.OnPut, testbed.Faults["lose-request"]())
	},
}

// refusalIn returns a line with the refusal of an operation's request in a situation, or nothing if
// the request succeeds.
func refusalIn(t *testing.T, situation func(*arranged), o *apitest.Operation) string {
	s := arrange(t)
	situation(s)
	target, body := requestOf(o, s.first, s.waiting)
	a := s.p.Do(o.Method, target, body)
	if a.Status < http.StatusBadRequest {
		return ""
	}
	var problem struct{ Type string }
	a.Into(t, &problem)
	return fmt.Sprintln(o.ID, a.Status, strings.TrimPrefix(problem.Type, "urn:weft:problem:"))
}

// arrange arranges what all situations begin with.
func arrange(t *testing.T) *arranged {
	s := &arranged{t: t, d: testbed.New(t)}
	s.p = s.d.Start(executor.Options{}, testbed.Workload("build-1")...)
	s.first = string(start(t, s.p, `{"workflowId":"a","type":"counter"}`).RunID)
	s.waiting = string(start(t, s.p, `{"workflowId":"w","type":"waiter"}`).RunID)
	s.do(s.p, http.MethodPost, "/v1/schedules", hourly)
	s.do(s.p, http.MethodPost, "/v1/batches", slowly)
	s.do(s.p, http.MethodPost, workflows+"/a/signals/poke", `{"input":"fail"}`)
	s.do(s.p, http.MethodPost, workflows+"/a/updates/nap", `{"updateId":"add","input":"1h","waitFor":"accepted"}`)
	time.Sleep(time.Millisecond) // until the waiter's function has returned
	return s
}

// requestOf returns a valid request of an operation, about the workflow a with this run, the
// activity of its event 9, the schedule s, the batch x, or an activity of the workflow w with this
// run.
func requestOf(o *apitest.Operation, first, waiting string) (target, body string) {
	target = strings.NewReplacer("{workflowId}", "a", "{update}", "add", "{signal}", "poke", "{query}", "sum", "{scheduleId}", "s", "{batchId}", "x", "{eventId}", "9", "{queue}", "activities").Replace(o.Path)
	switch {
	case strings.HasPrefix(o.Path, "/v1/activities/"):
		body = `{"token":"` + testbed.Pass(waiting) + `"}`
	case o.ID == "deleteWorkflow" || strings.HasSuffix(o.ID, "ByHand"):
		target += "?runId=" + first
	default:
		body = bodies[o.ID]
	}
	if slices.Contains(o.Query(), "wait") {
		target += "?wait=0s"
	}
	return target, body
}

// bodies are the bodies of requests that need one.
var bodies = map[string]string{
	"startWorkflow": `{"workflowId":"a","type":"counter"}`, "updateWorkflow": `{"input":1}`, "resetWorkflow": `{"to":"firstTask"}`,
	"createSchedule": hourly, "updateSchedule": `{"schedule":{"spec":{"cron":["@daily"]},"action":{"type":"counter"}}}`,
	"startBatch": slowly, "changeBatchRate": `{"rate":1}`,
	"backfillSchedule": `{"startAt":"2000-01-01T00:00:00Z","endAt":"2000-01-02T00:00:00Z"}`,
}

// noteRefusals records the refusals of testdata/refusals.
func noteRefusals(t *testing.T, scripted map[string]bool) {
	datadriven.RunTest(t, "testdata/refusals", func(_ *testing.T, d *datadriven.TestData) string {
		for _, line := range strings.Split(strings.TrimSpace(d.Expected), "\n") {
			at := strings.LastIndex(line, " ")
			scripted[line[:at]+" urn:weft:problem:"+line[at+1:]] = true
		}
		return d.Expected
	})
}
