package executor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// An attempt goes on outside, and its function returns when its time is just over, as one that
// succeeds may. It is not made again, and its items are published.
func TestPendingWhenTheTimeIsOver(t *testing.T) {
	t.Parallel()
	for _, collects := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d, attempts, token := testbed.New(t), atomic.Int32{}, make(chan string, 10)
			p := d.Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
				attempts.Add(1)
				made, err := activity.Token(ctx)
				if err != nil {
					return "", err
				}
				token <- made
				time.Sleep(9500 * time.Millisecond)
				if collects {
					if err := activity.Publisher(ctx, tokensOf).Add("a"); err != nil {
						return "", err
					}
				}
				time.Sleep(time.Second)
				return "", activity.ErrPending
			}, activity.Options{StartToClose: 10 * time.Second, Pending: time.Hour})...)
			run, err := streaming.Start(t.Context(), p.Client, "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Minute)
			if err := p.Client.CompleteActivity(t.Context(), <-token, []byte(`"done"`)); err != nil {
				t.Fatal(err, " after attempts: ", attempts.Load(), " collects: ", collects)
			}
			if result, err := run.Result(t.Context()); err != nil || result != "done" || attempts.Load() != 1 {
				t.Errorf("%q, %v of %d attempts", result, err, attempts.Load())
			}
			items, _ := itemsRead(t, p.Client, "s")
			if collects != (len(items) == 1) {
				t.Errorf("the items are %v", items)
			}
		})
	}
}
