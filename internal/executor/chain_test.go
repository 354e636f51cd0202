package executor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// links is a workflow of three activities, one after the other, and a record of their attempts.
type links struct {
	options [3]activity.Options
	during  func(step string) // called in each attempt; nil does nothing

	mu       sync.Mutex
	attempts map[string]int
}

var linked = workflow.NewWorkflow[workflow.None, string]("linked")

func (l *links) registrations() []workflow.Registration {
	l.attempts = map[string]int{}
	var steps []activity.Activity[workflow.None, string]
	var all []workflow.Registration
	for i, o := range l.options {
		name := string(rune('a' + i))
		step := activity.New(name, func(context.Context, workflow.None) (string, error) {
			l.mu.Lock()
			l.attempts[name]++
			l.mu.Unlock()
			if l.during != nil {
				l.during(name)
			}
			return name, nil
		}, o)
		steps, all = append(steps, step), append(all, step)
	}
	return append(all, workflow.Bind(linked, func(ctx workflow.Context, in workflow.None) (text string, err error) {
		for _, step := range steps {
			letter, err := step.Run(ctx, in)
			if err != nil {
				return text, err
			}
			text += letter
		}
		return text, nil
	}))
}

// sends counts the messages that run activities.
type sends struct {
	queue.Sender
	mu sync.Mutex
	n  int
}

func (s *sends) Send(ctx context.Context, name string, messages ...queue.Message) error {
	s.mu.Lock()
	if name != queue.Workflow && name != queue.Timers {
		s.n += len(messages)
	}
	s.mu.Unlock()
	return s.Sender.Send(ctx, name, messages...)
}

// A deployment that chains activities sends a message for the first one of a chain, and for those
// that cannot follow inline: because of their own options, of the activity before them, of a rate,
// or of the time that is left.
func TestChain(t *testing.T) {
	t.Parallel()
	second := func(o activity.Options) [3]activity.Options { return [3]activity.Options{1: o} }
	for name, c := range map[string]struct {
		off      bool
		options  [3]activity.Options
		rate     limits.Rate
		left     time.Duration // that the invocation has; 0 is no limit
		messages int
	}{
		"chained":                         {messages: 1},
		"off":                             {off: true, messages: 3},
		"off, with an inline activity":    {off: true, options: second(activity.Options{Inline: true}), messages: 2},
		"queued":                          {options: second(activity.Options{Queued: true}), messages: 2},
		"queued and off":                  {off: true, options: second(activity.Options{Queued: true}), messages: 3},
		"all inline by their authors":     {options: [3]activity.Options{{Inline: true}, {Inline: true}, {Inline: true}}, messages: 1},
		"one attempt":                     {options: second(activity.Options{Retry: activity.Retry{MaxAttempts: 1}}), messages: 2},
		"several attempts at most":        {options: second(activity.Options{Retry: activity.Retry{MaxAttempts: 3}}), messages: 1},
		"on a task queue":                 {options: second(activity.Options{TaskQueue: "slow"}), messages: 3},
		"with a rate":                     {rate: limits.Rate{PerSecond: 1000, Burst: 10}, messages: 3},
		"time for all":                    {left: time.Minute, messages: 1},
		"no time for the second":          {left: 36 * time.Second, messages: 3},
		"no time for the last":            {left: time.Minute, options: [3]activity.Options{2: {StartToClose: 55 * time.Second}}, messages: 2},
		"ends at a timeout of its own":    {options: second(activity.Options{ScheduleToClose: time.Hour}), messages: 1}, // another one ends it
		"two others start with the first": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.messages == 0 {
				chainOfTwo(t)
				return
			}
			synctest.Test(t, func(t *testing.T) {
				d, l := testbed.New(t), &links{options: c.options}
				count := &sends{Sender: d.Ports.Queue}
				d.Ports.Queue = count
				p := d.Idle(executor.Options{Engine: engine.Options{Chain: !c.off}, Rate: func(string) limits.Rate { return c.rate }}, l.registrations()...)
				if _, err := linked.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				drainWithin(t, d, p, c.left)
				if text, err := linked.Get(p.Client, "w").Result(t.Context()); err != nil || text != "abc" {
					t.Errorf("the run returned %q, %v", text, err)
				}
				if count.n != c.messages {
					t.Errorf("%d messages were sent, want %d", count.n, c.messages)
				}
				d.CheckReplay(p)
			})
		})
	}
}

// chainOfTwo checks that an activity which begins beside another gets a message: more than one
// thing follows.
func chainOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := testbed.New(t)
		count := &sends{Sender: d.Ports.Queue}
		d.Ports.Queue = count
		fork := workflow.NewWorkflow[workflow.None, int]("fork")
		one := activity.New("one", func(context.Context, workflow.None) (int, error) { return 1, nil })
		p := d.Idle(executor.Options{Engine: engine.Options{Chain: true}}, one, workflow.Bind(fork, func(ctx workflow.Context, in workflow.None) (int, error) {
			if _, err := one.Run(ctx, in); err != nil {
				return 0, err
			}
			left, right := one.Start(ctx, in), one.Start(ctx, in)
			a, err := left.Get(ctx)
			b, err2 := right.Get(ctx)
			return a + b, cmp.Or(err, err2)
		}))
		if _, err := fork.Start(t.Context(), p.Client, "w", workflow.None{}); err != nil {
			t.Fatal(err)
		}
		drainWithin(t, d, p, 0)
		if n, err := fork.Get(p.Client, "w").Result(t.Context()); err != nil || n != 2 {
			t.Errorf("the run returned %d, %v", n, err)
		}
		if count.n != 3 {
			t.Errorf("%d messages were sent, want 3", count.n)
		}
		d.CheckReplay(p)
	})
}

// drainWithin delivers all messages. Each invocation has this time; 0 is no limit.
func drainWithin(t *testing.T, d *testbed.Deployment, p *testbed.Process, left time.Duration) {
	t.Helper()
	if left == 0 {
		d.Drain(t.Context(), func(string) *testbed.Process { return p })
		return
	}
	for d.Queue.Ready(queue.Activities) {
		deliveries, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
		if err != nil {
			t.Fatal(err)
		}
		m, err := outbox.Decode(deliveries[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: 1, Deadline: time.Now().Add(left)}); err != nil {
			t.Fatal(err)
		}
		if err := d.Queue.Delete(t.Context(), queue.Activities, deliveries[0].Receipt); err != nil {
			t.Fatal(err)
		}
	}
}

// doomed is the log and the queue of a process that dies at one of its writes, applied or not.
type doomed struct {
	store.Log
	queue.Sender
	mu      sync.Mutex
	left    int // writes, until the last one
	applied bool
	last    string // what that one was
}

var errDoomed = errors.New("the process is dead")

func (m *doomed) write(what string, apply func() error) error {
	m.mu.Lock()
	m.left--
	left := m.left
	if left == 0 {
		m.last = what
	}
	m.mu.Unlock()
	switch {
	case left > 0:
		return apply()
	case left == 0 && m.applied:
		_ = apply()
	}
	return errDoomed
}

func (m *doomed) Append(ctx context.Context, items ...store.Item) error {
	return m.write("a commit", func() error { return m.Log.Append(ctx, items...) })
}

func (m *doomed) Send(ctx context.Context, name string, messages ...queue.Message) error {
	return m.write("a message", func() error { return m.Sender.Send(ctx, name, messages...) })
}

// A process that chains activities dies at any of its writes. Another one, which chains or does
// not, continues the run when the message of the first activity is redelivered.
func TestAChainDies(t *testing.T) {
	t.Parallel()
	for _, applied := range []bool{false, true} {
		for _, next := range []bool{false, true} {
			t.Run(fmt.Sprintf("applied %v, next chains %v", applied, next), func(t *testing.T) {
				t.Parallel()
				deaths := 0
				for number := 3; ; number++ { // the first two are the start and its message
					died := false
					synctest.Test(t, func(t *testing.T) { died = dieInChain(t, number, applied, next) })
					if !died {
						break
					}
					deaths++
				}
				if deaths != 3 {
					t.Errorf("the process died at %d writes, want 3", deaths)
				}
			})
		}
	}
}

func dieInChain(t *testing.T, number int, applied, next bool) (died bool) {
	d, l := testbed.New(t), &links{}
	m := &doomed{Log: d.Ports.Log, Sender: d.Ports.Queue, left: number, applied: applied}
	d.Ports.Log, d.Ports.Queue = m, m
	dies := d.Start(executor.Options{SoftLimit: time.Second, Engine: engine.Options{Chain: true}}, l.registrations()...)
	if _, err := linked.Start(t.Context(), dies.Client, "w", workflow.None{}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	dies.Stop()
	m.mu.Lock()
	died = m.left <= 0
	m.mu.Unlock()
	d.Ports.Log, d.Ports.Queue = m.Log, m.Sender
	other := d.Start(executor.Options{Engine: engine.Options{Chain: next}}, l.registrations()...)
	text, err := linked.Get(other.Client, "w").Result(t.Context())
	if err != nil || text != "abc" {
		t.Errorf("after %s, the run returned %q, %v", m.last, text, err)
	}
	other.Stop()
	total := 0
	for step, n := range l.attempts {
		if total += n; n > 1 {
			t.Errorf("after %s, the other process ran %s %d times", m.last, step, n)
		}
	}
	if died && total > 3 {
		t.Errorf("after %s, the other process ran %v", m.last, l.attempts)
	}
	d.CheckReplay(other)
	return died
}

// The message of a chain is delivered to another process while the first one runs any of the
// chain's activities. Each activity has one result.
func TestAChainIsDeliveredTwice(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"a", "b", "c"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, l := testbed.New(t), &links{}
				o := executor.Options{Engine: engine.Options{Chain: true}}
				one, other := d.Idle(o, l.registrations()...), d.Idle(o, l.registrations()...)
				if _, err := linked.Start(t.Context(), one.Client, "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				deliveries, err := d.Queue.Receive(t.Context(), queue.Activities, 1)
				if err != nil || len(deliveries) != 1 {
					t.Fatalf("%d messages: %v", len(deliveries), err)
				}
				m, err := outbox.Decode(deliveries[0].Body)
				if err != nil {
					t.Fatal(err)
				}
				var twice error
				var done atomic.Bool
				l.during = func(now string) {
					if now == step && done.CompareAndSwap(false, true) {
						again := *m
						twice = other.Service.Service.Deliveries.Handle(context.Background(), executor.Delivery{Message: &again, Received: 2})
					}
				}
				err = one.Service.Service.Deliveries.Handle(t.Context(), executor.Delivery{Message: m, Received: 1})
				if err := errors.Join(err, twice); err != nil {
					t.Fatal(err)
				}
				drainWithin(t, d, other, 0)
				if text, err := linked.Get(other.Client, "w").Result(t.Context()); err != nil || text != "abc" {
					t.Errorf("the run returned %q, %v", text, err)
				}
				var ended []int64
				h, err := other.Client.History(t.Context(), "w", "")
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range h.Events {
					if a, ok := e.Attributes.(*history.ActivityTaskCompleted); ok {
						ended = append(ended, a.ScheduledEventID)
					}
				}
				if unique := slices.Compact(slices.Clone(ended)); len(ended) != 3 || len(unique) != 3 {
					t.Errorf("the results are of %v", ended)
				}
				d.CheckReplay(other)
			})
		})
	}
}

// A run in the middle of its activities goes on when the setting changes: what is recorded for an
// activity counts, and the activities after it follow the new setting.
func TestChainChanges(t *testing.T) {
	t.Parallel()
	for _, chained := range []bool{false, true} {
		t.Run(fmt.Sprint("from ", chained), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, l := testbed.New(t), &links{options: [3]activity.Options{{}, {Queued: true}}}
				before := d.Idle(executor.Options{Engine: engine.Options{Chain: chained}}, l.registrations()...)
				if _, err := linked.Start(t.Context(), before.Client, "w", workflow.None{}); err != nil {
					t.Fatal(err)
				}
				if err := deliverActivity(t, d, before, 1); err != nil {
					t.Fatal(err)
				}
				after := d.Idle(executor.Options{Engine: engine.Options{Chain: !chained}}, l.registrations()...)
				drainWithin(t, d, after, 0)
				h, err := after.Client.History(t.Context(), "w", "")
				if err != nil {
					t.Fatal(err)
				}
				var inline []bool
				for _, e := range h.Events {
					if a, ok := e.Attributes.(*history.ActivityTaskScheduled); ok {
						inline = append(inline, a.Inline)
					}
				}
				if want := []bool{chained, false, !chained}; !slices.Equal(inline, want) {
					t.Errorf("the activities are recorded as inline: %v, want %v", inline, want)
				}
				d.CheckReplay(after)
			})
		})
	}
}
