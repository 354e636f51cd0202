package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/probe"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

// probed is a deployment whose timer function sends beats to its api function.
type probed struct {
	t    *testing.T
	d    *testbed.Deployment
	p    *testbed.Process
	told *testbed.Observed
	log  testbed.Warnings
	// send is how an event reaches the api function.
	send       Probe
	api, timer *Function
}

func newProbed(t *testing.T, o executor.Options, sinks ...observe.Sink) *probed {
	p := &probed{t: t, d: testbed.New(t), told: &testbed.Observed{}}
	p.d.Ports.Scanner = p.d.Store
	o.Observe = observe.New(append(sinks, p.told)...)
	p.p = p.d.Idle(o)
	p.api = function(t, API, p.p, Options{})
	p.send = func(ctx context.Context, event []byte) ([]byte, error) {
		return p.api.Invoke(p.p.Meter.Counting(ctx), event)
	}
	p.timer = function(t, Timer, p.p, Options{Log: p.log.Logger(), Probe: func(ctx context.Context, event []byte) ([]byte, error) { return p.send(ctx, event) }})
	return p
}

// minute lets a minute pass, and the timer function sweep.
func (p *probed) minute() {
	p.t.Helper()
	time.Sleep(time.Minute)
	event, err := json.Marshal(recorded(p.t, "schedule.json"))
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.timer.Invoke(p.t.Context(), event); err != nil {
		p.t.Fatal(err)
	}
}

// beat lets the next beat be sent. It has to fail by this cause; empty is not at all.
func (p *probed) beat(cause string) {
	p.t.Helper()
	before := p.told.Sum(observe.ProbeFailures)
	for range probe.Every / time.Minute {
		p.minute()
	}
	n, text := p.told.Sum(observe.ProbeFailures)-before, p.log.Take()
	if want := map[bool]float64{true: 1}[cause != ""]; n != want || cause != "" && !strings.Contains(text, "level=WARN") || strings.Contains(text, "cause="+cause+" ") != (cause != "") {
		p.t.Errorf("%v failures, want %v by %q; the log: %s", n, want, cause, text)
	}
}

// cost returns the cost of all beats so far, and of their activities.
func (p *probed) cost() meter.Cost {
	c := p.p.Meter.Cost()
	c.Writes += int64(p.told.Sum(observe.Writes))
	c.Reads += int64(p.told.Sum(observe.Reads))
	c.Messages += int64(p.told.Sum(observe.Messages))
	return c
}

// sent returns the event of a beat.
func sent(number int64) []byte { return fmt.Appendf(nil, `{"weft":{"probe":%d}}`, number) }

// A beat each five minutes passes through all parts of a deployment. The workflow continues as new
// after 48 of them, in the 50 that this test sends, is kept for a day, and is never listed. A beat
// costs two writes and a message, and no metric counts any of it.
func TestBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		for n := range 50 {
			before := p.cost()
			p.beat("")
			drain(t, p.d, p.p)
			cost := p.cost()
			cost.Writes, cost.Reads, cost.Messages = cost.Writes-before.Writes, cost.Reads-before.Reads, cost.Messages-before.Messages
			writes := int64(2)
			if n == 47 { // it opens the next run
				writes++
			}
			if n > 0 && cost.Writes != writes || cost.Messages != 1 || cost.Reads > 13 { // with ten of the sweeps
				t.Errorf("beat %d costs %v", n, cost)
			}
		}
		runs := p.d.Runs(probe.WorkflowID)
		if len(runs) != 2 || runs[0].State.Status != history.ContinuedAsNew || len(runs[0].State.Updates) != 48 || runs[1].State.Status.Closed() || len(runs[1].State.Updates) != 2 {
			t.Errorf("%d runs: %+v", len(runs), runs[0].State.Status)
		}
		for _, run := range runs {
			for id, u := range run.State.Updates {
				if u.Completed == nil {
					t.Errorf("%s has not completed", id)
				}
			}
			if d := time.Duration(run.State.Started.Retention); d != 24*time.Hour {
				t.Errorf("a run is kept for %v", d)
			}
		}
		if n := runs[0].State.NextEventID; n > 700 {
			t.Errorf("a run has %d events", n)
		}
		rows, _, err := p.d.Store.ListRuns(t.Context(), store.Filter{}, "", 10)
		if err != nil || len(rows) > 0 {
			t.Errorf("the list: %+v, %v", rows, err)
		}
		for _, m := range observe.Metrics {
			if n := p.told.Sum(m); n != 0 && m != observe.Writes && m != observe.Reads && m != observe.Messages {
				t.Errorf("%s: %v", m.Name, n)
			}
		}
		p.d.CheckReplay(p.p)
	})
}

// An event asks for a beat at any time, with a number of its own if it has one. The next number
// asks what became of it.
func TestBeatAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		time.Sleep(time.Minute) // no beat is due
		ask := func(event string) {
			if _, err := p.timer.Invoke(t.Context(), []byte(event)); err != nil {
				t.Error(err)
			}
		}
		current := probe.Number(time.Now())
		for _, event := range []string{
			`{}`, `{"weft":{"number":3}}`, `{"weft":{"beat":false,"number":3}}`, `{"weft":{"beat":true}}`, `{"weft":{"beat":true,"number":-1}}`,
			`{"weft":{"beat":true,"number":7}}`, `{"weft":{"beat":true,"number":7}}`,
		} {
			ask(event)
		}
		updates := p.d.Runs(probe.WorkflowID)[0].State.Updates
		if len(updates) != 2 || updates[probe.BeatID(current)] == nil || updates[probe.BeatID(7)] == nil || p.told.Sum(observe.ProbeFailures) != 0 {
			t.Errorf("%d updates, %v failures; want that of the moment, and number 7", len(updates), p.told.Sum(observe.ProbeFailures))
		}
		ask(`{"weft":{"beat":true,"number":8}}`)
		if text := p.log.Take(); p.told.Sum(observe.ProbeFailures) != 1 || !strings.Contains(text, "cause=late ") {
			t.Errorf("%v failures: %s; want one, because number 7 has not completed", p.told.Sum(observe.ProbeFailures), text)
		}
		drain(t, p.d, p.p)
		if ask(`{"weft":{"beat":true,"number":9}}`); p.told.Sum(observe.ProbeFailures) != 1 {
			t.Errorf("%v failures: %s; want no further one", p.told.Sum(observe.ProbeFailures), p.log.Take())
		}
	})
}

// A healthy deployment in which nothing happens writes no line of metrics, in an hour of sweeps
// with its beats, dead queues and steps of the slow check. The first failure writes one.
func TestIdleHour(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		metrics := emf.New(&lines, "shop", emf.Options{})
		p := newProbed(t, executor.Options{}, metrics)
		for range 12 {
			p.beat("")
			drain(t, p.d, p.p)
		}
		if err := metrics.Flush(); err != nil || lines.Len() > 0 {
			t.Errorf("%v: %s", err, &lines)
		}
		p.send = func(context.Context, []byte) ([]byte, error) { return nil, ErrThrottled }
		p.beat("throttled")
		if err := metrics.Flush(); err != nil || !strings.Contains(lines.String(), `"ProbeFailures":1`) {
			t.Errorf("%v: %s", err, &lines)
		}
	})
}

// A beat that is sent twice is carried out once, and both get the same answer.
func TestBeatIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		for n := range int64(3) {
			first, err := p.api.Invoke(t.Context(), sent(100+n))
			before := p.d.Snapshot()
			second, again := p.api.Invoke(t.Context(), sent(100+n))
			if string(first) != `{"ok":true}` || string(second) != string(first) || err != nil || again != nil || p.d.Snapshot() != before {
				t.Errorf("%s, %v, and again %s, %v", first, err, second, again)
			}
			drain(t, p.d, p.p)
		}
		if n := len(p.d.Runs(probe.WorkflowID)[0].State.Updates); n != 3 {
			t.Errorf("%d beats", n)
		}
	})
}

// While no activity runs, each beat reports that the one before is late, also when the run takes no
// more of them. When activities run again, all beats complete.
func TestLateBeats(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			var o executor.Options
			o.Engine.Limits.UpdatesInFlight = limit
			p := newProbed(t, o)
			p.beat("")
			for range 12 {
				p.beat("late")
			}
			drain(t, p.d, p.p)
			p.beat("")
			drain(t, p.d, p.p)
			p.beat("")
			for id, u := range p.d.Runs(probe.WorkflowID)[0].State.Updates {
				if u.Completed == nil && id != probe.BeatID(probe.Number(time.Now())) {
					t.Errorf("%s has not completed", id)
				}
			}
		})
	}
}

// A deployment may limit the updates that a run accepts in its life: the workflow continues as new
// before.
func TestBeatsOfShortRuns(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 10} {
		synctest.Test(t, func(t *testing.T) {
			var o executor.Options
			o.Engine.Limits.UpdatesInTotal = limit
			p := newProbed(t, o)
			for range 25 {
				p.beat("")
				drain(t, p.d, p.p)
			}
		})
	}
}

// Each way in which a beat can fail has its cause, and the next beat is sent all the same.
func TestBeatsThatFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		right := p.send
		answer := func(text string) Probe {
			return func(context.Context, []byte) ([]byte, error) { return []byte(text), nil }
		}
		fails := func(err error) Probe {
			return func(context.Context, []byte) ([]byte, error) { return nil, fmt.Errorf("%w: on purpose", err) }
		}
		for _, c := range []struct {
			cause string
			send  Probe
		}{
			{"throttled", fails(ErrThrottled)},
			{"refused", fails(ErrRefused)},
			{"function", fails(ErrFailed)},
			{"unanswered", fails(errors.New("no connection"))},
			{"unanswered", func(ctx context.Context, _ []byte) ([]byte, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}},
			{"function", answer(``)},
			{"function", answer(`{}`)},
			{"function", answer(`null`)},
			{"function", answer(`{"statusCode":200}`)},
			{"function", answer(`{"ok":true,"cause":"late"}`)},
			{"store", answer(`{"ok":false,"cause":"store","detail":"x"}`)},
		} {
			p.send = c.send
			p.beat(c.cause)
			p.send = right
			p.beat("")
			drain(t, p.d, p.p)
		}
		hooks := p.d.Hook()
		p.p = p.d.Idle(executor.Options{Observe: observe.New(p.told)})
		p.api = function(t, API, p.p, Options{})
		hooks.Always(testbed.OnPut, func(func() error) error { return errors.New("access denied") })
		p.beat("store")
		hooks.Always(testbed.OnPut, nil)
		p.beat("")
	})
}

// What operators do to the workflow of the probe shows in its next beat: after its end that starts
// another run. A run that an earlier version has paused fails until it is resumed.
func TestBeatsAfterOperators(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		for range 2 {
			p.beat("")
			drain(t, p.d, p.p)
			do(t, p.p, "POST", "/v1/workflows/"+probe.WorkflowID+"/terminate", "", "{}")
		}
		p.beat("")
		drain(t, p.d, p.p)
		if n := len(p.d.Runs(probe.WorkflowID)); n != 3 {
			t.Errorf("%d runs", n)
		}
		pauses, err := p.p.Service.Service.Process.Parser().Resume(probe.WorkflowID, "", &schema.PauseRequest{}) // Pause refuses it
		if err == nil {
			_, err = p.p.Service.Service.Steering.Pause(t.Context(), pauses)
		}
		if err != nil {
			t.Fatal(err)
		}
		p.beat("paused")
		do(t, p.p, "POST", "/v1/workflows/"+probe.WorkflowID+"/resume", "", "")
		p.beat("")
	})
}

// A caller can neither send the beats of the next hour in advance, nor let a beat that does not
// complete succeed: when no activity runs any more, the beats fail.
func TestBeatsOfCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		p.beat("")
		drain(t, p.d, p.p)
		p.beat("") // its activity does not run
		run := p.d.Runs(probe.WorkflowID)[0].State
		var activity int64
		for activity = range run.Activities {
		}
		const at = "/v1/workflows/" + probe.WorkflowID
		pinned := "?runId=" + string(run.RunID)
		before := p.d.Snapshot()
		for i := range int64(12) {
			id := probe.BeatID(probe.Number(time.Now()) + 1 + i)
			p.refused(at+"/updates/"+probe.UpdateName, fmt.Sprintf(`{"updateId":%q,"waitFor":"accepted"}`, id))
			p.refused(at+"/updates/"+probe.UpdateName, fmt.Sprintf(`{"updateId":%q,"start":{"type":"weft.probe","idConflictPolicy":"useExisting"}}`, id))
		}
		p.refused(at+"/updates/"+probe.BeatID(probe.Number(time.Now()))+"/fail", `{}`)
		p.refused(fmt.Sprintf("%s/activities/%d/fail%s", at, activity, pinned), `{}`)
		p.refused(fmt.Sprintf("%s/activities/%d/complete%s", at, activity, pinned), `{}`)
		p.refused(at+"/signals/x", `{}`)
		p.refused(at+"/pause", `{}`)
		p.refused(at+"/reset", `{"to":"firstTask"}`)
		p.refused(at+"/move", `{}`)
		if p.d.Snapshot() != before {
			t.Error("a refused request was written")
		}
		for range 12 {
			p.beat("late")
		}
	})
}

// refused sends a request for the probe that a caller may not send.
func (p *probed) refused(target, body string) {
	p.t.Helper()
	if a := p.p.Do("POST", target, body); a.Status != http.StatusBadRequest || !strings.Contains(string(a.Body), "one of Weft's own") {
		p.t.Errorf("%s %s: %d %s", target, body, a.Status, a.Body)
	}
}

// Without a function to send beats to, or in other minutes, none is sent. Only the api function
// takes one.
func TestNoBeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProbed(t, executor.Options{})
		sends := 0
		p.send = func(ctx context.Context, event []byte) ([]byte, error) {
			sends++
			return p.api.Invoke(ctx, event)
		}
		for range 4 {
			p.minute()
		}
		if sends != 0 {
			t.Errorf("%d beats in other minutes", sends)
		}
		p.timer.options.Probe = nil
		p.beat("")
		if len(p.d.Runs(probe.WorkflowID)) > 0 {
			t.Error("the workflow of the probe was started")
		}
		for _, role := range []Role{Workflow, Activity, Dead} {
			if out, err := function(t, role, p.p, Options{}).Invoke(t.Context(), sent(7)); err == nil {
				t.Errorf("%s answers %s", role, out)
			}
		}
		for _, text := range []string{`{"weft":{}}`, `{"weft":{"probe":0}}`, `{"weft":{"probe":-1}}`, `{"weft":null}`, `{"weft":{"probe":"1"}}`} {
			if out, err := p.api.Invoke(t.Context(), []byte(text)); err == nil {
				t.Errorf("%s is answered with %s", text, out)
			}
		}
		if p.d.Queue.Ready(queue.Activities) {
			t.Error("an activity was scheduled")
		}
	})
}
