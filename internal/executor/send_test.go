package executor_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// spreading starts 25 activities, three activities of another task queue, and a timer, in one task.
func spreading() []workflow.Registration {
	spread := workflow.NewWorkflow[workflow.None, workflow.None]("spread")
	work := activity.New("spread.work", func(context.Context, int) (workflow.None, error) { return workflow.None{}, nil })
	return []workflow.Registration{work, workflow.Bind(spread, func(ctx workflow.Context, _ workflow.None) (workflow.None, error) {
		for i := range 25 {
			work.Start(ctx, i)
		}
		for i := range 3 {
			work.On("reports").Start(ctx, i)
		}
		return workflow.None{}, workflow.Sleep(ctx, time.Minute)
	})}
}

// gathered is a queue in which no Send returns before a number of them have begun.
type gathered struct {
	queue.Sender
	fails func(name string) error

	mu    sync.Mutex
	until int
	begun []string
	all   chan struct{}
}

func (g *gathered) Send(ctx context.Context, name string, messages ...queue.Message) error {
	g.mu.Lock()
	if g.begun = append(g.begun, name); len(g.begun) == g.until {
		close(g.all)
	}
	g.mu.Unlock()
	<-g.all
	if err := g.fails(name); err != nil {
		return err
	}
	return g.Sender.Send(ctx, name, messages...)
}

// The requests that send a commit's messages run in parallel, and the commit lands when all have
// succeeded. If they ran one after the other, the first would wait for ever.
func TestSendsAtOnce(t *testing.T) {
	t.Parallel()
	reports := queue.ForTasks("reports")
	for name, test := range map[string]struct {
		fails  string
		status int
	}{"all are sent": {"", http.StatusCreated}, "one is not": {reports, http.StatusServiceUnavailable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := testbed.New(t)
				g := &gathered{Sender: d.Ports.Queue, until: 5, all: make(chan struct{}), fails: func(name string) error {
					if name == test.fails {
						return errors.New("not now")
					}
					return nil
				}}
				d.Ports.Queue = g
				p := d.Idle(executor.Options{SendsAtOnce: 8, SoftLimit: time.Millisecond}, spreading()...)
				a := p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"spread"}`)
				if a.Status != test.status {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				slices.Sort(g.begun)
				if want := []string{queue.Activities, queue.Activities, queue.Activities, reports, queue.Timers}; !slices.Equal(g.begun[:5], want) {
					t.Errorf("sent to %q, want %q", g.begun[:5], want)
				}
				if there := p.Do(http.MethodGet, "/v1/workflows/a", "").Status == http.StatusOK; there != (test.fails == "") {
					t.Errorf("the run exists: %v", there)
				}
				if n := d.Queue.Len(queue.Activities); test.fails == "" && n != 25 {
					t.Errorf("%d activities were sent, want 25", n)
				}
			})
		})
	}
}

// A message that is delivered too early is sent again as the same sending, so that the sending that
// has ended an attempt sends the next one. It is never kept in the store, even if the receiver's
// clock is far behind: the sweep that has sent it may delete it there.
func TestTooEarlyStaysTheSameSending(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			sleeper := workflow.NewWorkflow[int, string]("sleeper")
			p := d.Idle(executor.Options{}, workflow.Bind(sleeper, func(ctx workflow.Context, _ int) (string, error) {
				return "", workflow.Sleep(ctx, time.Minute)
			}))
			if _, err := sleeper.Start(t.Context(), p.Client, "w", 0); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			first := messages(t, d, queue.Timers)[0]
			early := *first
			early.Due = first.Due.Add(by) // the sender's clock is ahead
			handleOnce(t, p, &early, 1)
			kept, err := d.Store.DueTimers(t.Context(), early.Due.Time(), 10)
			if err != nil || len(kept) > 0 {
				t.Errorf("%v too early: the store keeps %d timers, %v", by, len(kept), err)
			}
			time.Sleep(min(by, queue.MaxDelay))
			all := messages(t, d, queue.Timers)
			if again := all[len(all)-1]; again.Due != early.Due || again.Send != first.Send || again.CausationID != first.CausationID {
				t.Errorf("%v too early: sent as %+v, and again as %+v", by, first, again)
			}
		})
	}
}
