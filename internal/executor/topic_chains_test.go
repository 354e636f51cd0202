package executor_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/queue"
)

// taken returns the copies of the activity's message that wait, and deletes them.
func (x *executions) taken() (all []*engine.Message) {
	x.t.Helper()
	for _, d := range x.waiting(queue.Activities) {
		m, err := outbox.Decode(d.Body)
		if err != nil {
			x.t.Fatal(err)
		}
		if m.EventID == x.m.EventID && (m.Attempt > 1 || m.Look > 0) {
			all = append(all, m)
		}
		if err := x.d.Queue.Delete(x.t.Context(), queue.Activities, d.Receipt); err != nil {
			x.t.Fatal(err)
		}
	}
	return all
}

// waiting receives what waits in a queue.
func (x *executions) waiting(name string) []queue.Delivery {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), time.Second)
	defer cancel()
	all, err := x.d.Queue.Receive(ctx, name, queue.MaxBatch)
	if err != nil && ctx.Err() == nil {
		x.t.Fatal(err)
	}
	return all
}

// Executions of an attempt overlap, each of which publishes when it begins, works for longer
// than a copy waits, and ends through the workflow's queue. The copies of those that were overtaken
// do not take over from each other for ever.
func TestChainsOfExecutionsEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		besides bool
		more    int // deliveries of the message, each 20 minutes after the one before
		most    int // executions
	}{{false, 1, 4}, {true, 1, 4}, {false, 3, 8}, {true, 3, 8}} {
		synctest.Test(t, func(t *testing.T) {
			const works = 40 * time.Minute
			x := newExecutions(t, test.besides)
			var ends []time.Time
			begin := func(m *engine.Message) {
				x.begin(m)
				x.play(string(rune('0'+len(ends))) + " publish a")
				ends = append(ends, time.Now().Add(works))
			}
			began, begun := time.Now(), 1
			begin(x.m)
			for x.outcome() == "" && time.Since(began) < 48*time.Hour {
				time.Sleep(time.Minute)
				if _, err := x.all[0].Service.Service.Deliveries.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				for i, end := range ends {
					if !end.IsZero() && !time.Now().Before(end) {
						ends[i] = time.Time{}
						x.play(string(rune('0'+i)) + " return done")
						x.results()
					}
				}
				if x.outcome() != "" {
					break
				}
				for _, m := range x.taken() {
					begin(m)
				}
				if next := 20 * time.Minute; test.more > 0 && time.Since(began) > next*time.Duration(begun) {
					begin(x.m)
					begun, test.more = begun+1, test.more-1
				}
			}
			if x.outcome() == "" || len(ends) > test.most {
				t.Errorf("%+v: %d executions in %v, and the activity has ended with %q", test, len(ends), time.Since(began), x.outcome())
			}
			x.finish()
		})
	}
}

// Two executions of one message overlap. The result of the first one waits in the workflow's queue,
// so that the message is deleted. The second one takes over, fails, and dies before it has sent the
// next attempt. The copy that replaces the result sends it.
func TestTheCopyOfAResultSendsTheNextAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newExecutions(t, true)
		x.play("0 begin", "1 begin", "0 publish a", "0 return zero", "1 publish b", "1 fail one")
		time.Sleep(time.Minute)
		if lost := x.taken(); len(lost) != 1 || lost[0].Attempt != 2 {
			t.Fatalf("%d messages", len(lost))
		}
		x.results()
		time.Sleep(16 * time.Minute)
		for _, m := range x.taken() {
			if err := x.all[2].Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: 1}); err != nil {
				t.Error(err)
			}
		}
		if all := x.taken(); len(all) != 1 || all[0].Attempt != 2 {
			t.Errorf("%d messages: the next attempt was lost", len(all))
		}
		x.finish()
	})
}
