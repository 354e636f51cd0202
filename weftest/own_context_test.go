package weftest_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/weftest"
	"github.com/seed-41655fb1/weft/workflow"
)

// An activity that returns the error of a context of its own, such as that of a call that it
// canceled, has failed and was not canceled. It is retried, local or not.
func TestAContextOfTheActivitysOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		givesUp := func(ctx context.Context, _ workflow.None) (int, error) {
			call, giveUp := context.WithCancel(ctx)
			giveUp()
			if n := activity.InfoOf(ctx).Attempt; n == 3 {
				return n, nil
			}
			return 0, fmt.Errorf("call: %w", call.Err())
		}
		far, near := activity.New("far", givesUp), activity.NewLocal("near", givesUp)
		typ := workflow.NewWorkflow[workflow.None, int]("caller")
		env := weftest.New(t, far, near, workflow.Bind(typ, func(ctx workflow.Context, in workflow.None) (int, error) {
			n, err := far.Run(ctx, in)
			if err != nil {
				return 0, err
			}
			m, err := near.Run(ctx, in)
			return n + m, err
		}))
		run, err := typ.Start(t.Context(), env.Client(), "w", workflow.None{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := run.Result(t.Context()); err != nil || n != 6 {
			t.Errorf("attempts %d in all, %v", n, err)
		}
	})
}
