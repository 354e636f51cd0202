package flow_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/workflow"
)

// bank is what the activities of the workflow payer ask.
type bank struct {
	down  atomic.Bool
	calls atomic.Int64
	of    sync.Map // by the activity's input
}

var payer = workflow.NewWorkflow[int, string]("payer")

// registrations returns a workflow with so many activities at once, each of which fails while the
// bank is down, and is then retried after an hour.
func (b *bank) registrations() []workflow.Registration {
	charge := activity.New("charge", func(_ context.Context, n int) (string, error) {
		b.of.Store(n, true)
		if b.calls.Add(1); b.down.Load() {
			return "", errors.New("the bank is down")
		}
		return "paid", nil
	}, activity.Options{Retry: activity.Retry{InitialInterval: time.Hour}})
	return []workflow.Registration{charge, workflow.Bind(payer, func(ctx workflow.Context, n int) (string, error) {
		if n == 0 {
			return "", workflow.Sleep(ctx, 24*time.Hour)
		}
		var charges []workflow.Future[string]
		for i := range n {
			charges = append(charges, charge.Start(ctx, i))
		}
		for _, f := range charges {
			if _, err := f.Get(ctx); err != nil {
				return "", err
			}
		}
		return "paid", nil
	})}
}

// outage starts payers, each with a number of charges, while the bank is down. It returns when
// their activities back off.
func outage(t *testing.T, charges map[string]int) (*bank, *testbed.Process) {
	t.Helper()
	b := &bank{}
	b.down.Store(true)
	p := testbed.New(t).Start(executor.Options{}, b.registrations()...)
	for id, n := range charges {
		if _, err := payer.Start(t.Context(), p.Client, id, n); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(time.Minute)
	return b, p
}

var retries = &client.BatchAction{Kind: "retry"}

// After an outage, a batch retries each activity that backs off now. A run without one that is not
// stuck counts as already.
func TestRetriesActivities(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, p := outage(t, map[string]int{"waits": 0, "one": 1, "three": 3})
		b.down.Store(false)
		if n := b.calls.Load(); n != 4 {
			t.Fatalf("%d attempts were made", n)
		}
		got := ended(t, begin(t, p, client.BatchOptions{Filter: "WorkflowType = 'payer'", Action: retries}))
		if want := (schema.BatchCounts{Matched: 3, Done: 2, Already: 1}); got.Counts != want {
			t.Errorf("%+v, %v, want %+v", got.Counts, got.Problems, want)
		}
		time.Sleep(time.Second)
		if n, err := p.Count(t.Context(), client.CountOptions{Filter: "WorkflowType = 'payer' AND ExecutionStatus = 'Completed'"}); err != nil || n.Count != 2 || b.calls.Load() != 8 {
			t.Errorf("%+v, %v, %d attempts", n, err, b.calls.Load())
		}
		again := ended(t, begin(t, p, client.BatchOptions{Filter: "WorkflowType = 'payer'", Action: retries}))
		if want := (schema.BatchCounts{Matched: 3, Already: 3}); again.Counts != want {
			t.Errorf("once more: %+v, %v, want %+v", again.Counts, again.Problems, want)
		}
	})
}

// A batch retries up to 300 activities of a run, in three tries. If more back off then, the run
// counts as failed, and the reason says what to do. Those that fail again at once do not keep the
// others from their turn.
func TestRetriesManyActivities(t *testing.T) {
	t.Parallel()
	const more = "Busy: 100 activities of the run begin their next attempts now, and 10 more wait for theirs: retry it again for those"
	for _, c := range []struct {
		activities int
		down       bool
		want       schema.BatchCounts
		reason     string
	}{
		{250, false, schema.BatchCounts{Matched: 1, Done: 1}, ""},
		{310, false, schema.BatchCounts{Matched: 1, Failed: 1}, more},
		{290, true, schema.BatchCounts{Matched: 1, Failed: 1}, strings.Replace(more, "10 more", "190 more", 1)},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, p := outage(t, map[string]int{"many": c.activities})
			if calls := b.calls.Swap(0); calls != int64(c.activities) {
				t.Fatalf("%d attempts were made", calls)
			}
			b.of.Clear()
			b.down.Store(c.down)
			got := ended(t, begin(t, p, client.BatchOptions{Filter: "Retrying", Action: retries}))
			if got.Counts != c.want {
				t.Errorf("%d activities: %+v, want %+v", c.activities, got.Counts, c.want)
			}
			if c.reason != "" && (len(got.Problems) != 1 || got.Problems[0].Reason != c.reason) {
				t.Errorf("%+v, want %q", got.Problems, c.reason)
			}
			time.Sleep(time.Minute)
			others := 0
			b.of.Range(func(any, any) bool { others++; return true })
			if want := min(c.activities, 300); others != want {
				t.Errorf("the batch has retried %d of %d activities, want %d", others, c.activities, want)
			}
		})
	}
}

// The retry of a run over a filter costs what the retries by hand cost.
func TestRetriesCost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p := outage(t, map[string]int{"waits": 0, "three": 3})
		for id, want := range map[string]meter.Cost{"waits": {Reads: 1}, "three": {Reads: 2, Writes: 3, Messages: 3}} {
			target, err := p.Process.Service.Process.Parser().Target(id, "")
			if err != nil {
				t.Fatal(err)
			}
			var counted meter.Meter
			_ = p.Process.Service.Steering.RetryAll(counted.Counting(t.Context()), target)
			if got := counted.Cost(); got != want {
				t.Errorf("%s: %v, want %v", id, got, want)
			}
		}
	})
}
