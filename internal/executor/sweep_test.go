package executor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
)

var errNoRight = errors.New("the role has no right")

// picky is a queue that refuses some messages with err.
type picky struct {
	queue.Sender
	refuses func(workflowID string) bool
	err     error
	takes   time.Duration // how long a refusal takes
	sends   int
}

// Send implements queue.Sender.
func (p *picky) Send(ctx context.Context, name string, messages ...queue.Message) error {
	p.sends++
	for _, sent := range messages {
		m, err := outbox.Decode(sent.Body)
		if err != nil {
			return err
		}
		if p.refuses(m.WorkflowID) {
			time.Sleep(p.takes)
			return fmt.Errorf("%w: %s", p.err, m.WorkflowID)
		}
	}
	return p.Sender.Send(ctx, name, messages...)
}

// keep keeps n timers of workflows whose ids begin with name.
func keep(t *testing.T, timers store.Timers, name string, n int) {
	t.Helper()
	var all []store.Timer
	for i := range n {
		m := &engine.Message{Kind: engine.FireTimer, WorkflowID: fmt.Sprint(name, i), RunID: history.NewRunID(1, [8]byte{1}), EventID: 5, Attempt: 1, Due: history.At(time.Now())}
		body, err := history.EncodeBody(m)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, store.Timer{ID: m.WorkflowID, Due: time.Now(), Body: body})
	}
	for batch := range slices.Chunk(all, 25) {
		if err := timers.PutTimers(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
}

// Messages that cannot be sent, however many, delay no others. They are set aside, reported and
// retried. These cases cannot be sent:
//   - The timer function lacks a right that only large messages need.
//   - The bucket does not answer.
//   - One of the queues is gone.
//
// A few messages that a queue refuses for now stay due.
func TestUnsentTimersHoldUpNoOthers(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		err   error
		bad   int
		aside bool
	}{
		"large messages, and no bucket":  {queue.ErrRefused, 250, true},
		"messages that are too large":    {queue.ErrTooLarge, 250, true},
		"a queue that takes none":        {errNoRight, 90, true},
		"a queue that takes none of few": {errNoRight, 7, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, ctx := testbed.New(t), t.Context()
				sender := &picky{Sender: d.Queue, refuses: func(id string) bool { return strings.HasPrefix(id, "bad") }, err: c.err}
				d.Ports.Queue = sender
				p := d.Idle(executor.Options{}, counters()...)
				keep(t, d.Store, "bad", c.bad)
				keep(t, d.Store, "good", 150)
				sent, err := p.Service.Service.Deliveries.Sweep(ctx)
				if sent != 150 || errors.Is(err, outbox.ErrUnsent) != c.aside || !errors.Is(err, c.err) {
					t.Fatalf("%d were sent, %v", sent, err)
				}
				sender.sends = 0
				if sent, err := p.Service.Service.Deliveries.Sweep(ctx); sent != 0 || (err == nil) != c.aside || (sender.sends == 0) != c.aside {
					t.Errorf("the next sweep sent %d, in %d sends, %v", sent, sender.sends, err)
				}
				sender.refuses = func(string) bool { return false }
				if c.aside {
					time.Sleep(20 * time.Minute)
				}
				if sent, err := p.Service.Service.Deliveries.Sweep(ctx); sent != c.bad || err != nil {
					t.Errorf("%d of %d were sent afterwards, %v", sent, c.bad, err)
				}
			})
		})
	}
}

// While the queues do not answer, timers stay due, and a sweep does not try to send each of them.
func TestSweepInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), t.Context()
		down := true
		sender := &picky{Sender: d.Queue, refuses: func(string) bool { return down }, err: errNoRight, takes: 2 * time.Second}
		d.Ports.Queue = sender
		p := d.Idle(executor.Options{}, counters()...)
		keep(t, d.Store, "all", 100)
		if sent, err := p.Service.Service.Deliveries.Sweep(ctx); sent != 0 || !errors.Is(err, errNoRight) || errors.Is(err, outbox.ErrUnsent) {
			t.Errorf("%d were sent, %v", sent, err)
		}
		if sender.sends > 20 {
			t.Errorf("%d sends in an outage", sender.sends)
		}
		down = false
		if sent, err := p.Service.Service.Deliveries.Sweep(ctx); sent != 100 || err != nil {
			t.Errorf("after the outage %d were sent, %v", sent, err)
		}
	})
}

// A sweep reports how late the earliest timer of its first page is, if that is more than a minute.
// Sweeps that are in time report nothing, and neither do those that set timers aside.
func TestLateTimersAreReported(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]float64{0: 0, time.Minute: 0, time.Minute + time.Second: 61, 400 * time.Second: 400} {
		synctest.Test(t, func(t *testing.T) {
			d, told, log := testbed.New(t), &testbed.Observed{}, &testbed.Warnings{}
			p := d.Idle(executor.Options{Observe: observe.New(told), Logger: log.Logger()}, counters()...)
			keep(t, d.Store, "a", 150) // more than a page
			time.Sleep(late)
			keep(t, d.Store, "b", 1)
			for _, sent := range []int{151, 0} {
				if n, err := p.Service.Service.Deliveries.Sweep(t.Context()); n != sent || err != nil {
					t.Fatalf("%d were sent, want %d: %v", n, sent, err)
				}
			}
			text := log.Take()
			if got := told.Sum(observe.TimerLag); got != want || strings.Contains(text, "timers are late") != (want > 0) {
				t.Errorf("%v late: %v s were reported, want %v; the log: %s", late, got, want, text)
			}
		})
	}
}
