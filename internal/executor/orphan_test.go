package executor_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// forgetful is a queue that can lose messages about children, or messages of other kinds.
type forgetful struct {
	queue.Sender
	kinds []engine.MessageKind // nil means messages about children
	mu    sync.Mutex
	loses bool
	lost  int
	last  *engine.Message // the last lost message
}

// Send loses messages of these kinds without an error, if it should.
func (q *forgetful) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return q.Sender.Send(ctx, name, q.keep(messages)...)
}

func (q *forgetful) keep(messages []queue.Message) []queue.Message {
	q.mu.Lock()
	defer q.mu.Unlock()
	kept := slices.DeleteFunc(slices.Clone(messages), func(m queue.Message) bool {
		d, err := outbox.Decode(m.Body)
		loses := q.loses && err == nil && (q.kinds == nil && d.Kind == engine.StartOrCloseChild || slices.Contains(q.kinds, d.Kind))
		if loses {
			q.last = d
		}
		return loses
	})
	q.lost += len(messages) - len(kept)
	return kept
}

// lose sets whether the queue loses messages from now on, and returns how many it has lost.
func (q *forgetful) lose(loses bool) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.loses = loses
	return q.lost
}

// A closing parent's messages about its children are lost. A day later the slow check ends the
// children that were to end with the parent. It does so even if the parent was reset after it had
// started them, or if a child has continued as new. It does not touch the other children.
func TestLostClosePolicies(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"closes", "is reset", "has children that continue"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { loseClosePolicies(t, how) })
		})
	}
}

func loseClosePolicies(t *testing.T, how string) {
	lap := workflow.NewWorkflow[int, string]("lap")
	laps := func(ctx workflow.Context, n int) (string, error) {
		if how != "has children that continue" {
			return "", workflow.Sleep(ctx, 100*24*time.Hour)
		}
		if err := workflow.Sleep(ctx, 5*time.Hour); err != nil {
			return "", err
		}
		return lap.ContinueAsNew(ctx, n+1)
	}
	code := func(ctx workflow.Context, _ string) (string, error) {
		for id, policy := range []workflow.ParentClosePolicy{workflow.TerminateChild, workflow.RequestCancelChild, workflow.AbandonChild} {
			child := lap.StartChild(ctx, 0, workflow.ChildOptions{WorkflowID: fmt.Sprint("k", id), ParentClosePolicy: policy})
			if _, err := child.Started(ctx); err != nil {
				return "", err
			}
		}
		return "", workflow.Sleep(ctx, 100*24*time.Hour)
	}
	d := maintained(t)
	q := &forgetful{Sender: d.Ports.Queue}
	d.Ports.Queue = q
	p := d.Start(executor.Options{}, workflow.Bind(lap, laps), workflow.Bind(parent, code))
	run, err := parent.Start(t.Context(), p.Client, "p", "")
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Hour) // by then the check has run and found everything healthy
	if how == "is reset" {
		if _, err := p.Client.Reset(t.Context(), "p", client.ResetOptions{To: "lastTask"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		run = parent.Get(p.Client, "p")
	}
	status := func(id string) history.Status {
		told, err := p.Client.Describe(t.Context(), id, "")
		if err != nil {
			t.Fatal(err)
		}
		return told.Status
	}
	q.lose(true)
	if err := run.Terminate(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
	if lost := q.lose(false); lost != 2 || status("k0") != history.Running {
		t.Fatalf("%d messages are lost, and the first child is %v: the test does not test anything", lost, status("k0"))
	}
	time.Sleep(3 * 24 * time.Hour)
	want := []history.Status{history.Terminated, history.Canceled, history.Running}
	if how == "has children that continue" {
		want[1] = history.Running // the following run may have been asked to end before that
	}
	for i, expected := range want {
		if got := status(fmt.Sprint("k", i)); got != expected {
			t.Errorf("child %d is %v, want %v", i, got, expected)
		}
	}
	p.Stop()
	d.CheckReplay(p)
}

// The message that starts a child is delivered twice. The first delivery is delayed. The second one
// arrives when the parent has closed and the child does not exist. Then the first delivery starts
// the child, and its process dies before it sends anything. The child still ends as its close
// policy says.
func TestChildThatStartsAfterItsParentClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := workflow.NewWorkflow[int, string]("late")
		wait := func(ctx workflow.Context, _ int) (string, error) { return "", workflow.Sleep(ctx, 100*24*time.Hour) }
		code := func(ctx workflow.Context, _ string) (string, error) {
			return late.RunChild(ctx, 0, workflow.ChildOptions{WorkflowID: "k"})
		}
		d := maintained(t)
		q := &forgetful{Sender: d.Ports.Queue, loses: true}
		d.Ports.Queue = q
		p := d.Start(executor.Options{}, workflow.Bind(late, wait), workflow.Bind(parent, code))
		run, err := parent.Start(t.Context(), p.Client, "p", "")
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Terminate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if lost := q.lose(false); lost != 2 {
			t.Fatalf("%d messages are held up, want the start and the close policy", lost)
		}
		m := q.last
		again := *m
		handleOnce(t, p, &again, 2)
		parent := d.Runs("p")[0]
		slot, _ := parent.SlotOf(m.EventID)
		request := engine.Command(parent.Log[slot], m.EventID).(*history.StartChildWorkflowExecutionInitiated).RequestID
		if _, err := late.Start(t.Context(), p.Client, "k", 0, workflow.StartOptions{RequestID: request}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if told, err := p.Client.Describe(t.Context(), "k", ""); err != nil || told.Status != history.Terminated {
			t.Errorf("the child is %+v, %v", told, err)
		}
		p.Stop()
		d.CheckReplay(p)
	})
}

// A frozen process starts a child whose parent has closed since. The close policy was carried out
// before and found no child. The process sends the news to the workflow's queue, because the parent
// had several children. The handler of the news carries out the policy, even if another run
// continues the parent.
func TestNewsOfAChildOfAClosedParent(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"terminates", "continues"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				late := workflow.NewWorkflow[int, string]("late")
				wait := func(ctx workflow.Context, _ int) (string, error) { return "", workflow.Sleep(ctx, 100*24*time.Hour) }
				code := func(ctx workflow.Context, round string) (string, error) {
					if round == "" {
						for _, id := range []string{"k0", "k1"} {
							late.StartChild(ctx, 0, workflow.ChildOptions{WorkflowID: id})
						}
					}
					if _, err := kidGo.Receive(ctx); err != nil {
						return "", err
					}
					return parent.ContinueAsNew(ctx, "again")
				}
				d := maintained(t)
				q := &forgetful{Sender: d.Ports.Queue, loses: true}
				d.Ports.Queue = q
				frozen := d.Idle(executor.Options{}, workflow.Bind(late, wait), workflow.Bind(parent, code, workflow.Names(kidGo)))
				other := d.Idle(executor.Options{}, workflow.Bind(late, wait), workflow.Bind(parent, code, workflow.Names(kidGo)))
				run, err := parent.Start(t.Context(), frozen.Client, "p", "")
				if err != nil {
					t.Fatal(err)
				}
				start := *q.last
				if end == "continues" {
					err = kidGo.Send(t.Context(), other.Client, "p", "go")
				} else {
					err = parent.Get(other.Client, "p").Terminate(t.Context(), "")
				}
				if err != nil {
					t.Fatal(err)
				}
				if lost := q.lose(false); lost != 4 {
					t.Fatalf("%d messages are lost, want two starts and two close policies", lost)
				}
				d.DrainFor(t.Context(), time.Hour, func(string) *testbed.Process { return other })
				handleOnce(t, frozen, &start, 1)
				d.DrainFor(t.Context(), time.Hour, func(string) *testbed.Process { return other })
				if told, err := other.Client.Describe(t.Context(), "k1", ""); err != nil || told.Status != history.Terminated {
					t.Errorf("the child of %s is %+v, %v", run.RunID, told, err)
				}
				d.CheckReplay(other)
			})
		})
	}
}

// A child ends whose parent was reset. A frozen process holds only the run before the reset, and
// sends the outcome to the workflow's queue for that run. The outcome still reaches the open run.
func TestOutcomeOfAChildOfARunThatWasReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		code := func(ctx workflow.Context, _ string) (string, error) {
			first, second := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k0"}), kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "k1"})
			one, err := first.Get(ctx)
			if err != nil {
				return "", err
			}
			two, err := second.Get(ctx)
			return one + ", " + two, err
		}
		d := testbed.New(t)
		q := &forgetful{Sender: d.Ports.Queue, kinds: []engine.MessageKind{engine.NotifyParent}}
		d.Ports.Queue = q
		registrations := []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, code)}
		frozen, other := d.Idle(executor.Options{}, registrations...), d.Idle(executor.Options{}, registrations...)
		drain := func() {
			t.Helper()
			d.DrainFor(t.Context(), time.Hour, func(string) *testbed.Process { return other })
		}
		if _, err := parent.Start(t.Context(), frozen.Client, "p", ""); err != nil {
			t.Fatal(err)
		}
		drain()
		again, err := parent.Get(other.Client, "p").Reset(t.Context(), workflow.ResetOptions{To: "lastTask"})
		if err != nil {
			t.Fatal(err)
		}
		drain()
		q.lose(true)
		if err := kidGo.Send(t.Context(), other.Client, "k1", "one"); err != nil {
			t.Fatal(err)
		}
		if lost := q.lose(false); lost != 1 {
			t.Fatalf("%d messages are lost, want the outcome of the child", lost)
		}
		handleOnce(t, frozen, q.last, 1)
		if err := kidGo.Send(t.Context(), other.Client, "k0", "two"); err != nil {
			t.Fatal(err)
		}
		drain()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got, err := again.Result(ctx); err != nil || got != "heard two, heard one" {
			t.Errorf("%q, %v", got, err)
		}
		d.CheckReplay(other)
	})
}
