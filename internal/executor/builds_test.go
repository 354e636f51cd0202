package executor_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// Deliveries of one sending that wait for a build become one timer. Other sendings of the message
// stay, because any one of them may be the only one that sends what follows. So do the copies that
// replace a message.
func TestParkedCopies(t *testing.T) {
	t.Parallel()
	for _, kind := range []engine.MessageKind{engine.RunActivity, engine.RetryTask, engine.CloseAttempt} {
		synctest.Test(t, func(t *testing.T) { parkCopies(t, kind) })
	}
}

func parkCopies(t *testing.T, kind engine.MessageKind) {
	d := testbed.New(t)
	p := d.Start(executor.Options{})
	m := &engine.Message{Kind: kind, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{1}), Attempt: 2}
	for _, send := range []uint64{1, 2, 1, 2, 2, 3, 4, 3} {
		m.Send, m.Look, m.Copy = send, 0, 0
		if send > 2 { // two copies that replace one message
			m.Send, m.Look, m.Copy = 2, 1, send
		}
		if err := p.Service.Service.Deliveries.Park(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	due, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 10)
	if err != nil {
		t.Fatal(err)
	}
	kept := map[uint64]int{}
	for _, timer := range due {
		m, err := outbox.Decode(timer.Body)
		if err != nil {
			t.Fatal(err)
		}
		kept[max(m.Send, m.Copy)]++
	}
	if len(kept) != 4 || len(due) != 4 {
		t.Errorf("of two sendings of a %s and two copies that replace one, the store keeps %v", kind, kept)
	}
}

// A result waits for its build and arrives whole, even if it is larger than an item of the store.
func TestParkedResult(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Offload()
		p := d.Idle(executor.Options{})
		value := history.Payload(`"` + strings.Repeat("x", 2<<20) + `"`)
		done := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5, Result: value})
		m := &engine.Message{
			Kind: engine.TakeResult, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{1}), Commit: history.CommitID{1}, EventID: 5, Attempt: 1, Send: 1, Result: &done,
		}
		for range 3 { // no process of its build runs
			if err := p.Service.Service.Deliveries.Park(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if sent, err := p.Service.Service.Deliveries.Sweep(t.Context()); err != nil || sent != 1 {
				t.Fatalf("%d were sent, %v", sent, err)
			}
			time.Sleep(5 * time.Minute)
			got, err := d.Receiver().Receive(t.Context(), queue.Timers, 1)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d messages, %v", len(got), err)
			}
			if m, err = outbox.Decode(got[0].Body); err != nil {
				t.Fatal(err)
			}
			if result := m.Result.Attributes.(*history.ActivityTaskCompleted).Result; !bytes.Equal(result, value) {
				t.Fatalf("the result has %d bytes", len(result))
			}
			if err := d.Queue.Delete(t.Context(), queue.Timers, got[0].Receipt); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A message is parked after a sweep has sent it and before the sweep deletes its timer, because the
// sweep's clock is ahead. The parked message stays.
func TestParkedBeforeItsMoment(t *testing.T) {
	t.Parallel()
	for _, kind := range []engine.MessageKind{engine.RunActivity, engine.DeliverExternal, engine.CloseAttempt} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			p := d.Start(executor.Options{})
			m := &engine.Message{Kind: kind, WorkflowID: "w", RunID: history.NewRunID(1, [8]byte{1}), Attempt: 1, Send: 1, CausationID: 1}
			if err := p.Service.Service.Deliveries.Park(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			due, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 10)
			if err != nil || len(due) != 1 {
				t.Fatal(due, err)
			}
			sent, err := outbox.Decode(due[0].Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Service.Service.Deliveries.Park(t.Context(), sent); err != nil {
				t.Fatal(err)
			}
			if err := d.Store.DeleteTimers(t.Context(), due); err != nil {
				t.Fatal(err)
			}
			if left, err := d.Store.DueTimers(t.Context(), time.Now().Add(time.Hour), 10); err != nil || len(left) != 1 {
				t.Errorf("%v: %d timers are left, want 1: %v", kind, len(left), err)
			}
		})
	}
}
