package executor_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// A put that closes a run and opens the next panics. The process keeps nothing of the next run in
// memory: neither a later refusal nor a later commit comes from that run's code.
func TestPanicInThePutOfTwoRuns(t *testing.T) {
	t.Parallel()
	chain, turnOver := workflow.NewWorkflow[int, int]("chain"), workflow.NewUpdate[int, int]("turnOver")
	code := workflow.Bind(chain, func(ctx workflow.Context, generation int) (int, error) {
		over := false
		turnOver.Handle(ctx, func(_ workflow.Context, n int) (int, error) {
			over = n == 9
			return generation, nil
		}, workflow.Validate(func(n int) error {
			if n < 0 {
				return fmt.Errorf("generation %d", generation)
			}
			return nil
		}))
		if err := workflow.Await(ctx, func() bool { return over }); err != nil {
			return 0, err
		}
		return chain.ContinueAsNew(ctx, generation+1)
	}, workflow.Names(turnOver))
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		hooks := d.Hook()
		p := d.Start(executor.Options{}, code)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"w","type":"chain","input":0}`)
		send := func(input string) *testbed.Answer {
			return p.Do(http.MethodPost, "/v1/workflows/w/updates/turnOver", `{"input":`+input+`}`)
		}
		hooks.Next(testbed.OnPut, func(func() error) error { panic("the store has a defect") })
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the store's panic did not reach the caller")
				}
			}()
			send("9")
		}()
		if a := send("-1"); a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Body), "generation 0") {
			t.Errorf("a refusal: %d %s; want one of generation 0", a.Status, a.Body)
		}
		if a := send("1"); a.Status != http.StatusOK || !strings.Contains(string(a.Body), `"result":0`) {
			t.Errorf("an update: %d %s; want the result 0", a.Status, a.Body)
		}
	})
}
