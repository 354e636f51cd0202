package executor_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// deletions counts what reads runs, puts commits and deletes them.
type deletions struct {
	store.Log
	store.Attempts
	store.Scanner
	reads, puts, deleted atomic.Int64
}

func (n *deletions) Append(ctx context.Context, items ...store.Item) error {
	n.puts.Add(int64(len(items)))
	return n.Log.Append(ctx, items...)
}

func (n *deletions) Backward(ctx context.Context, workflowID string, before, until store.Key, limit int) (store.Page, error) {
	n.reads.Add(1)
	return n.Log.Backward(ctx, workflowID, before, until, limit)
}

func (n *deletions) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	n.reads.Add(1)
	return n.Log.Forward(ctx, from, limit)
}

func (n *deletions) ReadAttempts(ctx context.Context, workflowID string, run uint32) ([]store.Attempt, error) {
	n.reads.Add(1)
	return n.Attempts.ReadAttempts(ctx, workflowID, run)
}

func (n *deletions) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	n.deleted.Add(int64(len(items) + len(attempts)))
	return n.Scanner.Delete(ctx, items, attempts)
}

// The deletion of a run after its retention takes the writes and the reads that the bill says.
func TestDeletionOfTheBill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx, code := testbed.New(t), context.Background(), newPayer()
		n := &deletions{Log: d.Store, Attempts: d.Store, Scanner: d.Store}
		d.Ports.Log, d.Ports.Attempts, d.Ports.Scanner = n, n, n
		p := d.Start(executor.Options{Retention: 7 * day}, code.bind...)
		run, err := payerType.Start(ctx, p.Client, "w", time.Minute, workflow.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := payerType.Get(p.Client, "w").Result(ctx); err != nil {
			t.Fatal(err)
		}
		want := bill.Of(bill.Workload{Runs: 1, Activities: 1, Timers: 1}, bill.Default())
		if puts := float64(n.puts.Load()); puts != want.Commits {
			t.Errorf("the run has %v commits, and the bill says %v", puts, want.Commits)
		}
		n.puts.Store(0)
		n.reads.Store(0)
		time.Sleep(9 * day)
		if writes, reads := float64(n.puts.Load()+n.deleted.Load()), float64(n.reads.Load()); writes != want.DeletionUnits || reads != want.DeletionReads {
			t.Errorf("the deletion takes %d puts, %d deletions and %v reads, and the bill says %v writes and %v reads",
				n.puts.Load(), n.deleted.Load(), reads, want.DeletionUnits, want.DeletionReads)
		}
		isGone(t, p, "w", run.RunID)
	})
}
