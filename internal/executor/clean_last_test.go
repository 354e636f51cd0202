package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/runlog"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// sized is a workflow whose last commit has a result of so many bytes. It has three commits.
var sized = workflow.NewWorkflow[int, string]("sized")

func sizedToo() []workflow.Registration {
	return append(counters(), workflow.Bind(sized, func(ctx workflow.Context, n int) (string, error) {
		err := workflow.Sleep(ctx, time.Minute)
		if err == nil {
			err = workflow.Sleep(ctx, time.Minute)
		}
		return strings.Repeat("x", n), err
	}))
}

// lastSizes are the sizes of results for each order of a deletion.
var lastSizes = map[string]int{"the last commit is replaced": 100, "the last commit is large": 3 << 10}

// closeSized starts a run and waits for its end. It returns its run id.
func closeSized(t *testing.T, p *testbed.Process, n int) string {
	t.Helper()
	run, err := sized.Start(t.Context(), p.Client, "w", n, workflow.StartOptions{})
	if err == nil {
		_, err = run.Result(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return run.RunID
}

// A process that knows a closed run sees its deletion at its next read, and at the same price as
// before, or after an hour if the last commit is large. It would otherwise prove again and again
// what has gone: when the void commit has expired, its start would open run 2, beside run 1 of
// another process.
func TestADeletionIsSeen(t *testing.T) {
	t.Parallel()
	for name, n := range lastSizes {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, ctx := maintained(t), context.Background()
				p, knows := d.Start(executor.Options{}, sizedToo()...), d.Idle(executor.Options{}, sizedToo()...)
				id := closeSized(t, p, n)
				look := func(want int) {
					t.Helper()
					a := knows.Do(http.MethodGet, "/v1/workflows/w/result", "")
					if a.Status != want || a.Cost.Writes > 0 || want == http.StatusOK && a.Cost.Reads != 1 {
						t.Fatalf("%d %.100s, for %+v; want %d for a read", a.Status, a.Body, a.Cost, want)
					}
				}
				for range 6 * 48 {
					look(http.StatusOK)
					time.Sleep(time.Hour / 2)
				}
				for thereAre(d, "w") > 0 {
					time.Sleep(time.Hour / 2)
					if thereAre(d, "w") > 0 {
						look(http.StatusOK)
					}
				}
				if n > 1000 {
					time.Sleep(runlog.MaxAge) // nothing proves what is known, so that is forgotten
				}
				look(http.StatusNotFound)
				isGone(t, knows, "w", id)
				for range 9 * 48 {
					look(http.StatusNotFound)
					time.Sleep(time.Hour / 2)
				}
				deleteAllExpired(d)
				if left := d.Store.Dump("w"); len(left) > 0 {
					t.Errorf("%v are left", left)
				}
				cold := d.Idle(executor.Options{}, sizedToo()...)
				_, first := testbed.Counter.Start(ctx, cold.Client, "w", 1, workflow.StartOptions{})
				_, second := testbed.Counter.Start(ctx, knows.Client, "w", 1, workflow.StartOptions{})
				oneIsOpen(t, d, first, second)
			})
		})
	}
}

// The deletion of n commits takes n writes, and one more after a large last commit.
func TestDeletionCosts(t *testing.T) {
	t.Parallel()
	for name, n := range lastSizes {
		synctest.Test(t, func(t *testing.T) {
			d := maintained(t)
			writes := &deletions{Log: d.Store, Attempts: d.Store, Scanner: d.Store}
			d.Ports.Log, d.Ports.Attempts, d.Ports.Scanner = writes, writes, writes
			p := d.Start(executor.Options{}, sizedToo()...)
			closeSized(t, p, n)
			items := d.Store.Dump("w")
			last := len(items[len(items)-1].Body)
			want := int64(len(items))
			if !runlog.ReadsLast(last) {
				want++
			}
			if runlog.ReadsLast(last) != (n < 1000) || bill.Replaced(float64(last)) != runlog.ReadsLast(last) {
				t.Errorf("%s: it has %d bytes", name, last)
			}
			writes.puts.Store(0)
			time.Sleep(9 * day)
			if got := writes.puts.Load() + writes.deleted.Load(); got != want || thereAre(d, "w") != 0 {
				t.Errorf("%s: the deletion of %d commits took %d puts and %d deletions; want %d writes", name, len(items), writes.puts.Load(), writes.deleted.Load(), want)
			}
		})
	}
}

// between is a store that does something before one of the writes of a deletion. It may die then:
// this write and all later ones do nothing.
type between struct {
	store.Log
	store.Scanner
	number, count int
	meanwhile     func()
	dies, dead    bool
	passed        atomic.Int64
}

func (b *between) write(apply func() error) error {
	if b.dead {
		return store.ErrThrottled
	}
	b.count++
	if b.count == b.number {
		b.meanwhile()
		if b.dead = b.dies; b.dead {
			return store.ErrThrottled
		}
	}
	b.passed.Add(1)
	return apply()
}

func (b *between) Append(ctx context.Context, items ...store.Item) error {
	return b.write(func() error { return b.Log.Append(ctx, items...) })
}

func (b *between) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	for _, item := range items { // one by one
		if err := b.write(func() error { return b.Scanner.Delete(ctx, []store.Item{item}, nil) }); err != nil {
			return err
		}
	}
	return b.Scanner.Delete(ctx, nil, attempts)
}

// Other processes work between each pair of writes of a deletion, after which the deletion goes on
// or has died. Whatever they do, nobody finds the run, one run is open at most, and numbers do not
// go back.
func TestBetweenTheStepsOfADeletion(t *testing.T) {
	t.Parallel()
	type world struct {
		*testing.T
		d            *testbed.Deployment
		knows, other *testbed.Process
	}
	start := func(w *world, p *testbed.Process) {
		w.Helper()
		if _, err := testbed.Counter.Start(context.Background(), p.Client, "w", 1, workflow.StartOptions{}); err != nil {
			w.Error(err)
		}
	}
	walk := func(w *world) {
		w.Helper()
		if did, err := w.other.Service.Service.Maintenance.Maintain(context.Background()); err != nil || did.Failed > 0 {
			w.Errorf("%+v, %v", did, err)
		}
	}
	for what, meanwhile := range map[string]func(*world){
		"nothing":                        func(*world) {},
		"a read":                         func(w *world) { isGone(w.T, w.other, "w", "1-0000000000000000") },
		"a start":                        func(w *world) { start(w, w.other) },
		"a start by who knows the run":   func(w *world) { start(w, w.knows) },
		"another walk":                   walk,
		"another walk, and a start":      func(w *world) { walk(w); start(w, w.other) },
		"another walk, and a warm start": func(w *world) { walk(w); start(w, w.knows) },
		"a start, its end, and another one": func(w *world) {
			start(w, w.other)
			if _, err := testbed.Finish.Call(context.Background(), w.other.Client, "w", workflow.None{}, workflow.CallOptions{}); err != nil {
				w.Error(err)
			}
			start(w, w.knows)
		},
	} {
		for name, n := range lastSizes {
			for _, dies := range []bool{false, true} {
				for number, writes := 1, 1; number <= writes; number++ {
					synctest.Test(t, func(t *testing.T) {
						at := fmt.Sprintf("%s, %s before write %d, after which the deletion dies: %v", name, what, number, dies)
						d := maintained(t)
						p := d.Start(executor.Options{}, sizedToo()...)
						id := closeSized(t, p, n)
						p.Stop()
						time.Sleep(7*day + time.Hour)
						w := &world{T: t, d: d, knows: d.Idle(executor.Options{}, sizedToo()...), other: d.Idle(executor.Options{}, sizedToo()...)}
						if a := w.knows.Do(http.MethodGet, "/v1/workflows/w/result", ""); a.Status != http.StatusOK {
							t.Fatalf("%s: %d %.100s", at, a.Status, a.Body)
						}
						b := &between{Log: d.Store, Scanner: d.Store, number: number, dies: dies}
						if b.meanwhile = func() { meanwhile(w) }; number == 1 && strings.HasPrefix(what, "a read") {
							b.meanwhile = func() {} // the run is whole
						}
						d.Ports.Log, d.Ports.Scanner = b, b
						cleaner := d.Idle(executor.Options{}, sizedToo()...)
						d.Ports.Log, d.Ports.Scanner = d.Store, d.Store
						if did, err := cleaner.Service.Service.Maintenance.Maintain(t.Context()); !dies && err != nil {
							t.Errorf("%s: %+v, %v", at, did, err)
						}
						writes = max(writes, b.count)
						if a := w.knows.Do(http.MethodGet, "/v1/workflows/w", ""); !dies && n < 1000 && strings.Contains(string(a.Body), id) {
							t.Errorf("%s: %d %.100s", at, a.Status, a.Body)
						}
						for range 3 {
							time.Sleep(day)
							walk(w)
						}
						isLeft := func(run store.Item) bool { return run.Run == 1 && run.Expires.IsZero() }
						if left := d.Store.Dump("w"); slices.ContainsFunc(left, isLeft) {
							t.Errorf("%s: %v are left", at, left)
						}
						_, errOther := testbed.Counter.Start(t.Context(), w.other.Client, "w", 2, workflow.StartOptions{})
						_, errKnows := testbed.Counter.Start(t.Context(), w.knows.Client, "w", 2, workflow.StartOptions{})
						open := d.Runs("w")
						if last := open[len(open)-1]; last.State.Status.Closed() || last.Number < 2 || errKnows == nil || (errOther == nil) == strings.Contains(what, "start") {
							t.Errorf("%s: the latest is run %d, which is %v; %v, %v", at, last.Number, last.State.Status, errOther, errKnows)
						}
						if n := thereAre(d, "w"); n > 2 || n > 1 && !strings.Contains(what, "its end") {
							t.Errorf("%s: there are %d runs", at, n)
						}
					})
				}
			}
		}
	}
}

// dozing is a log after whose first read of an item the process sleeps.
type dozing struct {
	store.Log
	nap func()
}

func (n *dozing) Backward(ctx context.Context, workflowID string, before, until store.Key, limit int) (store.Page, error) {
	page, err := n.Log.Backward(ctx, workflowID, before, until, limit)
	if nap := n.nap; nap != nil && limit == 1 {
		n.nap = nil
		nap()
	}
	return page, err
}

// A process sleeps in the middle of a deletion for so long that another one has deleted the run,
// that nothing is left of it, and that another run has its number. It changes nothing.
func TestADeleterSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := maintained(t), context.Background()
		p := d.Start(executor.Options{}, sizedToo()...)
		closeSized(t, p, 100)
		p.Stop()
		time.Sleep(8 * day)
		other := d.Idle(executor.Options{}, sizedToo()...)
		d.Ports.Log = &dozing{Log: d.Store, nap: func() {
			if _, err := other.Service.Service.Maintenance.Maintain(ctx); err != nil {
				t.Error(err)
			}
			time.Sleep(8 * day)
			deleteAllExpired(d)
			if _, err := testbed.Counter.Start(ctx, other.Client, "w", 1, workflow.StartOptions{}); err != nil {
				t.Error(err)
			}
		}}
		sleeper := d.Idle(executor.Options{}, sizedToo()...)
		if did, err := sleeper.Service.Service.Maintenance.Maintain(ctx); err != nil || did.Deleted != 0 || did.Failed != 1 {
			t.Errorf("%+v, %v", did, err)
		}
		if _, err := testbed.Add.Call(ctx, other.Client, "w", 1, workflow.CallOptions{}); err != nil {
			t.Error(err)
		}
		if items := d.Store.Dump("w"); len(items) != 2 || !items[0].Expires.IsZero() {
			t.Errorf("%v are there", items)
		}
	})
}

// The void run above a run has not expired, and the run's last commit has gone: a deletion of what
// a scan has read before puts nothing in its place.
func TestADeletionBelowAVoidRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := maintained(t), context.Background()
		p := d.Start(executor.Options{}, sizedToo()...)
		closeSized(t, p, 100)
		p.Stop()
		time.Sleep(8 * day)
		if err := d.Store.Append(ctx, voidRun(t, "w", 2, day)); err != nil {
			t.Fatal(err)
		}
		d.Ports.Log = &dozing{Log: d.Store, nap: func() {
			items := d.Store.Dump("w")
			if err := errors.Join(d.Store.Delete(ctx, items[:2], nil), d.Store.Delete(ctx, items[2:3], nil)); err != nil {
				t.Error(err)
			}
		}}
		late := d.Idle(executor.Options{}, sizedToo()...)
		if did, err := late.Service.Service.Maintenance.Maintain(ctx); err != nil || did.Failed != 0 {
			t.Errorf("%+v, %v", did, err)
		}
		if items := d.Store.Dump("w"); len(items) != 1 || items[0].Run != 2 {
			t.Errorf("%v are there", items)
		}
	})
}
