package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// tornLog is a log whose next transaction appears to readers in two parts. One of its items is
// hidden until reveal is called.
type tornLog struct {
	store.Log
	mu      sync.Mutex
	hide    int    // the index of the hidden item
	applied func() // called when the transaction was applied, and then set to nil
	hidden  *store.Key
	reads   int    // reads that did not see the item
	missed  func() // called after each read that did not see the item; may be nil
}

func (l *tornLog) Append(ctx context.Context, items ...store.Item) error {
	err := l.Log.Append(ctx, items...)
	l.mu.Lock()
	applied := l.applied
	if err != nil || len(items) <= l.hide || len(items) < 2 || applied == nil {
		l.mu.Unlock()
		return err
	}
	l.applied, l.hidden = nil, &items[l.hide].Key
	l.mu.Unlock()
	applied()
	return nil
}

func (l *tornLog) reveal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hidden = nil
}

func (l *tornLog) see(page store.Page, err error) (store.Page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.hidden == nil {
		return page, err
	}
	kept := page.Items[:0:0]
	for _, i := range page.Items {
		if i.Key != *l.hidden {
			kept = append(kept, i)
		}
	}
	l.reads++
	page.Items = kept
	return page, err
}

func (l *tornLog) Backward(ctx context.Context, w string, before, until store.Key, limit int) (store.Page, error) {
	l.mu.Lock()
	hidden := l.hidden != nil
	l.mu.Unlock()
	page, err := l.see(l.Log.Backward(ctx, w, before, until, limit))
	if hidden && l.missed != nil {
		l.missed()
	}
	return page, err
}

func (l *tornLog) Forward(ctx context.Context, from store.Key, limit int) (store.Page, error) {
	return l.see(l.Log.Forward(ctx, from, limit))
}

// A relay counts its signals and updates. "lap" makes it continue as new. "fail" makes it fail, and
// its retry policy opens another run.
var (
	relayType = workflow.NewWorkflow[int, int]("relay")
	relayNote = workflow.NewSignal[string]("note")
	relayAdd  = workflow.NewUpdate[int, int]("add")
	relaySum  = workflow.NewQuery[workflow.None, int]("sum")
)

func runRelay(ctx workflow.Context, n int) (int, error) {
	relayAdd.Handle(ctx, func(_ workflow.Context, by int) (int, error) { n += by; return n, nil })
	relaySum.Handle(ctx, func(workflow.None) (int, error) { return n, nil })
	for {
		switch text, err := relayNote.Receive(ctx); {
		case err != nil:
			return n, err
		case text == "lap":
			return relayType.ContinueAsNew(ctx, n)
		case text == "fail":
			return n, errors.New("the signal asked for it")
		case text == "end":
			return n, nil
		}
		n++
	}
}

// tearing are the puts that close a run and open another. Each has the least number of its items.
var tearing = map[string]struct {
	items int
	do    func(p *testbed.Process) error
}{
	"continue as new": {2, func(p *testbed.Process) error { return relayNote.Send(context.Background(), p.Client, "w", "lap") }},
	"retry":           {2, func(p *testbed.Process) error { return relayNote.Send(context.Background(), p.Client, "w", "fail") }},
	"replace": {2, func(p *testbed.Process) error {
		_, err := relayType.Start(context.Background(), p.Client, "w", 0, workflow.StartOptions{IDConflictPolicy: "terminateExisting"})
		return err
	}},
	"reset": {4, func(p *testbed.Process) error {
		_, err := p.Service.Reset(context.Background(), "w", "", schema.ResetRequest{To: "lastTask", RequestID: "reset"})
		return err
	}},
}

// asking are requests to a workflow that is always open. Each returns an error if its answer is
// wrong.
var asking = map[string]func(ctx context.Context, p *testbed.Process, first history.RunID) error{
	"signal": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		return relayNote.Send(ctx, p.Client, "w", "x")
	},
	"update": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		_, err := relayAdd.Call(ctx, p.Client, "w", 1, workflow.CallOptions{ID: "new"})
		return err
	},
	"cancel": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		return p.Client.Cancel(ctx, "w", "", "enough")
	},
	"query": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		_, err := relaySum.Ask(ctx, p.Client, "w", workflow.None{})
		return err
	},
	"describe": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		what, err := p.Client.Describe(ctx, "w", "")
		if err == nil && what.Status != history.Running {
			err = fmt.Errorf("the run is %s", what.Status)
		}
		return err
	},
	"describe the first run": func(ctx context.Context, p *testbed.Process, first history.RunID) error {
		_, err := p.Client.Describe(ctx, "w", string(first))
		return err
	},
	"start": func(ctx context.Context, p *testbed.Process, _ history.RunID) error {
		_, err := relayType.Start(ctx, p.Client, "w", 0, workflow.StartOptions{})
		if errors.Is(err, refusal.AlreadyOpen) {
			return nil
		}
		return fmt.Errorf("a second start returned %w", err)
	},
	"poll of the first run": func(ctx context.Context, p *testbed.Process, first history.RunID) error {
		_, err := p.Service.PollUpdate(ctx, "w", first, "known", 5*time.Second) // a poll that does not wait gives a read one second
		return err
	},
}

// tornTestbed returns two processes, and a relay whose first run has an update, a signal and a few
// commits.
func tornTestbed(t *testing.T, hide int) (log *tornLog, a, b *testbed.Process, first history.RunID) {
	t.Helper()
	d := testbed.New(t)
	log = &tornLog{Log: d.Store, hide: hide}
	d.Ports.Log = log
	bind := workflow.Bind(relayType, runRelay, workflow.Names(relayAdd, relaySum, relayNote))
	o := executor.Options{MaxCommit: 700} // so that a reset needs several commits
	a, b = d.Idle(o, bind), d.Idle(o, bind)
	ctx := context.Background()
	run, err := relayType.Start(ctx, a.Client, "w", 0, workflow.StartOptions{Retry: &workflow.Retry{InitialInterval: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := relayAdd.Call(ctx, a.Client, "w", 1, workflow.CallOptions{ID: "known"}); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		if _, err := a.Service.Signal(ctx, "w", "", relayNote.Name(), schema.SignalRequest{Input: []byte(`"x"`), RequestID: fmt.Sprint("r-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return log, a, b, history.RunID(run.RunID)
}

// A request that arrives while a transaction lands is answered as if it had arrived before or
// after, whichever items its reads see.
func TestReadsOfTransactionsInParts(t *testing.T) {
	t.Parallel()
	for put, tear := range tearing {
		for name, ask := range asking {
			for hide := range tear.items {
				t.Run(fmt.Sprintf("%s/%s/%d", put, name, hide), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						log, a, b, first := tornTestbed(t, hide)
						var answer error
						answered := make(chan struct{})
						log.applied = func() {
							go func() {
								defer close(answered)
								answer = ask(context.Background(), b, first)
							}()
							time.Sleep(time.Second / 2) // a poll with a timeout of 0 reads for a second
							log.reveal()
						}
						if err := tear.do(a); err != nil {
							t.Fatal(err)
						}
						if log.applied != nil {
							t.Fatalf("no put has %d items", hide+1)
						}
						<-answered
						if answer != nil {
							t.Error(answer)
						}
					})
				})
			}
		}
	}
}

// A repeated request takes effect once, even if its repetition sees half of the transaction in
// which its run continues as new.
func TestRepeatedRequestsDuringTransactionsInParts(t *testing.T) {
	t.Parallel()
	for hide := range 2 {
		synctest.Test(t, func(t *testing.T) {
			log, a, b, _ := tornTestbed(t, hide)
			ctx := context.Background()
			before := 13 // an update and 12 signals
			answered := make(chan struct{})
			log.applied = func() {
				go func() {
					defer close(answered)
					if _, err := b.Service.Signal(ctx, "w", "", relayNote.Name(), schema.SignalRequest{Input: []byte(`"x"`), RequestID: "r-3"}); err != nil {
						t.Error(err)
					}
					if _, err := relayAdd.Call(ctx, b.Client, "w", 1, workflow.CallOptions{ID: "known"}); err != nil {
						t.Error(err)
					}
				}()
				time.Sleep(time.Second)
				log.reveal()
			}
			if err := relayNote.Send(ctx, a.Client, "w", "lap"); err != nil {
				t.Fatal(err)
			}
			<-answered
			if n, err := relaySum.Ask(ctx, b.Client, "w", workflow.None{}); n != before || err != nil {
				t.Errorf("item %d hidden: %d signals and updates arrived, want %d, %v", hide, n, before, err)
			}
		})
	}
}

// If a transaction stays in parts for longer than a request may take, the request is refused as
// busy, and never as not found. When the transaction is whole, the same process answers correctly,
// because it has kept no conclusion.
func TestTransactionsThatStayInParts(t *testing.T) {
	t.Parallel()
	for put, tear := range tearing {
		for hide := range tear.items {
			t.Run(fmt.Sprintf("%s/%d", put, hide), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					log, a, b, _ := tornTestbed(t, hide)
					again := func() error {
						_, err := b.Service.Signal(context.Background(), "w", "", relayNote.Name(), schema.SignalRequest{Input: []byte(`"x"`), RequestID: "r-3"})
						return err
					}
					log.applied = func() {
						if err := again(); err != nil && !errors.Is(err, refusal.Busy) {
							t.Error(err)
						}
						log.reveal()
					}
					if err := tear.do(a); err != nil {
						t.Fatal(err)
					}
					if err := again(); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A process that has seen half of a transaction sends what the other half schedules. The writer,
// whose run continued as new, died before it sent the messages of the new run.
func TestRepairAfterHalfOfATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		log := &tornLog{Log: d.Store, hide: 1}
		d.Ports.Log = log
		laps := workflow.NewWorkflow[int, string]("laps")
		step := activity.New("step", func(context.Context, int) (string, error) { return "done", nil })
		registrations := []workflow.Registration{workflow.Bind(laps, func(ctx workflow.Context, n int) (string, error) {
			result, err := step.Run(ctx, n)
			if err == nil && n < 2 {
				return laps.ContinueAsNew(ctx, n+1)
			}
			return result, err
		}), step}
		network := &deaf{Sender: d.Ports.Queue}
		d.Ports.Queue = network
		dies := d.Idle(executor.Options{SoftLimit: time.Second}, registrations...)
		d.Ports.Queue = d.Queue
		other := d.Idle(executor.Options{SoftLimit: time.Second}, registrations...)
		if _, err := laps.Start(t.Context(), dies.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		log.applied = func() {
			if _, err := other.Describe(t.Context(), "w", ""); !errors.Is(err, refusal.Busy) {
				t.Errorf("a request during half of the transaction returned %v", err)
			}
			log.reveal()
			network.dead = true
		}
		if err := deliverActivity(t, d, dies, 1); err == nil {
			t.Fatal("the process sent the messages of the new run")
		}
		time.Sleep(10 * time.Minute) // then the message is visible again
		for received := 2; received > 0; received-- {
			if err := deliverActivity(t, d, other, received); err != nil {
				t.Fatal(err)
			}
		}
		if result, err := laps.Get(other.Client, "w").Result(t.Context()); err != nil || result != "done" {
			t.Errorf("the run returned %q, %v", result, err)
		}
	})
}

// The message of a commit that closed a run sends the commit's messages again, even if the next run
// was reset meanwhile.
func TestRepairAfterTheNextRunWasReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		laps, child := workflow.NewWorkflow[int, string]("laps"), workflow.NewWorkflow[int, string]("child")
		network := &deaf{Sender: d.Ports.Queue}
		step := activity.New("step", func(context.Context, int) (string, error) {
			network.dead = true
			return "done", nil
		})
		registrations := []workflow.Registration{step, workflow.Bind(laps, func(ctx workflow.Context, n int) (string, error) {
			if n > 1 {
				return "", workflow.Sleep(ctx, time.Hour)
			}
			child.StartChild(ctx, 0, workflow.ChildOptions{WorkflowID: "c"})
			if _, err := step.Run(ctx, n); err != nil {
				return "", err
			}
			return laps.ContinueAsNew(ctx, n+1)
		}), workflow.Bind(child, func(ctx workflow.Context, _ int) (string, error) { return "", workflow.Sleep(ctx, 5*time.Hour) })}
		d.Ports.Queue = network
		dies := d.Idle(executor.Options{SoftLimit: time.Second}, registrations...)
		d.Ports.Queue = d.Queue
		other := d.Idle(executor.Options{}, registrations...)
		if _, err := laps.Start(t.Context(), dies.Client, "w", 1); err != nil {
			t.Fatal(err)
		}
		if err := deliver(t, d, dies, queue.Timers, 1); err != nil { // this starts the child
			t.Fatal(err)
		}
		if err := deliverActivity(t, d, dies, 1); err == nil {
			t.Fatal("the process sent the message of the close policy")
		}
		if _, err := other.Service.Reset(t.Context(), "w", "", schema.ResetRequest{To: "lastTask"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute) // then the message is visible again
		if err := deliverActivity(t, d, other, 2); err != nil {
			t.Fatal(err)
		}
		p := d.Start(executor.Options{}, registrations...)
		defer p.Stop()
		time.Sleep(time.Minute)
		if what, err := p.Client.Describe(t.Context(), "c", ""); err != nil || what.Status != history.Terminated {
			t.Errorf("the child of the closed run is %v, %v", what.Status, err)
		}
	})
}

// deliverActivity lets a process handle one message of the activity queue, and deletes the message
// if that succeeds.
func deliverActivity(t *testing.T, d *testbed.Deployment, p *testbed.Process, received int) error {
	t.Helper()
	return deliver(t, d, p, queue.Activities, received)
}

// deliver does the same for any queue.
func deliver(t *testing.T, d *testbed.Deployment, p *testbed.Process, from string, received int) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	deliveries, err := d.Queue.Receive(ctx, from, 1)
	if err != nil || len(deliveries) != 1 {
		t.Fatalf("received %d messages: %v", len(deliveries), err)
	}
	m, err := outbox.Decode(deliveries[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: received})
	if err == nil {
		err = d.Queue.Delete(t.Context(), from, deliveries[0].Receipt)
	}
	return err
}

// A start that sees the void run of another start, but not yet the run that the other one has
// opened, opens no second run. That also holds if there is a void run above, put by the message of
// an earlier try.
func TestStartDuringHalfOfAStart(t *testing.T) {
	t.Parallel()
	for test := range 4 {
		hide, fenced := test%2, test >= 2
		synctest.Test(t, func(t *testing.T) {
			d, ctx := testbed.New(t), context.Background()
			for range 3 {
				makeVoid(t, d, "w")
			}
			remove := func(number uint32) {
				for _, item := range d.Store.Dump("w") {
					if item.Run != number {
						continue
					}
					if err := d.Store.Delete(ctx, []store.Item{item}, nil); err != nil {
						t.Error(err)
					}
				}
			}
			remove(1)
			remove(2) // a start that reads only run 3 opens run 4, and makes run 1 void
			log := &tornLog{Log: d.Store, hide: hide}
			d.Ports.Log = log
			a, b := d.Idle(executor.Options{}, counters()...), d.Idle(executor.Options{}, counters()...)
			var second error
			answered := make(chan struct{})
			log.applied = func() {
				remove(3) // the void run expires
				if fenced {
					if err := d.Store.Append(ctx, voidRun(t, "w", 5, 10*day)); err != nil {
						t.Error(err)
					}
				}
				go func() {
					defer close(answered)
					_, second = testbed.Counter.Start(ctx, b.Client, "w", 2, workflow.StartOptions{})
				}()
				time.Sleep(time.Second)
				log.reveal()
			}
			if _, err := testbed.Counter.Start(ctx, a.Client, "w", 1, workflow.StartOptions{}); err != nil {
				t.Fatal(err)
			}
			<-answered
			if !errors.Is(second, refusal.AlreadyOpen) || thereAre(d, "w") != 1 {
				t.Errorf("item %d hidden, run 5 fenced: %t: there are %d runs, and the second start returned %v", hide, fenced, thereAre(d, "w"), second)
			}
		})
	}
}

// halfOfALap returns another process, and its log, which lacks half of the transaction that has
// continued run 1 as run 2.
func halfOfALap(t *testing.T) (*tornLog, *testbed.Process) {
	t.Helper()
	log, a, b, _ := tornTestbed(t, 1)
	log.applied = func() {}
	if err := relayNote.Send(context.Background(), a.Client, "w", "lap"); err != nil {
		t.Fatal(err)
	}
	return log, b
}

// Half of an old transaction is without its other half, because a backup restored it so or because
// a deletion has left it. Requests to the existing run are answered at once.
func TestHalfOfAnOldTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, b := halfOfALap(t)
		time.Sleep(2 * time.Hour)
		began := time.Now()
		if err := relayNote.Send(context.Background(), b.Client, "w", "x"); !errors.Is(err, refusal.NotFound) || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// A writer's clock may be an hour behind. Half of what it has put just now is not taken for half of
// an old transaction.
func TestHalfOfATransactionOfAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, b := halfOfALap(t)
		time.Sleep(host.ClockGap + host.ClockSkew) // for b this is as if a's clock were behind
		again := func() error {
			_, err := b.Service.Signal(context.Background(), "w", "", relayNote.Name(), schema.SignalRequest{Input: []byte(`"x"`), RequestID: "new"})
			return err
		}
		if err := again(); !errors.Is(err, refusal.Busy) {
			t.Errorf("while half is missing: %v", err)
		}
		log.reveal()
		if err := again(); err != nil {
			t.Error(err)
		}
	})
}

// A process reads half of a transaction, sleeps for a week, and goes on. It reads again, and does
// not take what it has read for half of an old transaction.
func TestASleepAfterHalfOfATransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, b := halfOfALap(t)
		log.missed = func() {
			time.Sleep(7 * 24 * time.Hour)
			log.reveal()
		}
		_, err := b.Service.Signal(context.Background(), "w", "", relayNote.Name(), schema.SignalRequest{Input: []byte(`"x"`), RequestID: "new"})
		if err != nil && !errors.Is(err, refusal.Busy) {
			t.Error(err)
		}
	})
}

// A closed run whose first commit is not visible yet has not been deleted. Its writer recognized
// the transaction that opened the run as its own, and continued the run.
func TestCommitsAfterAnOpeningInParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, a, b, _ := tornTestbed(t, 1)
		ctx := context.Background()
		log.applied = func() {}
		if err := relayNote.Send(ctx, a.Client, "w", "lap"); err != nil {
			t.Fatal(err)
		}
		if err := relayNote.Send(ctx, a.Client, "w", "end"); err != nil { // this process needs no read
			t.Fatal(err)
		}
		go func() {
			time.Sleep(time.Second)
			log.reveal()
		}()
		if n, err := relayType.Get(b.Client, "w").Result(ctx); n != 13 || err != nil {
			t.Errorf("the result is %d, %v", n, err)
		}
	})
}

// oldLog writes like earlier versions: the close of a run that a start replaces does not name the
// new run.
type oldLog struct {
	store.Log
	t        *testing.T
	replaced int // how many closes it has written in this way
}

func (l *oldLog) Append(ctx context.Context, items ...store.Item) error {
	for i := range items {
		c, err := history.Decode(items[i].Slot, items[i].Body)
		if err != nil {
			l.t.Error(err)
			continue
		}
		if len(c.InputEvents) == 0 {
			continue
		}
		if end, ok := c.InputEvents[len(c.InputEvents)-1].Attributes.(*history.WorkflowExecutionTerminated); ok && end.ReplacedBy != "" {
			l.replaced++
			end.ReplacedBy = ""
			if items[i].Body, err = history.Encode(c); err != nil {
				l.t.Error(err)
			}
		}
	}
	return l.Log.Append(ctx, items...)
}

// A run that an earlier version has replaced is read at once, because its close names no other run
// and nothing is missing. While readers see a part of the transaction, an answer may be wrong. As
// soon as they see all of it, all answers are right, because no process keeps a conclusion.
func TestReplacementOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	for name, ask := range asking {
		for hide := -1; hide < 2; hide++ {
			t.Run(fmt.Sprintf("%s/%d", name, hide), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					log, a, b, first := tornTestbed(t, max(hide, 0))
					old := &oldLog{Log: log.Log, t: t}
					log.Log = old
					if hide >= 0 {
						log.applied = func() {
							go func() { _ = asking["describe"](context.Background(), b, first) }()
							time.Sleep(time.Second)
							log.reveal()
							time.Sleep(30 * time.Second) // the request has been answered by then
						}
					}
					if err := tearing["replace"].do(a); err != nil || old.replaced != 1 {
						t.Fatalf("%d closes in the form of earlier versions, %v", old.replaced, err)
					}
					began := time.Now()
					if err := ask(context.Background(), b, first); err != nil {
						t.Error(err)
					}
					if took := time.Since(began); took > 100*time.Millisecond { // a lost race is repeated
						t.Errorf("answered after %v: the request waited for a missing part", took)
					}
				})
			})
		}
	}
}

// A restored backup has the close of an earlier version's replacement without its other half. That
// run is a terminated one: a start opens the next run.
func TestHalfOfAReplacementOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, a, b, first := tornTestbed(t, 1)
		log.Log = &oldLog{Log: log.Log, t: t}
		log.applied = func() {
			began := time.Now()
			what, err := b.Client.Describe(context.Background(), "w", "")
			if err != nil || what.RunID != first || what.Status != history.Terminated || time.Since(began) != 0 {
				t.Errorf("the description is %+v, %v, after %v", what, err, time.Since(began))
			}
		}
		if err := tearing["replace"].do(a); err != nil || log.applied != nil {
			t.Fatal(err)
		}
	})
}

// sleeper is a machine that may sleep. Its contexts do not count the time, as on Linux.
type sleeper struct {
	host.Machine
	slept atomic.Int64
}

func (s *sleeper) Now() time.Time { return s.Machine.Now().Add(time.Duration(s.slept.Load())) }

// A machine sleeps after it has decided on a commit. When it wakes, readers would no longer take
// what they see of the put for a part of it. So the commit is not put: a later delivery decides
// again.
func TestACommitOfBeforeASleepIsNotPut(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]error{"nothing was put": store.ErrThrottled, "unknown": store.ErrUnknown} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, world := testbed.New(t), &sleeper{}
				hooks := d.Hook()
				start := history.At(world.Now())
				hooks.Next(testbed.OnPut, func(put func() error) error { return put() })
				hooks.Next(testbed.OnPut, func(func() error) error {
					world.slept.Store(int64(time.Hour))
					return answer
				})
				process := assembly.NewProcess(assembly.Config{
					Ports: d.Ports, Receiver: d.Queue, Registry: testbed.Registry(t, workflow.Bind(landing, runLanding, workflow.Names(landMore, landEnd))), Host: world,
					Options: executor.Options{Build: "build-1", Logger: slog.New(slog.DiscardHandler)}, Concurrency: 16,
				})
				t.Cleanup(process.Work(t.Context()))
				if _, err := landing.Start(t.Context(), client.ForHandler(apitest.Handler(t, process.API)), "w", 0, workflow.StartOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				for _, c := range d.Commits("w", 1)[1:] {
					if c.Time < start.Add(time.Hour) {
						t.Errorf("commit %d was decided at %v, before the sleep", c.Slot, c.Time.Time())
					}
				}
				if len(d.Commits("w", 2)) == 0 {
					t.Error("the run has not continued as new")
				}
			})
		})
	}
}
