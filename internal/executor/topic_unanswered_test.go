package executor_test

import (
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
)

// The first batch of an execution lands, and its put is not answered. The execution fails for good.
// Its failure goes through the workflow's queue, where the batch in the log is its own: the
// activity has failed, and its attempt is not made again.
func TestAFinalFailureAfterABatchWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		x := newExecutions(t, true)
		landed := false
		x.play("0 begin")
		x.hooks.Always(testbed.OnPut, func(do func() error) error {
			if !landed {
				landed = true
				_ = do()
			}
			return store.ErrUnknown
		})
		x.play("0 publish a !not known")
		x.hooks.Always(testbed.OnPut, nil)
		x.play("0 final broken")
		if n := x.results(); n != 1 {
			t.Fatalf("%d results", n)
		}
		x.check("broken", "0a1")
	})
}
