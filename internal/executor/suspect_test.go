package executor_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/crash"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
)

// later is a recorder that is set after the process has started.
type later struct{ runner.Recorder }

// An attempt that was recorded as interrupted does not run afterwards.
func TestSlowWritesBeforeASuspect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		in := &later{&steps{}}
		d.recorder = in
		var ran time.Time
		d.do = func(context.Context) (string, error) { ran = time.Now(); return "done", nil }
		p := d.start(activity.Options{StartToClose: 10 * time.Second, Retry: activity.Retry{MaxAttempts: 1}})
		got := d.receive(queue.Activities)
		m, err := outbox.Decode(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		own := runner.CodeRef{Kind: runner.CodeActivity, WorkflowID: m.WorkflowID, RunID: m.RunID, Part: uint64(m.EventID)}
		dir := t.TempDir()
		before, err := crash.Open(dir, "b1", slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var others []runner.CodeRef
		before.Begin(own, runner.NoTurn)
		for i := range 30 {
			others = append(others, runner.CodeRef{Kind: runner.CodeActivity, WorkflowID: fmt.Sprint("long-", i), RunID: m.RunID, Part: 5})
			before.Begin(others[i], runner.NoTurn)
		}
		r, err := crash.Open(dir, "b1", slog.New(slog.DiscardHandler)) // after its death
		if err != nil {
			t.Fatal(err)
		}
		in.Recorder = r
		extend := func(ctx context.Context, name, receipt string, lease time.Duration) error {
			time.Sleep(6 * time.Second) // the disk is slow
			return d.Queue.Extend(ctx, name, receipt, lease)
		}
		go d.handWith(p, queue.Activities, got, extend)
		synctest.Wait()
		for _, c := range others {
			go func() {
				n := r.Begin(c, r.Await(c))
				time.Sleep(10 * time.Minute)
				r.End(n)
			}()
		}
		var closed time.Time
		for range 40 {
			time.Sleep(5 * time.Second)
			d.Queue.Tick()
			if _, err := p.Service.Service.Deliveries.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			d.DrainFor(t.Context(), time.Second, func(string) *testbed.Process { return p })
			if closed.IsZero() && d.outcome(p) != "open" {
				closed = time.Now()
			}
		}
		time.Sleep(time.Hour)
		if !closed.IsZero() && ran.After(closed) {
			t.Errorf("the code ran %v after the attempt had been recorded as interrupted", ran.Sub(closed))
		}
		if ran.IsZero() {
			t.Error("the attempt did not run")
		}
	})
}

// newRecorded returns tries whose processes have a recorder that counts no records of attempts.
func newRecorded(t *testing.T) (*tries, *steps) {
	d, s := newTries(t), &steps{marks: func() int { return 0 }}
	d.recorder = s
	return d, s
}

// An attempt whose writes panic gives its turn back.
func TestPanicBeforeAnAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, s := newRecorded(t)
		p := d.start(activity.Options{})
		m := d.receive(queue.Activities)
		extend := func(context.Context, string, string, time.Duration) error { panic("the queue has a defect") }
		func() {
			defer func() { _ = recover() }()
			d.handWith(p, queue.Activities, m, extend)
		}()
		if want := []string{"await 0", "leave 0"}; !slices.Equal(s.all, want) {
			t.Errorf("the recorder saw %v, want %v", s.all, want)
		}
	})
}

// The recorder lists an attempt that was given up until its code returns.
func TestHungAttemptStaysRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, s := newRecorded(t)
		returned := make(chan struct{})
		d.do = func(context.Context) (string, error) {
			defer close(returned)
			time.Sleep(time.Minute) // it does not heed the end of its context
			s.add("returns", runner.CodeRef{Kind: runner.CodeActivity})
			return "done", nil
		}
		p := d.start(activity.Options{StartToClose: time.Second, Retry: activity.Retry{MaxAttempts: 1}})
		d.hand(p, queue.Activities, d.receive(queue.Activities))
		<-returned
		synctest.Wait()
		if want := []string{"await 0", "begin 0", "leave 0", "returns 0", "end 0"}; !slices.Equal(s.all, want) {
			t.Errorf("the recorder saw %v, want %v", s.all, want)
		}
	})
}
