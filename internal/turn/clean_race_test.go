package turn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/turn"
	"github.com/seed-41655fb1/weft/internal/turntest"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// counters are the workflows of these tests.
func counters() []workflow.Registration { return turntest.Workload("build-2") }

// lateLog is a log whose first put is on its way for long.
type lateLog struct {
	store.Log
	meanwhile func()
}

func (l *lateLog) Append(ctx context.Context, items ...store.Item) error {
	if do := l.meanwhile; do != nil {
		l.meanwhile = nil
		do()
	}
	return l.Log.Append(context.WithoutCancel(ctx), items...)
}

// A start that has read what was there, and is overtaken by its deletion and by another start, which finds nothing: one of
// the two opens a run, and the other finds it open. It is so whatever the first one read: the closed run, or the void one
// that takes its place until that expires.
func TestStartRacesWithDeletion(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"the closed run": 6 * day, "the void run": 9 * day, "the void run, expired": 30 * day} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				p := d.Start(turn.Options{}, counters()...)
				closeRun(t, p, "w")
				time.Sleep(before)
				var other error
				d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
					time.Sleep(3 * day) // it is deleted meanwhile, if it was not before
					for d.Store.DeleteExpired(func(int) int { return 0 }) {
					}
					_, other = turntest.Counter.Start(t.Context(), p.Client, "w", 1, workflow.StartOptions{})
				}}
				slow := d.Idle(turn.Options{}, counters()...)
				_, err := turntest.Counter.Start(context.Background(), slow.Client, "w", 2, workflow.StartOptions{})
				open := 0
				for _, run := range d.Runs("w") {
					if !run.State.Status.Closed() {
						open++
					}
				}
				if open != 1 || other != nil && err != nil {
					t.Errorf("%d runs are open: %v, %v; %v", open, other, err, d.Store.Dump("w"))
				}
			})
		})
	}
}

// A process that knew the run when it was open, and sleeps while others close and delete it, writes nothing to it.
func TestCachedRunIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		o := turn.Options{Retention: time.Minute, CheckEvery: time.Minute}
		p, cached := d.Start(o, counters()...), d.Idle(o, counters()...)
		if _, err := turntest.Counter.Start(t.Context(), cached.Client, "w", 5, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := turntest.Finish.Call(t.Context(), p.Client, "w", workflow.None{}, workflow.CallOptions{}); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			a := cached.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"input":1}`)
			if a.Status != http.StatusNotFound || a.Cost.Writes > 0 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
			time.Sleep(time.Minute)
		}
		isGone(t, cached, "w", "1-0000000000000000")
		if items := d.Store.Dump("w"); len(items) != 1 || items[0].Run != 2 {
			t.Errorf("%d items are left", len(items))
		}
	})
}

// scanFault is a scanner of which one write fails: it is refused, or applied in half, or applied and reported as failed.
type scanFault struct {
	store.Scanner
	number, count int
	fault         fault
}

func (s *scanFault) fails() bool {
	s.count++
	return s.count == s.number
}

func (s *scanFault) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	if !s.fails() {
		return s.Scanner.Delete(ctx, items, attempts)
	}
	switch s.fault {
	case refused:
		return store.ErrThrottled
	case dropped: // every other one is deleted
		var half []store.Item
		for i := 1; i < len(items); i += 2 {
			half = append(half, items[i])
		}
		items, attempts = half, nil
	}
	return errors.Join(s.Scanner.Delete(ctx, items, attempts), store.ErrUnknown)
}

func (s *scanFault) WriteMark(ctx context.Context, old, mark []byte) error {
	if !s.fails() {
		return s.Scanner.WriteMark(ctx, old, mark)
	}
	if s.fault == lost {
		return errors.Join(s.Scanner.WriteMark(ctx, old, mark), store.ErrUnknown)
	}
	return store.ErrUnknown
}

// Every write of a deletion fails, in three ways, and so does the put of the void run: nobody ever sees half a run, and a
// later round ends what was begun.
func TestEveryWriteOfADeletionFails(t *testing.T) {
	t.Parallel()
	writes := 0
	for number := 1; number <= writes || number == 1; number++ {
		for _, f := range []fault{refused, dropped, lost} {
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				scanner := &scanFault{Scanner: d.Store, number: number, fault: f}
				puts := &faulty{Ports: d.Ports, fault: f, number: number - 5} // the puts of the one that deletes
				d.Ports.Scanner = scanner
				p := d.Idle(turn.Options{}, counters()...)
				worker := d.Start(turn.Options{CheckEvery: 1000 * day}, counters()...)
				first := closeRun(t, p, "w")
				second := closeRun(t, p, "w")
				worker.Stop()
				d.Ports.Log = puts
				cleaner := d.Idle(turn.Options{}, counters()...)
				scanner.count = 0
				time.Sleep(7*day + time.Hour)
				for range 8 {
					time.Sleep(day)
					for range 3 {
						_, _ = cleaner.Service.Maintain(t.Context()) // it may fail: the next one goes on
						if a := p.Do(http.MethodGet, "/v1/workflows/w/result", ""); a.Status != http.StatusOK && a.Status != http.StatusNotFound {
							t.Errorf("%d %s", a.Status, a.Body)
						}
					}
				}
				isGone(t, p, "w", first)
				isGone(t, p, "w", second)
				if items := d.Store.Dump("w"); len(items) != 1 || items[0].Run != 3 {
					t.Errorf("write %d %v: %d items are left", number, f, len(items))
				}
				if number == 1 {
					writes = max(scanner.count, 6)
				}
			})
		}
	}
}

// Many runs are walked by in steps, whatever their length, and each is seen to its end: one that waits in vain among them.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Idle(turn.Options{CheckAtOnce: 1, CheckEvery: day}, counters()...)
		for i := range 40 {
			id := fmt.Sprintf("w%02d", i)
			if _, err := turntest.Counter.Start(t.Context(), p.Client, id, 10_000, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
			for range 7 * i {
				if _, err := turntest.Add.Call(t.Context(), p.Client, id, 1, workflow.CallOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if a := p.Do(http.MethodPost, "/v1/workflows/"+id+"/updates/nap", `{"input":"1m","waitFor":"accepted"}`); a.Status >= 300 {
				t.Fatalf("%d %s", a.Status, a.Body)
			}
		}
		purge(d)
		time.Sleep(2 * day)
		steps, sent := 0, 0
		for {
			did, err := p.Service.Maintain(t.Context())
			if err != nil || did.Commits > 250 {
				t.Fatalf("%+v, %v", did, err)
			}
			steps++
			if sent += did.Sent; did.Ended {
				break
			}
		}
		if sent != 40 || steps < 20 {
			t.Errorf("%d timers were sent again in %d steps, want 40 in more than 20", sent, steps)
		}
	})
}
