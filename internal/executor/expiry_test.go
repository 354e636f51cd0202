package executor_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/shortform"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// deleteAllExpired deletes everything that has expired, as the store's TTL does.
func deleteAllExpired(d *testbed.Deployment) {
	for d.Store.DeleteExpired(func(int) int { return 0 }) {
	}
}

// thereAre returns how many runs of a workflow exist, not counting void ones.
func thereAre(d *testbed.Deployment, workflowID string) (n int) {
	for _, run := range d.Runs(workflowID) {
		if !run.Void() {
			n++
		}
	}
	return n
}

// payer is a workflow that sleeps, and then pays once.
type payer struct {
	paid int
	bind []workflow.Registration
}

var payerType = workflow.NewWorkflow[time.Duration, string]("payer")

func newPayer() *payer {
	p := &payer{}
	pay := activity.New("pay", func(context.Context, int) (string, error) { p.paid++; return "paid", nil })
	p.bind = []workflow.Registration{pay, workflow.Bind(payerType, func(ctx workflow.Context, nap time.Duration) (string, error) {
		if err := workflow.Sleep(ctx, nap); err != nil {
			return "", err
		}
		return pay.Run(ctx, 1)
	})}
	return p
}

// A run is kept for the longer one of two retentions: the one under which it was opened and the one
// under which it completed. Until then it stays completed, and is then deleted as a whole.
func TestRetentionIsLowered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx, code := maintained(t), context.Background(), newPayer()
		p := d.Start(executor.Options{Retention: 30 * day}, code.bind...)
		if _, err := payerType.Start(ctx, p.Client, "w", 5*time.Minute, workflow.StartOptions{RunTimeout: time.Hour}); err != nil {
			t.Fatal(err)
		}
		p.Stop()
		p = d.Start(executor.Options{Retention: day}, code.bind...)
		if _, err := payerType.Get(p.Client, "w").Result(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := payerType.Start(ctx, p.Client, "short", 0, workflow.StartOptions{RunTimeout: time.Hour}); err != nil {
			t.Fatal(err)
		}
		for range 29 {
			time.Sleep(day)
			deleteAllExpired(d)
			p.Stop() // its memory would hide what the store has
			p = d.Start(executor.Options{Retention: day}, code.bind...)
			if what, err := p.Client.Describe(ctx, "w", ""); err != nil || what.Status != history.Completed {
				t.Fatalf("the run is %v, %v", what, err)
			}
		}
		if n := thereAre(d, "short"); n != 0 {
			t.Errorf("%d runs that were opened under the lower retention exist", n)
		}
		time.Sleep(3 * day)
		if n := thereAre(d, "w"); n != 0 || code.paid != 2 {
			t.Errorf("%d runs exist after their retention, and %d activities ran", n, code.paid)
		}
	})
}

// A run that follows another has the retention of the deployment that opened it. So does a run that
// a reset opened.
func TestRetentionOfRunsThatFollow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), context.Background()
		bind := []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo))}
		for i, retention := range []time.Duration{30 * day, day} {
			p := d.Start(executor.Options{Retention: retention}, bind...)
			run, err := kid.Start(ctx, p.Client, "w", "again", workflow.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Service.Reset(ctx, "w", "", schema.ResetRequest{To: "firstTask"}); err != nil {
				t.Fatal(err)
			}
			p.Stop()
			runs := d.Runs("w")
			if len(runs) != 3*i+3 {
				t.Fatalf("%d runs", len(runs))
			}
			for _, run := range runs[3*i:] {
				if got := time.Duration(run.State.Started.Retention); got != retention {
					t.Errorf("run %d has the retention %v, want %v", run.Number, got, retention)
				}
			}
		}
	})
}

// An open run survives an outage of weeks in which the store deletes everything that has expired.
// Then the run times out. A parent does not start its child again.
func TestOpenRunOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	for _, out := range []time.Duration{8 * day, 13 * day, 60 * day} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := maintained(t), context.Background()
			bind := []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, func(ctx workflow.Context, _ string) (string, error) {
				_, err := kid.RunChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "c", RunTimeout: time.Hour})
				if timedOut := new(workflow.TimeoutError); errors.As(err, &timedOut) {
					return "its child timed out", nil
				}
				return "", fmt.Errorf("the child: %w", err)
			})}
			p := d.Start(executor.Options{}, bind...)
			if _, err := parent.Start(ctx, p.Client, "p", "", workflow.StartOptions{RunTimeout: 300 * day}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Minute)
			p.Stop()
			time.Sleep(out)
			deleteAllExpired(d)
			p = d.Start(executor.Options{}, bind...)
			if what, err := p.Client.Describe(ctx, "c", ""); err != nil {
				t.Fatalf("after the outage: %v, %v", what, err)
			}
			result, err := parent.Get(p.Client, "p").Result(ctx)
			if err != nil || result != "its child timed out" {
				t.Errorf("%q, %v", result, err)
			}
			if runs := d.Runs("c"); len(runs) != 1 || runs[0].State.Status != history.TimedOut {
				t.Errorf("the child has %d runs", len(runs))
			}
		})
	}
}

// stamped is a log of an earlier version of Weft. Each commit of a run with a deadline expires at
// that deadline plus the retention of the commit's writer.
type stamped struct {
	store.Log
	retention time.Duration
}

func (l *stamped) Append(ctx context.Context, items ...store.Item) error {
	for i := range items {
		c, err := history.Decode(items[i].Slot, items[i].Body)
		if err != nil {
			return err
		}
		if c.Status == history.Void {
			continue
		}
		c.Expires = history.At(stampedAt).Add(time.Hour + l.retention)
		if items[i].Body, err = history.Encode(c); err != nil {
			return err
		}
		items[i].Expires = c.Expires.Time()
	}
	return l.Log.Append(ctx, items...)
}

// stampedAt is the time at which the runs of these tests open, which is when synctest's clock
// begins.
var stampedAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// The store deletes the commits of an earlier version's run one by one, in any order. A completed
// run stays completed or is gone. Its activity does not run again, even if the retention was
// shortened and the run's end is deleted first.
func TestOldCommitsExpireInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(shortform.Or(40, 10)) {
		synctest.Test(t, func(t *testing.T) {
			d, ctx, code := maintained(t), context.Background(), newPayer()
			random := rand.New(rand.NewPCG(seed, 1))
			log := &stamped{Log: d.Store, retention: time.Duration(1+random.IntN(30)) * day}
			d.Ports.Log = log
			p := d.Start(executor.Options{}, code.bind...)
			run, err := payerType.Start(ctx, p.Client, "w", 5*time.Minute, workflow.StartOptions{RunTimeout: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if random.IntN(2) == 0 {
				time.Sleep(2 * time.Minute)
			}
			log.retention = time.Duration(1+random.IntN(30)) * day
			if _, err := run.Result(ctx); err != nil {
				t.Fatal(err)
			}
			p.Stop()
			d.Ports.Log = d.Store
			if random.IntN(2) == 0 {
				d.Ports.Scanner = nil // the check is too late to help
			}
			for gone := false; len(d.Store.Dump("w")) > 0 && time.Since(stampedAt) < 60*day; {
				p := d.Start(executor.Options{CheckEvery: day}, code.bind...)
				what, err := p.Client.Describe(ctx, "w", "")
				switch {
				case errors.Is(err, refusal.NotFound):
					gone = true
				case err != nil || what.Status != history.Completed || gone:
					t.Fatalf("seed %d, after %v: the completed run is %v, %v", seed, time.Since(stampedAt), what, err)
				}
				time.Sleep(time.Hour) // time for a check
				p.Stop()
				time.Sleep(time.Duration(random.IntN(3*24)) * time.Hour)
				d.Store.DeleteExpired(random.IntN)
			}
			if code.paid != 1 {
				t.Errorf("seed %d: its activity ran %d times", seed, code.paid)
			}
		})
	}
}

// An earlier version's run that is open during an upgrade continues, and is later deleted as a
// whole.
func TestOldRunsContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx, code := maintained(t), context.Background(), newPayer()
		d.Ports.Log = &stamped{Log: d.Store, retention: 7 * day}
		p := d.Start(executor.Options{}, code.bind...)
		run, err := payerType.Start(ctx, p.Client, "w", 5*time.Minute, workflow.StartOptions{RunTimeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		d.Ports.Log = d.Store
		p = d.Start(executor.Options{}, code.bind...)
		if result, err := payerType.Get(p.Client, "w").Result(ctx); err != nil || result != "paid" {
			t.Fatalf("%q, %v", result, err)
		}
		for range 12 {
			deleteAllExpired(d)
			time.Sleep(day)
		}
		isGone(t, p, "w", run.RunID)
		if n := thereAre(d, "w"); n > 0 || code.paid != 1 {
			t.Errorf("%d runs are left, and %d activities ran", n, code.paid)
		}
	})
}

// makeVoid lets a start send its message and die before its put. The message then fences the run's
// slot.
func makeVoid(t *testing.T, d *testbed.Deployment, workflowID string) {
	t.Helper()
	before := d.Ports.Log
	d.Ports.Log = refusing{d.Store}
	p := d.Idle(executor.Options{}, workflow.Bind(expType, runExp), expFlaky)
	d.Ports.Log = before
	if _, err := expType.Start(context.Background(), p.Client, workflowID, 1, workflow.StartOptions{}); err == nil {
		t.Fatal("the workflow was started")
	}
	time.Sleep(5 * time.Minute)
	q := d.Idle(executor.Options{}, workflow.Bind(expType, runExp), expFlaky)
	d.Drain(context.Background(), func(string) *testbed.Process { return q })
	if items := d.Store.Dump(workflowID); len(items) == 0 || items[len(items)-1].Expires.IsZero() {
		t.Fatalf("the last of %d items is not a void run", len(items))
	}
}

// refusing is a log that refuses all puts.
type refusing struct{ store.Log }

func (refusing) Append(context.Context, ...store.Item) error {
	return errors.New("InternalServerError")
}

var (
	expType  = workflow.NewWorkflow[int, string]("exp")
	expFlaky = activity.New("expFlaky", func(ctx context.Context, fails int) (string, error) {
		if activity.InfoOf(ctx).Attempt <= fails {
			return "", errors.New("flaky")
		}
		return "ok", nil
	})
)

func runExp(ctx workflow.Context, fails int) (string, error) { return expFlaky.Run(ctx, fails) }

// A start that has found a void run is overtaken by the void run's deletion and by another start.
// One of the two opens a run, and the other finds it open, whichever void runs either still finds.
func TestVoidRunsExpireUnderAStart(t *testing.T) {
	t.Parallel()
	for _, closed := range []int{0, 1} {
		for _, voids := range shortform.Or([]int{1, 2, 3}, []int{1, 2}) {
			for left := range 1 << voids {
				t.Run(fmt.Sprintf("%d closed, %d void, left %b", closed, voids, left), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						d, ctx := testbed.New(t), context.Background()
						p := d.Start(executor.Options{}, counters()...)
						if closed > 0 {
							closeRun(t, p, "w")
						}
						for range voids {
							makeVoid(t, d, "w")
						}
						p.Stop()
						time.Sleep(30 * day)
						p = d.Start(executor.Options{}, counters()...)
						var other error
						d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
							for i, item := range d.Store.Dump("w") {
								if !item.Expires.IsZero() && left>>(i%voids)&1 == 0 {
									_ = d.Store.Delete(ctx, []store.Item{item}, nil)
								}
							}
							_, other = testbed.Counter.Start(ctx, p.Client, "w", 1, workflow.StartOptions{})
						}}
						slow := d.Idle(executor.Options{}, counters()...)
						_, err := testbed.Counter.Start(ctx, slow.Client, "w", 2, workflow.StartOptions{})
						oneIsOpen(t, d, other, err)
						if _, err := testbed.Finish.Call(ctx, p.Client, "w", workflow.None{}, workflow.CallOptions{}); err != nil {
							t.Errorf("the open run cannot be reached: %v", err)
						}
					})
				})
			}
		}
	}
}

// A start is carried out once, even if there are or were void runs between its run and the next
// one.
func TestStartOverVoidRuns(t *testing.T) {
	t.Parallel()
	for voids := range 3 {
		for _, expired := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d, ctx := testbed.New(t), context.Background()
				p := d.Idle(executor.Options{}, workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)))
				start := func(id string) history.RunID {
					t.Helper()
					w := "w"
					a, err := p.Service.Start(ctx, schema.StartRequest{WorkflowID: &w, Type: "kid", Input: []byte(`"quick"`), RequestID: id})
					if err != nil {
						t.Fatal(err)
					}
					return a.RunID
				}
				first := start("r-1")
				for range voids {
					makeVoid(t, d, "w")
				}
				second := start("r-2")
				if expired {
					time.Sleep(30 * day)
					deleteAllExpired(d)
				}
				p = d.Idle(executor.Options{}, workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)))
				if again := start("r-1"); again != first {
					t.Errorf("%d void runs, expired %v: the same start opened %v, and then %v", voids, expired, first, again)
				}
				if again := start("r-2"); again != second {
					t.Errorf("%d void runs, expired %v: the same start opened %v, and then %v", voids, expired, second, again)
				}
			})
		}
	}
}

// A child is started once, even if others have used its id since, with void runs in between.
func TestChildOverOtherRuns(t *testing.T) {
	t.Parallel()
	for _, between := range []string{"", "v", "r", "vr", "rv", "rr", "rvrv", "vvrr"} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := testbed.New(t), context.Background()
			bind := []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, func(ctx workflow.Context, _ string) (string, error) {
				return kid.RunChild(ctx, "quick", workflow.ChildOptions{WorkflowID: "c"})
			})}
			p := d.Idle(executor.Options{}, bind...)
			if _, err := parent.Start(ctx, p.Client, "p", "", workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
			// The child starts and ends, and the parent is not notified.
			d.Ports.Log, d.Ports.Queue = only{d.Store, "c"}, &withholding{d.Queue}
			dying := d.Idle(executor.Options{}, bind...)
			d.Ports.Log, d.Ports.Queue = d.Store, d.Queue
			deliveries, err := d.Queue.Receive(ctx, queue.Timers, 1)
			if err != nil || len(deliveries) != 1 {
				t.Fatal(deliveries, err)
			}
			m, err := outbox.Decode(deliveries[0].Body)
			if err != nil {
				t.Fatal(err)
			}
			if err := dying.Service.Service.Deliveries.Handle(ctx, executor.Delivery{Message: m, Received: 1}); err == nil {
				t.Fatal("the delivery succeeded")
			}
			for _, what := range between {
				if what == 'v' {
					makeVoidOf(t, d, "c", bind)
					continue
				}
				if _, err := kid.Start(ctx, p.Client, "c", "quick", workflow.StartOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(2 * time.Hour)
			d.Drain(ctx, func(string) *testbed.Process { return p })
			children := 0
			for _, run := range d.Runs("c") {
				if run.State.Started != nil && run.State.Started.Parent != nil {
					children++
				}
			}
			if children != 1 {
				t.Errorf("%q between: the parent started one child, and there are %d runs of it", between, children)
			}
			if result, err := parent.Get(p.Client, "p").Result(ctx); err != nil || result != "quick of p" {
				t.Errorf("%q between: %q, %v", between, result, err)
			}
		})
	}
}

// only is a log that accepts only the commits of one workflow.
type only struct {
	store.Log
	workflow string
}

func (l only) Append(ctx context.Context, items ...store.Item) error {
	if items[0].Workflow != l.workflow {
		return errors.New("InternalServerError")
	}
	return l.Log.Append(ctx, items...)
}

// withholding is a queue that refuses all messages.
type withholding struct{ queue.Sender }

func (withholding) Send(context.Context, string, ...queue.Message) error {
	return errors.New("RequestThrottled")
}

// makeVoidOf adds a void run after the latest run.
func makeVoidOf(t *testing.T, d *testbed.Deployment, workflowID string, bind []workflow.Registration) {
	t.Helper()
	d.Ports.Log, d.Ports.Queue = refusing{d.Store}, d.Queue
	p := d.Idle(executor.Options{}, append(bind, workflow.Bind(expType, runExp), expFlaky)...)
	d.Ports.Log = d.Store
	if _, err := expType.Start(context.Background(), p.Client, workflowID, 1, workflow.StartOptions{}); err == nil {
		t.Fatal("the workflow was started")
	}
	q := d.Idle(executor.Options{Grace: time.Nanosecond}, append(bind, workflow.Bind(expType, runExp), expFlaky)...)
	deliveries, err := d.Queue.Receive(context.Background(), queue.Activities, 1)
	if err != nil || len(deliveries) != 1 {
		t.Fatal(deliveries, err)
	}
	m, err := outbox.Decode(deliveries[0].Body)
	if err == nil {
		err = q.Service.Service.Deliveries.Handle(context.Background(), executor.Delivery{Message: m, Received: 1})
	}
	if err == nil {
		err = d.Queue.Delete(context.Background(), queue.Activities, deliveries[0].Receipt)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An attempt record of an earlier run with the same number does not count for another run, neither
// as an attempt that has begun nor as one that another chain of deliveries has recorded.
func TestAttemptsOfAnotherRun(t *testing.T) {
	t.Parallel()
	body, err := history.EncodeBody(map[int]any{2: history.At(stampedAt.Add(-30 * day)), 3: uint64(7)})
	if err != nil {
		t.Fatal(err)
	}
	for name, left := range map[string]store.Attempt{
		"of another run":                  {RunID: "1-00000000000000aa"},
		"of an earlier version":           {},
		"of an earlier version, expired":  {Expires: stampedAt.Add(-day)},
		"of another run, with an expiry":  {RunID: "1-00000000000000aa", Expires: stampedAt.Add(day)},
		"of another run, not yet expired": {RunID: "1-00000000000000aa", Expires: stampedAt.Add(100 * day)},
	} {
		for _, number := range []int{1, 2, 3, 9} {
			t.Run(fmt.Sprint(name, number), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d, ctx := testbed.New(t), context.Background()
					for event := range int64(12) {
						a := left
						a.Workflow, a.Run, a.Event, a.Number, a.Body = "w", 1, event+1, number<<20, body
						if err := d.Store.RecordAttempt(ctx, a); err != nil {
							t.Fatal(err)
						}
					}
					p := d.Idle(executor.Options{}, workflow.Bind(expType, runExp), expFlaky)
					run, err := expType.Start(ctx, p.Client, "w", 2, workflow.StartOptions{})
					if err != nil {
						t.Fatal(err)
					}
					what, err := p.Client.Describe(ctx, "w", "")
					if err != nil || len(what.PendingActivities) != 1 || what.PendingActivities[0].Attempt != 1 || what.PendingActivities[0].NextAttemptAt != nil {
						t.Errorf("its activity is pending as %v, %v", what, err)
					}
					d.Start(executor.Options{}, workflow.Bind(expType, runExp), expFlaky)
					if result, err := run.Result(ctx); err != nil || result != "ok" || time.Since(stampedAt) > time.Minute {
						t.Errorf("after %v: %q, %v", time.Since(stampedAt), result, err)
					}
				})
			})
		}
	}
}

// Unreadable timers are set aside, however many there are. The other timers fire in time. A timer
// that was set aside fires when it can be read. None is lost, and each is read only a few times an
// hour.
func TestUnreadableTimers(t *testing.T) {
	t.Parallel()
	nap := workflow.NewWorkflow[time.Duration, string]("nap")
	for _, n := range []int{1, 99, 100, 250} {
		synctest.Test(t, func(t *testing.T) {
			d, ctx := testbed.New(t), context.Background()
			timers := &hiddenTimers{Timers: d.Store, hidden: map[string]bool{}}
			d.Ports.Timers = timers
			p := d.Start(executor.Options{}, workflow.Bind(nap, func(ctx workflow.Context, d time.Duration) (string, error) {
				return "slept", workflow.Sleep(ctx, d)
			}))
			for i := range n {
				if _, err := nap.Start(ctx, p.Client, fmt.Sprint("newer", i), 30*time.Minute, workflow.StartOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			due, err := d.Store.DueTimers(ctx, stampedAt.Add(time.Hour), 1000)
			if err != nil || len(due) != n {
				t.Fatal(len(due), err)
			}
			timers.mu.Lock()
			for _, timer := range due {
				timers.hidden[timer.ID] = true
			}
			timers.mu.Unlock()
			run, err := nap.Start(ctx, p.Client, "w", time.Hour, workflow.StartOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(ctx); err != nil || time.Since(stampedAt) > time.Hour+time.Minute {
				t.Errorf("%d unreadable timers: a sleep of an hour took %v, %v", n, time.Since(stampedAt), err)
			}
			time.Sleep(10 * time.Hour)
			timers.mu.Lock()
			if reads := timers.reads / n; reads > 70 {
				t.Errorf("each unreadable timer was read %d times in eleven hours", reads)
			}
			timers.hidden = nil // a build that can read them is deployed
			timers.mu.Unlock()
			time.Sleep(11 * time.Minute)
			for i := range n {
				if what, err := p.Client.Describe(ctx, fmt.Sprint("newer", i), ""); err != nil || what.Status != history.Completed {
					t.Errorf("%d unreadable timers, which are now readable: run %d is %v, %v", n, i, what, err)
				}
			}
		})
	}
}

// hiddenTimers are timers some of which cannot be read.
type hiddenTimers struct {
	store.Timers
	mu     sync.Mutex
	hidden map[string]bool
	reads  int
}

func (h *hiddenTimers) DueTimers(ctx context.Context, before time.Time, limit int) ([]store.Timer, error) {
	due, err := h.Timers.DueTimers(ctx, before, limit)
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range due {
		if h.hidden[due[i].ID] {
			h.reads++
			due[i].Body = append([]byte{history.Encoded}, due[i].Body...)
		}
	}
	return due, err
}

// PutTimers puts timers. It keeps the bodies of unreadable ones.
func (h *hiddenTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	for i := range timers {
		if b := timers[i].Body; len(b) > 0 && b[0] == history.Encoded {
			timers[i].Body = b[1:]
		}
	}
	return h.Timers.PutTimers(ctx, timers)
}

// A sweep reports unreadable timers after it has sent the others. The next sweep does not read them
// again at once.
func TestSweepReportsUnreadableTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := testbed.New(t), t.Context()
		p := d.Idle(executor.Options{}, counters()...)
		junk := store.Timer{ID: "junk", Due: time.Now(), Body: []byte{history.Encoded, 1, 2, 3}}
		if err := d.Store.PutTimers(ctx, []store.Timer{junk}); err != nil {
			t.Fatal(err)
		}
		for i, want := range []error{outbox.ErrUnreadable, nil} {
			if _, err := p.Service.Service.Deliveries.Sweep(ctx); !errors.Is(err, want) {
				t.Errorf("sweep %d: %v, want %v", i, err, want)
			}
		}
		left, err := d.Store.DueTimers(ctx, time.Now().Add(time.Hour), 10)
		if err != nil || len(left) != 1 || left[0].ID != junk.ID || string(left[0].Body) != string(junk.Body) {
			t.Errorf("%v are left, %v", left, err)
		}
	})
}

// keepLast is a scanner that can be set to keep the last commit of a closed run.
type keepLast struct {
	store.Scanner
	on atomic.Bool
}

func (k *keepLast) Delete(ctx context.Context, items []store.Item, attempts []store.Attempt) error {
	if k.on.Load() && len(items) == 1 {
		if c, err := history.Decode(items[0].Slot, items[0].Body); err == nil && c.Status.Closed() {
			return store.ErrThrottled
		}
	}
	return k.Scanner.Delete(ctx, items, attempts)
}

// A deletion that was interrupted before the last commit, which is large, continues when the void
// run above has expired. A start that has read both is overtaken by the deletion, by TTL and by
// another start. One of the two starts opens a run.
func TestDeletionContinuesUnderAStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, ctx := maintained(t), context.Background()
		scanner := &keepLast{Scanner: d.Store}
		d.Ports.Scanner = scanner
		wide := workflow.NewWorkflow[int, string]("wide")
		bind := append(counters(), workflow.Bind(wide, func(_ workflow.Context, n int) (string, error) { return strings.Repeat("x", n), nil }))
		p := d.Start(executor.Options{}, bind...)
		if _, err := wide.Start(ctx, p.Client, "w", 4<<10, workflow.StartOptions{}); err != nil { // the run's only commit is its last
			t.Fatal(err)
		}
		scanner.on.Store(true)
		time.Sleep(30 * day)
		p.Stop()
		if items := d.Store.Dump("w"); len(items) != 2 || items[0].Run != 1 || items[1].Run != 2 {
			t.Fatalf("%d items exist, want the last commit and a void run", len(items))
		}
		cleaner, other := d.Idle(executor.Options{}, bind...), error(nil)
		d.Ports.Log = &lateLog{Log: d.Store, meanwhile: func() {
			scanner.on.Store(false)
			for range 3 {
				time.Sleep(day)
				if _, err := cleaner.Service.Service.Maintenance.Maintain(ctx); err != nil {
					t.Error(err)
				}
				deleteAllExpired(d)
			}
			_, other = testbed.Counter.Start(ctx, cleaner.Client, "w", 1, workflow.StartOptions{})
		}}
		slow := d.Idle(executor.Options{}, bind...)
		_, err := testbed.Counter.Start(ctx, slow.Client, "w", 2, workflow.StartOptions{})
		oneIsOpen(t, d, other, err)
	})
}
