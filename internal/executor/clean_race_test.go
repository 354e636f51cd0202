package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// counters are the workflows of these tests.
func counters() []workflow.Registration { return testbed.Workload("build-2") }

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

// oneIsOpen demands that one of two starts of workflow "w", which returned these errors, has opened
// a run.
func oneIsOpen(t *testing.T, d *testbed.Deployment, first, second error) {
	t.Helper()
	open := 0
	for _, run := range d.Runs("w") {
		if !run.State.Status.Closed() {
			open++
		}
	}
	if open != 1 || first != nil && second != nil {
		t.Errorf("%d runs are open: %v, %v; %v", open, first, second, d.Store.Dump("w"))
	}
}

// A start that has read the log is overtaken by a deletion, and by another start that finds
// nothing. One of the two starts opens a run, and the other finds it open. It makes no difference
// whether the first start has read the closed run or the void run that replaces it until it
// expires.
func TestStartRacesWithDeletion(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"the closed run": 6 * day, "the void run": 9 * day, "the void run, expired": 30 * day} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				p := d.Start(executor.Options{}, counters()...)
				closeRun(t, p, "w")
				time.Sleep(before)
				var other error
				d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
					time.Sleep(3 * day) // the run is deleted meanwhile, if it was not before
					for d.Store.DeleteExpired(func(int) int { return 0 }) {
					}
					_, other = testbed.Counter.Start(t.Context(), p.Client, "w", 1, workflow.StartOptions{})
				}}
				slow := d.Idle(executor.Options{}, counters()...)
				_, err := testbed.Counter.Start(context.Background(), slow.Client, "w", 2, workflow.StartOptions{})
				oneIsOpen(t, d, other, err)
			})
		})
	}
}

// This is TestStartRacesWithDeletion with a slow start whose number is below a void run: two starts
// and a message made runs 2 and 3 void, and run 2 has expired. The model found this (proof/model,
// shape "deletion").
func TestStartBelowAVoidRunRacesWithDeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Start(executor.Options{}, counters()...)
		closeRun(t, p, "w")
		time.Sleep(6 * day)
		var other error
		d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
			if err := d.Store.Append(t.Context(), voidRun(t, "w", 3, 10*day)); err != nil {
				t.Error(err)
			}
			time.Sleep(3 * day) // run 1 is deleted meanwhile
			_, other = testbed.Counter.Start(t.Context(), p.Client, "w", 1, workflow.StartOptions{})
		}}
		slow := d.Idle(executor.Options{}, counters()...)
		_, err := testbed.Counter.Start(context.Background(), slow.Client, "w", 2, workflow.StartOptions{})
		oneIsOpen(t, d, other, err)
	})
}

// voidRun returns the only item of a void run, which expires after some time.
func voidRun(t *testing.T, workflowID string, number uint32, expires time.Duration) store.Item {
	t.Helper()
	now := time.Now()
	c := engine.NewRun(workflowID, number).Fence(&engine.Writer{Commit: history.CommitID{1}, RunID: history.NewRunID(number, [8]byte{1}), Now: history.At(now)})
	c.Expires = history.At(now.Add(expires))
	body, err := history.Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return store.Item{Key: store.Key{Workflow: workflowID, Run: number}, Commit: c.ID, Body: body, Expires: now.Add(expires)}
}

// The message of a start is not deleted while the start's put is under way. The process that
// receives it has seen a void run with the same number, which was deleted since. Without the
// message, the run would wait for the slow check.
func TestMessageOfARunWhoseNumberWasVoid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		code := []workflow.Registration{workflow.Bind(expType, runExp), expFlaky}
		p := d.Idle(executor.Options{}, code...)
		if _, err := expType.Start(ctx, p.Client, "w", 0); err != nil {
			t.Fatal(err)
		}
		d.Drain(ctx, func(string) *testbed.Process { return p })
		makeVoid(t, d, "w")
		if result, err := expType.Get(p.Client, "w").Result(ctx); result != "ok" || err != nil {
			t.Fatal(result, err)
		}
		for _, item := range d.Store.Dump("w") {
			if item.Run != 2 {
				continue
			}
			if err := d.Store.Delete(ctx, []store.Item{item}, nil); err != nil {
				t.Fatal(err)
			}
		}
		d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
			if err := deliverActivity(t, d, p, 1); err != nil {
				t.Error(err)
			}
		}}
		starter := d.Idle(executor.Options{}, code...)
		if _, err := expType.Start(ctx, starter.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		d.Drain(ctx, func(string) *testbed.Process { return p })
		if state := d.Runs("w")[1].State; state.Status != history.Completed {
			t.Errorf("the run is %s: its message was deleted before its put landed", state.Status)
		}
	})
}

// A process that holds an open run, and sleeps while others close and delete that run, writes
// nothing to it.
func TestCachedRunIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		o := executor.Options{Retention: time.Minute, CheckEvery: time.Minute}
		p, cached := d.Start(o, counters()...), d.Idle(o, counters()...)
		if _, err := testbed.Counter.Start(t.Context(), cached.Client, "w", 5, workflow.StartOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := testbed.Finish.Call(t.Context(), p.Client, "w", workflow.None{}, workflow.CallOptions{}); err != nil {
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
		if items := d.Store.Dump("w"); len(items) != 1 || items[0].Run != 1 || items[0].Expires.IsZero() {
			t.Errorf("%d items are left", len(items))
		}
	})
}

// cleanFault is the store of a process that deletes, with one failing write. The write is refused,
// not applied or applied in half, or applied and reported as failed.
type cleanFault struct {
	store.Log
	store.Scanner
	number, count int
	fault         fault
}

func (s *cleanFault) fails() bool {
	s.count++
	return s.count == s.number
}

func (s *cleanFault) Append(ctx context.Context, items ...store.Item) error {
	switch {
	case !s.fails():
		return s.Log.Append(ctx, items...)
	case s.fault == refused:
		return store.ErrThrottled
	case s.fault == lost:
		_ = s.Log.Append(ctx, items...)
	}
	return store.ErrUnknown
}

func (s *cleanFault) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	if !s.fails() {
		return s.Scanner.Delete(ctx, items, attempts)
	}
	switch s.fault {
	case refused:
		return store.ErrThrottled
	case dropped: // every second item is deleted
		var half []store.Item
		for i := 1; i < len(items); i += 2 {
			half = append(half, items[i])
		}
		items, attempts = half, nil
	}
	return errors.Join(s.Scanner.Delete(ctx, items, attempts), store.ErrUnknown)
}

func (s *cleanFault) WriteMark(ctx context.Context, old, mark []byte) error {
	if !s.fails() {
		return s.Scanner.WriteMark(ctx, old, mark)
	}
	if s.fault == lost {
		return errors.Join(s.Scanner.WriteMark(ctx, old, mark), store.ErrUnknown)
	}
	return store.ErrUnknown
}

// Each write of a deletion fails in three ways. No reader ever sees half a run, and a later round
// completes the deletion.
func TestEveryWriteOfADeletionFails(t *testing.T) {
	t.Parallel()
	writes := 1
	for number := 0; number <= writes; number++ { // none fails at first
		for _, f := range faults(number) {
			synctest.Test(t, func(t *testing.T) {
				d := maintained(t)
				failing := &cleanFault{Log: d.Store, Scanner: d.Store, number: number, fault: f}
				p := d.Idle(executor.Options{}, counters()...)
				worker := d.Start(executor.Options{CheckEvery: 1000 * day}, counters()...)
				first := closeRun(t, p, "w")
				second := closeRun(t, p, "w")
				worker.Stop()
				d.Ports.Log, d.Ports.Scanner = failing, failing
				cleaner := d.Idle(executor.Options{}, counters()...)
				time.Sleep(7*day + time.Hour)
				for range 8 {
					time.Sleep(day)
					for range 3 {
						_, _ = cleaner.Service.Service.Maintenance.Maintain(t.Context()) // the round may fail, and the next one continues
						if a := p.Do(http.MethodGet, "/v1/workflows/w/result", ""); a.Status != http.StatusOK && a.Status != http.StatusNotFound {
							t.Errorf("%d %s", a.Status, a.Body)
						}
					}
				}
				isGone(t, p, "w", first)
				isGone(t, p, "w", second)
				// The void commit in the place of the second run is left, and that of the first run
				// if that was deleted later.
				items := d.Store.Dump("w")
				if len(items) == 0 || items[len(items)-1].Run != 2 || slices.ContainsFunc(items, func(i store.Item) bool { return i.Expires.IsZero() }) {
					t.Errorf("write %d (%v): %v are left", number, f, items)
				}
				if number == 0 {
					writes = failing.count
				}
			})
		}
	}
}

// The check passes many runs in steps, whatever their length. It reads each to its end, including a
// run whose message is lost.
func TestStepsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := maintained(t)
		p := d.Idle(executor.Options{CheckAtOnce: 1, CheckEvery: day}, counters()...)
		each, least := shortform.Or(7, 3), shortform.Or(20, 9) // updates, and steps
		for i := range 40 {
			id := fmt.Sprintf("w%02d", i)
			if _, err := testbed.Counter.Start(t.Context(), p.Client, id, 10_000, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
			for range each * i {
				if _, err := testbed.Add.Call(t.Context(), p.Client, id, 1, workflow.CallOptions{}); err != nil {
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
			did, err := p.Service.Service.Maintenance.Maintain(t.Context())
			if err != nil || did.Commits > 250 {
				t.Fatalf("%+v, %v", did, err)
			}
			steps++
			if sent += did.Sent; did.Ended {
				break
			}
		}
		if sent != 40 || steps < least {
			t.Errorf("%d timers were sent again in %d steps, want 40 in at least %d", sent, steps, least)
		}
	})
}
