package executor_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// FuzzMessage passes any message about a run to its handlers. Afterwards the log is one that an
// engine could have written, it replays, and an open run accepts updates.
func FuzzMessage(f *testing.F) {
	f.Add(uint8(engine.RunActivity), uint32(1), int64(9), 1, int64(0), int64(0), uint32(0), true, uint8(0), 1)
	f.Add(uint8(engine.RunActivity), uint32(1), int64(9), -5, int64(-1), int64(1<<62), uint32(7), true, uint8(0), 30)
	f.Add(uint8(engine.RunActivity), uint32(1), int64(9), -5, int64(0), int64(0), uint32(0), true, uint8(0), 1)
	f.Add(uint8(engine.FireTimer), uint32(2), int64(15), 0, int64(-1), int64(-1<<60), uint32(0), true, uint8(0), 2)
	f.Add(uint8(engine.RetryTask), uint32(0), int64(0), 1<<30, int64(0), int64(0), uint32(0), true, uint8(0), 1)
	f.Add(uint8(engine.EndRun), uint32(0), int64(0), 1, int64(0), int64(0), uint32(0), true, uint8(0), 1)
	f.Add(uint8(engine.EndRun), uint32(9), int64(0), 1, int64(0), int64(-1<<60), uint32(0), false, uint8(0), 1)
	for result := range uint8(5) {
		f.Add(uint8(engine.TakeResult), uint32(1), int64(9), 1, int64(0), int64(0), uint32(0), true, result, 1)
	}
	f.Fuzz(func(t *testing.T, kind uint8, slot uint32, event int64, attempt int, due, sent int64, seen uint32, named bool, result uint8, received int) {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
			post := func(target, body string) *testbed.Answer {
				return p.Do(http.MethodPost, "/v1/workflows"+target, body)
			}
			post("", `{"workflowId":"a","type":"counter"}`)
			post("/a/updates/both", `{"updateId":"u1","input":{"name":"x"},"waitFor":"accepted"}`) // this starts the activities 9 and 10
			post("/a/updates/nap", `{"updateId":"u2","input":"10m","waitFor":"accepted"}`)
			run, now := d.Runs("a")[0], history.At(time.Now())
			m := &engine.Message{
				Kind: engine.MessageKind(kind), WorkflowID: "a", RunID: run.State.RunID, Slot: slot, EventID: event, Attempt: attempt,
				Due: now.Add(time.Duration(due)), Sent: now.Add(time.Duration(sent)), Seen: seen, Result: resultOf(result, event),
			}
			if named && int(slot) < len(run.Log) {
				m.Commit = run.Log[slot].ID
			}
			handle(t, p, m, received)
			d.CheckReplay(p)
			a := post("/a/updates/add", `{"updateId":"u3","input":1}`)
			if open := !d.Runs("a")[0].State.Status.Closed(); open != (a.Status == http.StatusOK) {
				t.Errorf("open is %v, and an update is answered with %d %s", open, a.Status, a.Body)
			}
		})
	})
}

// resultOf returns the result of an activity in one of its forms, or nil for another form.
func resultOf(form uint8, event int64) *history.Event {
	var a history.Attributes
	f := &failure.Failure{Kind: failure.KindApplication, Message: "failed"}
	switch form {
	case 1:
		a = &history.ActivityTaskCompleted{ScheduledEventID: event}
	case 2:
		a = &history.ActivityTaskFailed{ScheduledEventID: event, Failure: f}
	case 3:
		a = &history.ActivityTaskTimedOut{ScheduledEventID: event}
	case 4:
		a = &history.ActivityTaskCanceled{ScheduledEventID: event + 1}
	default:
		return nil
	}
	e := history.Of(a)
	return &e
}

// handle handles a message as if it came from a queue. It ignores the handler's error.
func handle(t *testing.T, p *testbed.Process, m *engine.Message, received int) {
	t.Helper()
	body, err := history.EncodeBody(m)
	if err != nil {
		t.Fatal(err)
	}
	if m, err = outbox.Decode(body); err != nil {
		return
	}
	ctx := t.Context()
	if m.Kind == engine.TakeResult {
		err = p.Service.Service.Deliveries.HandleResults(ctx, m.WorkflowID, []*engine.Message{m, m})
	} else {
		err = errors.Join(p.Service.Service.Deliveries.Handle(ctx, executor.Delivery{Message: m, Received: received}), p.Service.Service.Deliveries.HandleDead(ctx, m))
	}
	if err != nil {
		t.Log(err)
	}
}
