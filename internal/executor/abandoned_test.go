package executor_test

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
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

// An instance whose validator or handler was given up is unwound only after that code has returned.
// Until then the code may use state that deferred functions change. With the race detector, the
// test also finds any other use of the instance meanwhile.
func TestAbandonedInstanceIsUnwoundAfterItsCodeReturns(t *testing.T) {
	t.Parallel()
	for name, naps := range map[string]struct{ validator, handler time.Duration }{
		"validator": {validator: 3 * time.Second}, "handler": {handler: 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var back, unwound, early atomic.Int32
			code := workflow.Bind(hangs, func(ctx workflow.Context, _ workflow.None) (int, error) {
				workflow.Go(ctx, func(ctx workflow.Context) {
					defer func() {
						unwound.Add(1)
						if back.Load() == 0 {
							early.Add(1)
						}
					}()
					_ = workflow.Sleep(ctx, time.Hour)
				})
				hanging.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
					time.Sleep(naps.handler) //weftvet:ignore time the test needs slow code
					back.Add(1)
					return n, nil
				}, workflow.Validate(func(int) error {
					if time.Sleep(naps.validator); naps.validator > 0 { //weftvet:ignore time the test needs slow code
						defer back.Add(1)     //weftvet:ignore readonly the test counts
						_ = workflow.Now(ctx) //weftvet:ignore readonly a validator may not call this, however late
						return errors.New("the call was allowed")
					}
					return nil
				}))
				return 0, workflow.Await(ctx, func() bool { return back.Load() > 100 })
			}, workflow.Names(hanging))
			synctest.Test(t, func(t *testing.T) {
				p := testbed.New(t).Start(executor.Options{CheckLooks: 10}, code)
				if _, err := hangs.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				if _, err := p.Service.Update(t.Context(), "w", "", "hanging", schema.UpdateRequest{Input: []byte("1")}); !errors.Is(err, refusal.NotReady) {
					t.Errorf("answered %v; want 409", err)
				}
				if n := unwound.Load(); n != 0 {
					t.Errorf("%d coroutines were unwound before the code returned", n)
				}
				time.Sleep(time.Minute)
				if u, e := unwound.Load(), early.Load(); u != 1 || e != 0 {
					t.Errorf("%d coroutines were unwound, %d of them early; want one, after the code has returned", u, e)
				}
			})
		})
	}
}

// The instance of failed code is not kept, even if the put of its failure panics. The next reader
// rebuilds the run from the log.
func TestFailedCodeIsNotKept(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(){"panic": func() { panic("the store has a defect") }, "goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := workflow.Bind(tallies, func(ctx workflow.Context, _ workflow.None) (int, error) {
				n := 0
				tallySum.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
				tallyAdd.Handle(ctx, func(_ workflow.Context, by int) (int, error) {
					if n += by; by == 13 {
						panic(fmt.Sprint(by))
					}
					return n, nil
				})
				return 0, workflow.Await(ctx, func() bool { return false })
			}, workflow.Names(tallyAdd, tallySum))
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				hooks := d.Hook()
				p := d.Start(executor.Options{}, code)
				p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"tally"}`)
				fail := func() {
					hooks.Next(testbed.OnPut, func(func() error) error { end(); return nil })
					gone := make(chan struct{})
					go func() {
						defer close(gone)
						defer func() { _ = recover() }()
						p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"input":13}`)
					}()
					<-gone
				}
				fail()
				if a := p.Do(http.MethodPost, "/v1/workflows/w/queries/sum", ""); !strings.Contains(string(a.Body), `"result":0`) {
					t.Errorf("a query after that: %d %s; want 0", a.Status, a.Body)
				}
				fail()
				if a := p.Do(http.MethodPost, "/v1/workflows/w/updates/add", `{"input":1}`); !strings.Contains(string(a.Body), `"result":1`) {
					t.Errorf("an update after that: %d %s; want 1", a.Status, a.Body)
				}
			})
		})
	}
}
