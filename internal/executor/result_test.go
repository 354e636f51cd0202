package executor_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// choosy is a queue that refuses messages to some of its queues.
type choosy struct {
	queue.Sender
	names map[string]bool
}

func (r *choosy) Send(ctx context.Context, name string, m ...queue.Message) error {
	if r.names[name] {
		return errDead
	}
	return r.Sender.Send(ctx, name, m...)
}

// silent is a log that applies no put and answers none while on is set.
type silent struct {
	store.Log
	on bool
}

func (l *silent) Append(ctx context.Context, items ...store.Item) error {
	if l.on {
		return store.ErrUnknown
	}
	return l.Log.Append(ctx, items...)
}

// A result is kept as long as one place accepts it, and its activity does not run again.
func TestAResultIsKept(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		activities int
		refuses    []string // by the queues, during the first deliveries
		silent     bool
	}{
		"the workflow queue refuses":                 {2, []string{queue.Workflow}, false},
		"the put is not answered":                    {1, nil, true},
		"the put is not answered, of several":        {2, []string{queue.Workflow}, true},
		"the put is not answered, no workflow queue": {1, []string{queue.Workflow}, true},
	} {
		for _, most := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := &tries{Deployment: testbed.New(t), t: t}
					q, log := &choosy{Sender: d.Ports.Queue, names: map[string]bool{}}, &silent{Log: d.Ports.Log}
					d.Ports.Queue, d.Ports.Log = q, log
					ran := 0
					pay := activity.New("pay", func(context.Context, int) (string, error) {
						ran++
						log.on = test.silent
						return "paid ", nil
					}, activity.Options{Retry: activity.Retry{MaxAttempts: most}})
					p := d.Idle(executor.Options{}, pay, workflow.Bind(triesType, func(ctx workflow.Context, n int) (text string, err error) {
						var all []workflow.Future[string]
						for i := range n {
							all = append(all, pay.Start(ctx, i))
						}
						for _, a := range all {
							result, err := a.Get(ctx)
							if err != nil {
								return "", err
							}
							text += result
						}
						return text, nil
					}))
					if _, err := triesType.Start(t.Context(), p.Client, "w", test.activities); err != nil {
						t.Fatal(err)
					}
					for _, name := range test.refuses {
						q.names[name] = true
					}
					for range test.activities {
						log.on = false
						d.hand(p, queue.Activities, d.receive(queue.Activities))
					}
					clear(q.names)
					log.on = false
					d.settle(p)
					want := "paid "
					if test.activities == 2 {
						want = "paid paid "
					}
					if got := d.outcome(p); got != want || ran != test.activities {
						t.Errorf("the activities ran %d times, and the workflow has %q", ran, got)
					}
				})
			})
		}
	}
}

// slowQueue takes some time for each call that sends results, and can refuse calls.
type slowQueue struct {
	queue.Sender
	mu      sync.Mutex
	calls   []int // the number of messages in each call
	refuses bool
	atOnce  int
	most    int
}

func (q *slowQueue) Send(ctx context.Context, name string, m ...queue.Message) error {
	if name != queue.Workflow {
		return q.Sender.Send(ctx, name, m...)
	}
	q.mu.Lock()
	q.calls = append(q.calls, len(m))
	q.atOnce++
	q.most = max(q.most, q.atOnce)
	q.mu.Unlock()
	time.Sleep(10 * time.Millisecond)
	q.mu.Lock()
	q.atOnce--
	q.mu.Unlock()
	if q.refuses {
		return errDead
	}
	return q.Sender.Send(ctx, name, m...)
}

// Results that the handlers of one process have at the same time are sent in few calls, one after
// the other, because a message group allows 300 calls a second. If the queue refuses them, each is
// still committed, and no activity runs again.
func TestResultsAreSentTogether(t *testing.T) {
	t.Parallel()
	const activities = 40
	for _, refuses := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			q := &slowQueue{Sender: d.Ports.Queue, refuses: refuses}
			d.Ports.Queue = q
			var ran atomic.Int32
			pay := activity.New("pay", func(context.Context, int) (string, error) {
				ran.Add(1)
				time.Sleep(time.Second)
				return "", nil
			})
			p := d.Idle(executor.Options{}, pay, workflow.Bind(triesType, func(ctx workflow.Context, n int) (text string, err error) {
				var all []workflow.Future[string]
				for i := range n {
					all = append(all, pay.Start(ctx, i))
				}
				for _, a := range all {
					if _, err := a.Get(ctx); err != nil {
						return "", err
					}
				}
				return "done", nil
			}))
			run, err := triesType.Start(t.Context(), p.Client, "w", activities)
			if err != nil {
				t.Fatal(err)
			}
			var all []*engine.Message
			for len(all) < activities {
				all = append(all, messages(t, d, queue.Activities)...)
			}
			var handlers sync.WaitGroup
			for _, m := range all {
				handlers.Go(func() {
					if err := p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: 1}); err != nil {
						t.Error(err)
					}
				})
			}
			handlers.Wait()
			d.Drain(t.Context(), func(string) *testbed.Process { return p })
			if result, err := run.Result(t.Context()); err != nil || result != "done" || ran.Load() != activities {
				t.Errorf("%q, %v, after %d attempts", result, err, ran.Load())
			}
			if q.most != 1 || !refuses && len(q.calls) > 6 {
				t.Errorf("%d calls, with %v messages, up to %d at once", len(q.calls), q.calls, q.most)
			}
		})
	}
}

// A handler that runs out of time while it waits behind a batch does not keep the others from
// sending.
func TestASenderOfResultsThatGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		d.Ports.Queue = &slowQueue{Sender: d.Ports.Queue}
		p := d.Idle(executor.Options{}, testbed.Workload("build-1")...)
		var senders sync.WaitGroup
		send := func(id string, limit time.Duration) {
			senders.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				e := history.Of(&history.ActivityTaskCompleted{ScheduledEventID: 5})
				m := engine.Message{Kind: engine.TakeResult, WorkflowID: "w", RunID: history.RunID("1-" + id), EventID: 5, Attempt: 1, Result: &e}
				_ = p.Service.Service.Process.Outbox.SendResult(ctx, m)
			})
		}
		for i := range 60 {
			send(fmt.Sprintf("%016x", i), time.Duration(i%7)*5*time.Millisecond)
		}
		senders.Wait()
		send("00000000000000ff", time.Second)
		senders.Wait()
		last := ""
		for d.Queue.Len(queue.Workflow) > 0 {
			deliveries, err := d.Queue.Receive(t.Context(), queue.Workflow, queue.MaxBatch)
			if err != nil {
				t.Fatal(err)
			}
			for _, delivery := range deliveries {
				m, err := outbox.Decode(delivery.Body)
				if err != nil {
					t.Fatal(err)
				}
				last = string(m.RunID)
				if err := d.Queue.Delete(t.Context(), queue.Workflow, delivery.Receipt); err != nil {
					t.Fatal(err)
				}
			}
		}
		if last != "1-00000000000000ff" {
			t.Errorf("the last result sent is that of %q", last)
		}
	})
}
