package executor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// executions runs a workflow whose activity is executed several times at once, each in a process of
// its own. A test says what each execution does next.
type executions struct {
	t     *testing.T
	d     *testbed.Deployment
	hooks *testbed.Hooks
	all   []*testbed.Process
	begun chan *execution
	by    []*execution
	m     *engine.Message // the message of the activity
}

type execution struct {
	attempt int
	do      chan string
	answers chan error
	ends    chan error // what the handler of the message returned
}

// newExecutions starts the workflow. If besides is set, it waits for another activity at the same
// time, which nobody runs.
func newExecutions(t *testing.T, besides bool) *executions {
	x := &executions{t: t, d: testbed.New(t), begun: make(chan *execution)}
	x.hooks = x.d.Hook()
	act := activity.New("stream", func(ctx context.Context, _ int) (string, error) {
		e := &execution{attempt: activity.InfoOf(ctx).Attempt, do: make(chan string), answers: make(chan error)}
		x.begun <- e
		for {
			what, text, _ := strings.Cut(<-e.do, " ")
			switch what {
			case "publish":
				e.answers <- activity.Publish(ctx, tokensOf, text)
			case "add":
				e.answers <- activity.Publisher(ctx, tokensOf).Add(text)
			case "beat":
				e.answers <- activity.Heartbeat(ctx, text)
			case "return":
				return text, nil
			case "fail":
				return "", errors.New(text)
			case "final":
				return "", activity.NewError("Broken", text).Final()
			case "outside":
				_, err := activity.Token(ctx)
				return "", errors.Join(err, activity.ErrPending)
			}
		}
	}, activity.Options{StartToClose: time.Hour, Pending: time.Hour})
	other := activity.New("other", func(context.Context, int) (string, error) { return "", errors.New("it runs") })
	code := workflow.Bind(streaming, func(ctx workflow.Context, in int) (string, error) {
		if besides {
			other.Start(ctx, 1)
		}
		return act.Run(ctx, in)
	}, workflow.Names(tokensOf))
	for range 3 {
		x.all = append(x.all, x.d.Idle(executor.Options{}, act, other, code))
	}
	if _, err := streaming.Start(t.Context(), x.all[0].Client, "s", 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range messages(t, x.d, queue.Activities) {
		if m.Activity.ActivityType == "stream" {
			x.m = m
		}
	}
	return x
}

// begin delivers a message, and waits until the code runs.
func (x *executions) begin(m *engine.Message) {
	x.t.Helper()
	ends, p, copied := make(chan error, 1), x.all[len(x.by)%len(x.all)], *m
	go func() {
		ends <- p.Service.Service.Deliveries.Handle(context.WithoutCancel(x.t.Context()), executor.Delivery{Message: &copied, Received: 1})
	}()
	select {
	case e := <-x.begun:
		e.ends = ends
		x.by = append(x.by, e)
	case err := <-ends:
		x.t.Fatal("the message leads to no execution:", err)
	}
}

// play lets executions do something: "0 publish a" publishes an item in the first one. "0 begin"
// begins it. It demands that publishing succeeds, unless the step ends with " !" and the error that
// it returns instead.
func (x *executions) play(steps ...string) {
	x.t.Helper()
	for _, step := range steps {
		step, want, fails := strings.Cut(step, " !")
		n := int(step[0] - '0')
		switch what := step[2:]; {
		case what == "begin":
			x.begin(x.m)
		case strings.HasPrefix(what, "publish"), strings.HasPrefix(what, "add"), strings.HasPrefix(what, "beat"):
			x.by[n].do <- what
			if err := <-x.by[n].answers; fails && (err == nil || !strings.Contains(err.Error(), want)) || !fails && err != nil {
				x.t.Errorf("%s: %v, want %q", step, err, want)
			}
		default:
			x.by[n].do <- what
			if err := <-x.by[n].ends; err != nil {
				x.t.Errorf("%s: %v", step, err)
			}
		}
	}
}

// results lets a process handle the results in the workflow's queue.
func (x *executions) results() (n int) {
	x.t.Helper()
	deliveries := x.waiting(queue.Workflow)
	var all []*engine.Message
	for _, d := range deliveries {
		m, err := outbox.Decode(d.Body)
		if err != nil {
			x.t.Fatal(err)
		}
		all = append(all, m)
	}
	if err := x.all[0].Service.Service.Deliveries.HandleResults(x.t.Context(), "s", all); err != nil {
		x.t.Error(err)
	}
	for _, d := range deliveries {
		if err := x.d.Queue.Delete(x.t.Context(), queue.Workflow, d.Receipt); err != nil {
			x.t.Error(err)
		}
	}
	return len(all)
}

// sent returns the messages of the activity that were sent after the first one.
func (x *executions) sent() (all []*engine.Message) {
	x.t.Helper()
	for _, m := range messages(x.t, x.d, queue.Activities) {
		if m.EventID == x.m.EventID && (m.Attempt > 1 || m.Look > x.m.Look) {
			all = append(all, m)
		}
	}
	return all
}

// outcome returns the status of the activity, and what it ended with.
func (x *executions) outcome() string {
	for _, c := range x.d.Runs("s")[0].Log {
		for _, e := range c.InputEvents {
			if a, ok := e.Attributes.(*history.ActivityTaskCompleted); ok {
				return string(a.Result)
			}
			if a, ok := e.Attributes.(*history.ActivityTaskFailed); ok {
				return a.Failure.Message
			}
			if t := e.Type(); t == history.TypeActivityTaskCanceled || t == history.TypeActivityTaskTimedOut {
				return t.String()
			}
		}
	}
	return ""
}

func (x *executions) check(outcome string, items ...string) {
	x.t.Helper()
	x.all[2].Do(http.MethodGet, "/v1/workflows/s", "") // a process that has not looked yet
	if got, _ := itemsRead(x.t, x.all[2].Client, "s"); !slices.Equal(got, items) {
		x.t.Errorf("the items are %v, want %v", got, items)
	}
	if got := x.outcome(); got != outcome {
		x.t.Errorf("the activity has ended with %q, want %q", got, outcome)
	}
}

// An execution from which another one has taken over ends nothing, however it ends itself: a reader
// who drops the items of earlier executions would have half a stream. One that has published
// nothing takes over from executions that published before it began.
func TestOvertakenExecutionsEndNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		steps   []string
		outcome string // of the activity
		items   []string
		sent    int // messages of further attempts, and copies
	}{
		"it returns": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 return zero"}, "", []string{"0a1", "1b1"}, 1,
		},
		"it has published nothing": {
			[]string{"0 begin", "1 begin", "1 publish b", "0 return zero"}, "", []string{"0b1"}, 1,
		},
		"it fails for good": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 final zero"}, "", []string{"0a1", "1b1"}, 1,
		},
		"it fails for good, and has published nothing": {
			[]string{"0 begin", "1 begin", "1 publish b", "0 final zero"}, "", []string{"0b1"}, 1,
		},
		"it fails": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 fail zero"}, "", []string{"0a1", "1b1"}, 1,
		},
		"it goes on outside": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 outside", "1 return one"}, `"one"`, []string{"0a1", "1b1"}, 1,
		},
		"it sends a heartbeat": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 beat x !canceled", "0 return zero"}, "", []string{"0a1", "1b1"}, 1,
		},
		"the later one returns": {
			[]string{"0 begin", "1 begin", "0 publish a", "1 publish b", "0 return zero", "1 publish c", "1 return one"}, `"one"`, []string{"0a1", "1b1", "2c1"}, 1,
		},
		"the later one has published nothing": {
			[]string{"0 begin", "0 publish a", "1 begin", "1 return one"}, `"one"`, []string{"0a1"}, 0,
		},
		"the later one has published nothing, and the earlier one goes on": {
			[]string{"0 begin", "0 publish a", "1 begin", "0 publish b", "1 return one", "0 return zero"}, `"zero"`, []string{"0a1", "1b1"}, 1,
		},
		"its last batch takes over": {
			[]string{"0 begin", "1 begin", "1 publish b", "0 add a", "0 return zero", "1 publish c !ended"}, `"zero"`, []string{"0b1", "1a1"}, 0,
		},
		"its last batch is out of turn": {
			[]string{"0 begin", "1 begin", "0 publish a", "0 add c", "1 publish b", "0 return zero"}, "", []string{"0a1", "1b1"}, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newExecutions(t, false)
				x.play(test.steps...)
				x.check(test.outcome, test.items...)
				time.Sleep(20 * time.Minute)
				if sent := x.sent(); len(sent) != test.sent || len(sent) > 0 && (sent[0].Attempt != 1 || !sent[0].Duplicate) {
					t.Errorf("%d messages, want %d: %+v", len(sent), test.sent, sent)
				}
				x.finish()
			})
		})
	}
}

// finish ends the executions that still run.
func (x *executions) finish() {
	for _, e := range x.by {
		select {
		case e.do <- "final over":
			<-e.ends
		default:
		}
	}
}

// A result waits in the workflow's queue while another execution takes over. It is not taken, and a
// copy of the attempt's message runs the attempt again if the other execution has died: both may
// have been deliveries of one message, which was deleted. A result without what it knew, from an
// earlier version, is taken.
func TestOvertakenResultsInTheQueue(t *testing.T) {
	t.Parallel()
	for _, died := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			x := newExecutions(t, true)
			x.play("0 begin", "1 begin", "0 publish a", "0 return zero", "1 publish b")
			if n := x.results(); n != 1 {
				t.Fatalf("%d results", n)
			}
			x.check("", "0a1", "1b1")
			if !died {
				x.play("1 publish c", "1 return one")
				x.results()
				x.check(`"one"`, "0a1", "1b1", "2c1")
				return
			}
			time.Sleep(20 * time.Minute)
			all := x.sent()
			if len(all) != 1 || all[0].Attempt != 1 || !all[0].Duplicate {
				t.Fatalf("%d copies", len(all))
			}
			x.begin(all[0])
			x.play("2 publish c", "2 return two")
			x.results()
			x.check(`"two"`, "0a1", "1b1", "2c1")
			x.finish()
		})
	}
	synctest.Test(t, func(t *testing.T) {
		x := newExecutions(t, true)
		x.play("0 begin", "1 begin", "0 publish a", "0 return zero", "1 publish b")
		all := messages(t, x.d, queue.Workflow)
		all[0].Since = nil
		if err := x.all[0].Service.Service.Deliveries.HandleResults(t.Context(), "s", all); err != nil {
			t.Error(err)
		}
		x.check(`"zero"`, "0a1", "1b1")
		x.finish()
	})
}

// A message that is itself a copy was delivered twice. The execution that was overtaken sends
// another copy, because it deletes the message of both. A copy of a copy comes when the other
// execution must have ended, and a further one after twice as long as the one before.
func TestOvertakenCopiesAreSentAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		duplicate bool
		yields    int
		after     time.Duration
	}{
		{false, 0, 15 * time.Minute},
		{true, 0, time.Hour + 32*time.Second},
		{true, 1, time.Hour + 32*time.Second},
		{true, 3, 2 * time.Hour},
		{true, 10, 256 * time.Hour},
		{true, 1 << 40, 256 * time.Hour},
	} {
		for _, besides := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				x := newExecutions(t, besides)
				x.m.Look, x.m.Copy, x.m.Duplicate, x.m.Yields = 2, 7, test.duplicate, test.yields
				if x.play("0 begin", "1 begin", "0 publish a"); besides {
					x.play("0 return zero", "1 publish b")
					x.results()
				} else {
					x.play("1 publish b", "0 publish c !canceled", "0 return zero")
				}
				for _, in := range []time.Duration{test.after - time.Minute, 2 * time.Minute} {
					time.Sleep(in)
					if _, err := x.all[0].Service.Service.Deliveries.Sweep(t.Context()); err != nil {
						t.Fatal(err)
					}
					copies := slices.DeleteFunc(x.taken(), func(m *engine.Message) bool { return m.Attempt > 1 }) // the other execution times out
					if len(copies) == 1 != (in == 2*time.Minute) {
						t.Errorf("%+v, besides another activity %v: %d copies", test, besides, len(copies))
					}
				}
				x.finish()
			})
		}
	}
}

// A batch lands, and its put is not answered. The attempt fails. The execution finds its own batch,
// and has not been overtaken: its failure stands, and the next attempt follows.
func TestABatchWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for _, batch := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			d := testbed.New(t)
			hooks, attempts := d.Hook(), 0
			p := d.Start(executor.Options{}, streams(func(ctx context.Context, _ int) (string, error) {
				if attempts++; attempts == 2 {
					return "done", activity.Publish(ctx, tokensOf, "b")
				}
				for i := range batch {
					if i == batch-1 {
						landed := false
						hooks.Always(testbed.OnPut, func(do func() error) error {
							if !landed {
								landed = true
								_ = do()
							}
							return store.ErrUnknown
						})
						defer hooks.Always(testbed.OnPut, nil)
					}
					if err := activity.Publish(ctx, tokensOf, "a"); err != nil {
						return "", err
					}
				}
				return "", errors.New("the put was answered")
			}, activity.Options{StartToClose: time.Hour})...)
			run, err := streaming.Start(t.Context(), p.Client, "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if result, err := run.Result(t.Context()); err != nil || result != "done" || attempts != 2 || time.Since(began) > time.Minute {
				t.Errorf("%q, %v of %d attempts after %v", result, err, attempts, time.Since(began))
			}
			want := []string{"0a1", "1a1"}[:batch]
			want = append(want, fmt.Sprint(batch, "b2"))
			if items, _ := itemsRead(t, p.Client, "s"); !slices.Equal(items, want) {
				t.Errorf("the items are %v, want %v", items, want)
			}
		})
	}
}
