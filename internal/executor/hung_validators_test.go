package executor_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

var (
	hangs   = workflow.NewWorkflow[workflow.None, int]("hangs")
	hanging = workflow.NewUpdate[int, int]("hanging")
	healthy = workflow.NewUpdate[time.Duration, int]("healthy")
	broken  = workflow.NewUpdate[int, int]("broken")
)

// hangingTestbed calls fn with a process that has one run, w. The run has three updates:
//   - The validator of "hanging" does not return.
//   - The handler of "healthy" takes as long as its input says.
//   - The handler of "broken" takes a second, and panics.
func hangingTestbed(t *testing.T, fn func(t *testing.T, p *hangingProcess)) {
	t.Parallel()
	broke := &atomic.Int32{}
	code := workflow.Bind(hangs, func(ctx workflow.Context, _ workflow.None) (int, error) {
		count := 0
		broken.Handle(ctx, func(workflow.Context, int) (int, error) {
			broke.Add(1)
			time.Sleep(time.Second) //weftvet:ignore time the test needs slow code
			panic("a bug")
		})
		hanging.Handle(ctx, func(workflow.Context, int) (int, error) { return 0, nil }, workflow.Validate(func(int) error {
			time.Sleep(time.Hour) //weftvet:ignore time the test needs code that hangs
			return nil
		}))
		healthy.Handle(ctx, func(_ workflow.Context, d time.Duration) (int, error) {
			time.Sleep(d) //weftvet:ignore time the test needs slow code
			count++
			return count, nil
		})
		return 0, workflow.Await(ctx, func() bool { return false })
	}, workflow.Names(broken, hanging, healthy))
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		p := &hangingProcess{t: t, broke: broke, hooks: d.Hook(), Process: d.Start(executor.Options{}, code)}
		if _, err := hangs.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		fn(t, p)
		p.group.Wait()
		time.Sleep(2 * time.Hour) // the validators return, or the bubble would not end
	})
}

type hangingProcess struct {
	t *testing.T
	*testbed.Process
	hooks *testbed.Hooks
	group sync.WaitGroup
	broke *atomic.Int32 // how often the handler of "broken" has run
}

// send sends an update, and returns the answer and the time that it took.
func (p *hangingProcess) send(name, id, input string, timeout ...time.Duration) (*schema.UpdateResponse, time.Duration, error) {
	r := schema.UpdateRequest{UpdateID: id, Input: []byte(input)}
	for _, d := range timeout {
		r.Timeout = (*schema.Duration)(&d)
	}
	began := time.Now()
	a, err := p.Service.Update(p.t.Context(), "w", "", name, r)
	return a, time.Since(began), err
}

// hang sends n updates whose validator hangs, one after the other and then in parallel. It demands
// that each is answered in time.
func (p *hangingProcess) hang(n int) {
	late := executor.Defaults().SoftLimit + time.Second
	for i := range n {
		p.group.Go(func() {
			_, took, err := p.send(hanging.Name(), fmt.Sprint("h", i), "1")
			inTime := errors.Is(err, refusal.NotReady) || errors.Is(err, refusal.Busy) || errors.Is(err, refusal.OutcomeUnknown)
			if took > late || !inTime {
				p.t.Errorf("caller %d was answered after %v: %v", i, took, err)
			}
		})
		synctest.Wait()
	}
}

// However many updates with a hanging validator are sent, only one validator runs. Every caller is
// answered in time, and callers of other updates at once, with the reason. The run continues when
// the validator has returned.
func TestOthersBesideValidatorsThatHang(t *testing.T) {
	hangingTestbed(t, func(t *testing.T, p *hangingProcess) {
		p.hang(64)
		p.group.Wait()
		for range 20 {
			a, took, err := p.send(healthy.Name(), "", "0")
			if !errors.Is(err, refusal.NotReady) || !strings.Contains(err.Error(), "a validator of this run has not come back since") || took != 0 {
				t.Errorf("an update whose validator does not hang: %+v, %v, after %v; want 409 with the reason at once", a, err, took)
			}
			time.Sleep(300 * time.Millisecond)
		}
		if n := p.Service.Hung(); n != 1 {
			t.Errorf("%d validators hang, want one", n)
		}
		time.Sleep(2 * time.Hour)
		if a, took, err := p.send(healthy.Name(), "", "0"); err != nil || string(a.Result) != "1" || took != 0 {
			t.Errorf("an update after the validator has returned: %+v, %v, after %v", a, err, took)
		}
	})
}

// The same holds if all those updates wait behind another update and form a batch.
func TestValidatorsThatHangTogether(t *testing.T) {
	hangingTestbed(t, func(t *testing.T, p *hangingProcess) {
		p.group.Go(func() { _, _, _ = p.send(healthy.Name(), "", "100000000") })
		synctest.Wait()
		p.hang(64)
	})
}

// An update of a failed batch is to be carried out alone. If its caller's time has passed by then,
// it is not carried out, because nobody waits for it.
func TestCallerGoneBeforeItsUpdateRunsAlone(t *testing.T) {
	hangingTestbed(t, func(t *testing.T, p *hangingProcess) {
		for i := range 2 { // the second waits behind the first, and takes the next updates into its batch
			p.group.Go(func() {
				if _, _, err := p.send(broken.Name(), fmt.Sprint("b", i), "1"); !errors.Is(err, refusal.NotReady) {
					t.Errorf("caller %d was answered %v", i, err)
				}
			})
			synctest.Wait()
		}
		p.group.Go(func() {
			if _, took, err := p.send(broken.Name(), "short", "1", 1500*time.Millisecond); !errors.Is(err, refusal.OutcomeUnknown) || took != 1500*time.Millisecond {
				t.Errorf("the caller with a short timeout was answered after %v: %v", took, err)
			}
		})
		p.group.Wait()
		if n := p.broke.Load(); n != 3 {
			t.Errorf("%d handlers ran, want 3: one for each update alone, and one in the batch", n)
		}
		if a, took, err := p.send(healthy.Name(), "", "0"); err != nil || took != 0 {
			t.Errorf("another update: %+v, %v, after %v", a, err, took)
		}
	})
}

// If a store panics under a batch, all updates of the batch are answered with an unknown outcome.
func TestPanicUnderUpdatesTakenAlong(t *testing.T) {
	hangingTestbed(t, func(t *testing.T, p *hangingProcess) {
		p.group.Go(func() { _, _, _ = p.send(healthy.Name(), "first", "1000000000") })
		synctest.Wait()
		panicked := make(chan any, 1)
		p.group.Go(func() {
			defer func() { panicked <- recover() }()
			_, _, _ = p.send(healthy.Name(), "holder", "0")
		})
		synctest.Wait()
		p.group.Go(func() {
			if a, _, err := p.send(healthy.Name(), "along", "0"); !errors.Is(err, refusal.OutcomeUnknown) {
				t.Errorf("%+v, %v; want an unknown outcome", a, err)
			}
		})
		synctest.Wait()
		p.hooks.Next(testbed.OnPut, func(put func() error) error { return put() })
		p.hooks.Next(testbed.OnPut, func(func() error) error { panic("the store has a defect") })
		p.group.Wait()
		if <-panicked == nil {
			t.Error("the store's panic did not reach the caller")
		}
	})
}
