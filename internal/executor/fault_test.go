package executor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// fault is one way in which a write fails.
type fault int

const (
	refused fault = iota // not applied, and reported
	dropped              // not applied, and reported as unknown
	lost                 // applied, and reported as failed
)

func (f fault) String() string {
	return [...]string{"refused", "not applied, no answer", "applied, no answer"}[f]
}

// faulty passes writes on, and fails the one with this number in this way.
type faulty struct {
	executor.Ports
	mu     sync.Mutex
	number int
	fault  fault
	count  int
	hit    string
}

// write applies a write, or fails it.
func (f *faulty) write(what string, apply func() error) error {
	f.mu.Lock()
	f.count++
	fails := f.count == f.number
	if fails {
		f.hit = what
	}
	f.mu.Unlock()
	if !fails {
		return apply()
	}
	switch f.fault {
	case refused:
		return store.ErrThrottled
	case dropped:
		return store.ErrUnknown
	}
	_ = apply()
	return store.ErrUnknown
}

// written returns how many writes have passed.
func (f *faulty) written() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.count
}

func (f *faulty) Append(ctx context.Context, items ...store.Item) error {
	return f.write(fmt.Sprintf("put of %s", items[0].Key), func() error { return f.Ports.Log.Append(ctx, items...) })
}

func (f *faulty) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	return f.Ports.Log.Backward(ctx, workflow, before, until, limit)
}

func (f *faulty) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return f.Ports.Log.Forward(ctx, from, limit)
}

func (f *faulty) RecordAttempt(ctx context.Context, a store.Attempt) error {
	return f.write("record of an attempt", func() error { return f.Ports.Attempts.RecordAttempt(ctx, a) })
}

func (f *faulty) ReadAttempts(ctx context.Context, workflow string, run uint32) ([]store.Attempt, error) {
	return f.Ports.Attempts.ReadAttempts(ctx, workflow, run)
}

func (f *faulty) PutTimers(ctx context.Context, timers []store.Timer) error {
	return f.write("put of timers", func() error { return f.Ports.Timers.PutTimers(ctx, timers) })
}

func (f *faulty) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	return f.Ports.Timers.DueTimers(ctx, before, limit)
}

func (f *faulty) DeleteTimers(ctx context.Context, timers []store.Timer) error {
	return f.write("delete of timers", func() error { return f.Ports.Timers.DeleteTimers(ctx, timers) })
}

func (f *faulty) Reserve(ctx context.Context, s store.Reservation) (at time.Time, err error) {
	err = f.write("slot", func() (err error) {
		at, err = f.Ports.Rates.Reserve(ctx, s)
		return err
	})
	return at, err
}

func (f *faulty) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return f.write("send to "+name, func() error { return f.Ports.Queue.Send(ctx, name, messages...) })
}

// The workflow of this test causes every kind of write.
var (
	faultType = workflow.NewWorkflow[int, string]("fault")
	faultAdd  = workflow.NewUpdate[int, int]("add")
	faultWork = workflow.NewUpdate[int, string]("work")
	faultNote = workflow.NewSignal[string]("note")
)

func faultRun(ctx workflow.Context, n int) (string, error) {
	sum, text, notes := 0, "", 0
	faultAdd.Handle(ctx, func(_ workflow.Context, by int) (int, error) {
		sum += by
		return sum, nil
	}, workflow.Validate(func(by int) error {
		if by > 100 {
			return errors.New("too much")
		}
		return nil
	}))
	faultWork.Handle(ctx, func(ctx workflow.Context, i int) (string, error) { return faultOnce.Run(ctx, i) })
	var group workflow.WaitGroup
	results := make([]string, n)
	for i := range n {
		group.Go(ctx, func(ctx workflow.Context) { results[i], _ = faultOnce.Run(ctx, i) })
	}
	if err := group.Wait(ctx); err != nil {
		return "", err
	}
	flaky, err := faultFlaky.Run(ctx, 0)
	if err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, time.Minute); err != nil {
		return "", err
	}
	if err := workflow.Sleep(ctx, 3*time.Hour); err != nil {
		return "", err
	}
	for notes < 2 {
		t, err := faultNote.Receive(ctx)
		if err != nil {
			return "", err
		}
		text += t
		notes++
	}
	return fmt.Sprint(results, flaky, sum, text), workflow.AwaitHandlers(ctx)
}

var (
	faultOnce  = activity.New("once", func(_ context.Context, i int) (string, error) { return fmt.Sprint("r", i), nil })
	faultFlaky = activity.New("flaky", func(ctx context.Context, _ int) (string, error) {
		if activity.InfoOf(ctx).Attempt == 1 {
			return "", errors.New("the first attempt fails")
		}
		return "ok", nil
	})
)

// faultScenario plays the workflow with callers who retry, and returns everything that they saw.
func faultScenario(t *testing.T, p *testbed.Process) (seen []string) {
	t.Helper()
	ctx := context.Background()
	note := func(what string, v any, err error) {
		var rejected *client.Rejected
		if errors.As(err, &rejected) {
			v, err = "rejected", nil
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		seen = append(seen, fmt.Sprint(what, " ", v))
	}
	run, err := faultType.Start(ctx, p.Client, "w", 3, workflow.StartOptions{RequestID: "start", RunTimeout: 48 * time.Hour})
	note("start", "", err)
	total, err := faultAdd.Call(ctx, p.Client, "w", 5, workflow.CallOptions{ID: "add-1"})
	note("add", total, err)
	_, err = faultAdd.Call(ctx, p.Client, "w", 500, workflow.CallOptions{ID: "add-2"})
	note("add too much", "", err)
	worked, err := faultWork.Call(ctx, p.Client, "w", 7, workflow.CallOptions{ID: "work-1"})
	note("work", worked, err)
	note("signal", "", faultNote.Send(ctx, p.Client, "w", "a"))
	time.Sleep(4 * time.Hour)
	note("signal", "", faultNote.Send(ctx, p.Client, "w", "b"))
	result, err := run.Result(ctx)
	note("result", result, err)
	_, err = faultType.Start(ctx, p.Client, "w", 0, workflow.StartOptions{RequestID: "start"})
	note("start again", "", err)
	return seen
}

// playFault plays the scenario with one failing write, and checks the outcome. The activities have
// a rate, and most of them wait for it.
func playFault(t *testing.T, number int, f fault) (seen []string, count int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		ports := &faulty{Ports: d.Ports, number: number, fault: f}
		d.Ports = executor.Ports{Log: ports, Attempts: ports, Timers: ports, Lister: d.Store, Rates: ports, Queue: ports}
		registrations := []workflow.Registration{workflow.Bind(faultType, faultRun, workflow.Names(faultAdd, faultWork, faultNote)), faultOnce, faultFlaky}
		p := d.Start(executor.Options{Rate: func(string) limits.Rate { return limits.Rate{PerSecond: 0.5} }}, registrations...)
		seen, count = faultScenario(t, p), ports.written()
		// A cold process sees the same.
		p.Stop()
		fresh := d.Idle(executor.Options{}, registrations...)
		if result, err := faultType.Get(fresh.Client, "w").Result(context.Background()); err != nil || seen[len(seen)-2] != fmt.Sprint("result ", result) {
			t.Errorf("after a restart the result is %q, %v", result, err)
		}
		d.Replay(registrations...)
		if t.Failed() {
			t.Logf("write %d failed (%v): %s", number, f, ports.hit)
		}
	})
	return seen, count
}

// Each write of the scenario fails in three ways. Callers see what they see without a failure.
func TestEveryWriteFails(t *testing.T) {
	want, count := playFault(t, 0, refused)
	if count < 20 {
		t.Fatalf("the scenario has only %d writes", count)
	}
	t.Logf("the scenario has %d writes", count)
	for number := 1; number <= count; number++ {
		for _, f := range faults(number) {
			got, _ := playFault(t, number, f)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("with write %d failing (%v) callers saw\n%q\nwant\n%q", number, f, got, want)
			}
		}
	}
}

// A start whose put is refused or panics leaves no goroutine of the workflow: the code that has
// begun is unwound.
func TestStartsThatFailLeaveNoCode(t *testing.T) {
	t.Parallel()
	for _, fault := range []testbed.Hook{testbed.Faults["throttle"](), func(func() error) error { panic("the adapter has a mistake") }} {
		synctest.Test(t, func(t *testing.T) { failStarts(t, fault) })
	}
}

func failStarts(t *testing.T, fault testbed.Hook) {
	var began, ended int
	d := testbed.New(t)
	hooks := d.Hook()
	p := d.Start(executor.Options{}, workflow.Bind(parent, func(ctx workflow.Context, _ string) (string, error) {
		began++
		defer func() { ended++ }()
		return "", workflow.Sleep(ctx, time.Hour)
	}))
	hooks.Always(testbed.OnPut, fault)
	for range 5 {
		func() {
			defer func() { _ = recover() }() // as an HTTP server does
			if _, err := parent.Start(t.Context(), p.Client, "p", ""); err == nil {
				t.Error("a start succeeded although its put was refused")
			}
		}()
	}
	if began == 0 || ended != began {
		t.Errorf("%d instances began, and %d were unwound", began, ended)
	}
}
