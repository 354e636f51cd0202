package executor_test

import (
	"errors"
	"fmt"
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

// An update whose handler hangs is answered with 409 after one run of the code. Until the handler
// has returned, the same update is refused at once, and the code does not run.
func TestHungHandlerSentTwice(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	code := workflow.Bind(hangs, func(ctx workflow.Context, _ workflow.None) (int, error) {
		back := false
		hanging.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
			ran.Add(1)
			time.Sleep(time.Hour) //weftvet:ignore time the test needs code that hangs
			back = true
			return n, nil
		})
		return 0, workflow.Await(ctx, func() bool { return back })
	}, workflow.Names(hanging))
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, code)
		if _, err := hangs.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		limit := executor.Defaults().DeadlockAfter
		for sent := range 6 {
			round, wait := 1+sent/3, time.Duration(0)
			if sent%3 == 0 {
				wait = limit
			}
			began := time.Now()
			_, err := p.Service.Update(t.Context(), "w", "", "hanging", schema.UpdateRequest{UpdateID: fmt.Sprint("u", sent), Input: []byte("1")})
			if took := time.Since(began); !errors.Is(err, refusal.NotReady) || took != wait || int(ran.Load()) != round || p.Service.Hung() != round {
				t.Errorf("sending %d was answered after %v, with %d runs of the handler and %d hung: %v; want 409 after %v, and %d of each",
					sent, took, ran.Load(), p.Service.Hung(), err, wait, round)
			}
			if sent == 2 {
				time.Sleep(2 * time.Hour) // the handler returns
			}
		}
		time.Sleep(2 * time.Hour) // the handlers return, or the bubble would not end
	})
}
