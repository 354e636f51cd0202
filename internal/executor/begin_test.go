package executor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/executor/runner"
	"github.com/seed-41655fb1/weft/internal/worker"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// tries is a deployment with a workflow of one activity, and a record of the activity's attempts.
type tries struct {
	*testbed.Deployment
	t *testing.T

	mu      sync.Mutex
	numbers []int // of the attempts that began
	do      func(ctx context.Context) (string, error)

	recorder runner.Recorder // of the processes
}

var triesType = workflow.NewWorkflow[int, string]("tries")

func newTries(t *testing.T) *tries { return &tries{Deployment: testbed.New(t), t: t} }

// process returns a process that handles no messages by itself.
func (d *tries) process(o activity.Options) *testbed.Process {
	d.t.Helper()
	act := activity.New("tried", func(ctx context.Context, _ int) (string, error) {
		d.mu.Lock()
		d.numbers = append(d.numbers, activity.InfoOf(ctx).Attempt)
		d.mu.Unlock()
		if d.do != nil {
			return d.do(ctx)
		}
		return "done", nil
	}, o)
	all := []workflow.Registration{act, workflow.Bind(triesType, func(ctx workflow.Context, _ int) (string, error) { return act.Run(ctx, 1) })}
	return d.Idle(executor.Options{Recorder: d.recorder}, all...)
}

// start starts the workflow in a process that handles no messages by itself.
func (d *tries) start(o activity.Options) *testbed.Process {
	d.t.Helper()
	p := d.process(o)
	if _, err := triesType.Start(d.t.Context(), p.Client, "w", 0); err != nil {
		d.t.Fatal(err)
	}
	return p
}

// receive receives a visible message of a queue and does not handle it.
func (d *tries) receive(name string) queue.Delivery {
	d.t.Helper()
	got, err := d.Queue.Receive(d.t.Context(), name, 1)
	if err != nil {
		d.t.Fatal(err)
	}
	return got[0]
}

// hand lets a process handle a delivery, and reports whether the message can be deleted.
func (d *tries) hand(p *testbed.Process, name string, m queue.Delivery) bool {
	d.t.Helper()
	return d.handWith(p, name, m, d.Queue.Extend)
}

// extend makes a message invisible for the time of a lease.
type extend = func(ctx context.Context, name, receipt string, lease time.Duration) error

// handWith is hand with another way to extend the lease of a message.
func (d *tries) handWith(p *testbed.Process, name string, m queue.Delivery, extend extend) bool {
	d.t.Helper()
	done := worker.Handler{Service: p.Service.Service, Log: slog.New(slog.DiscardHandler), Extend: extend}.For(name)(d.t.Context(), []queue.Delivery{m})
	if len(done) > 0 {
		if err := d.Queue.Delete(d.t.Context(), name, done...); err != nil {
			d.t.Error(err) // another goroutine may call hand
		}
	}
	return len(done) > 0
}

// settle delivers all messages, and sweeps, for an hour.
func (d *tries) settle(p *testbed.Process) {
	d.t.Helper()
	for range 60 {
		if _, err := p.Service.Service.Deliveries.Sweep(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		for dead := queue.DeadLetters(queue.Activities); d.Queue.Ready(dead); {
			d.hand(p, dead, d.receive(dead))
		}
		d.DrainFor(d.t.Context(), time.Minute, func(string) *testbed.Process { return p })
		time.Sleep(time.Minute)
	}
}

// outcome returns the workflow's outcome.
func (d *tries) outcome(p *testbed.Process) string {
	d.t.Helper()
	if what, err := p.Client.Describe(d.t.Context(), "w", ""); err != nil || !what.Status.Closed() {
		return "open"
	}
	result, err := triesType.Get(p.Client, "w").Result(d.t.Context())
	if err != nil {
		return err.Error()
	}
	return result
}

// steps is a runner.Recorder that remembers what activities did, in order.
type steps struct {
	mu    sync.Mutex
	all   []string
	marks func() int // how many attempts have records
}

func (s *steps) add(what string, c runner.CodeRef) {
	if c.Kind == runner.CodeActivity {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, fmt.Sprint(what, " ", s.marks()))
	}
}

func (s *steps) Await(c runner.CodeRef) (turn int) {
	s.add("await", c)
	return 1
}

func (s *steps) Leave(int) { s.add("leave", runner.CodeRef{Kind: runner.CodeActivity}) }

func (s *steps) Begin(c runner.CodeRef, _ int) int {
	s.add("begin", c)
	return int(c.Kind)
}

func (s *steps) End(note int)                 { s.add("end", runner.CodeRef{Kind: runner.CodeKind(note)}) }
func (s *steps) Parked(runner.CodeRef) string { return "" }
func (s *steps) Forget(string, uint32)        {}

// The recorder lists an attempt while its code runs, and not during the writes before that. If one
// of them fails, the attempt gives its turn back.
func TestWritesBeforeAnAttemptAreNotItsCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		s := &steps{marks: func() int {
			all, err := d.Store.ReadAttempts(t.Context(), "w", 1)
			if err != nil {
				t.Error(err)
			}
			return len(all)
		}}
		d.recorder = s
		d.do = func(context.Context) (string, error) {
			s.add("code", runner.CodeRef{Kind: runner.CodeActivity})
			return "done", nil
		}
		p := d.start(activity.Options{Retry: activity.Retry{MaxAttempts: 2}})
		fails := true
		extend := func(ctx context.Context, name, receipt string, lease time.Duration) error {
			s.add("extend", runner.CodeRef{Kind: runner.CodeActivity})
			if fails {
				return errors.New("the queue is down")
			}
			return d.Queue.Extend(ctx, name, receipt, lease)
		}
		if d.handWith(p, queue.Activities, d.receive(queue.Activities), extend) {
			t.Error("the message of an attempt that did not begin can be deleted")
		}
		fails = false
		time.Sleep(10 * time.Minute) // the message is visible again
		d.Queue.Tick()
		if !d.handWith(p, queue.Activities, d.receive(queue.Activities), extend) {
			t.Error("the message of an attempt that ended cannot be deleted")
		}
		want := []string{"await 0", "extend 0", "leave 0", "await 0", "extend 0", "begin 1", "code 1", "end 1", "leave 1"}
		if !slices.Equal(s.all, want) {
			t.Errorf("the recorder saw %v, want %v", s.all, want)
		}
		d.settle(p)
		if got := d.outcome(p); got != "done" {
			t.Errorf("the outcome is %q", got)
		}
	})
}

// Receives that reach no function use up no attempt. If they exceed the queue's receive limit, the
// dead letter is sent again.
func TestReceivesThatReachNoFunction(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]activity.Options{
		"once":      {Retry: activity.Retry{MaxAttempts: 1}},
		"thrice":    {Retry: activity.Retry{MaxAttempts: 3}},
		"unlimited": {},
		"inline":    {Inline: true, Retry: activity.Retry{MaxAttempts: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newTries(t)
				p := d.start(o)
				for d.Queue.Len(queue.DeadLetters(queue.Activities)) == 0 {
					d.receive(queue.Activities)
					time.Sleep(10 * time.Minute)
					d.Queue.Tick()
				}
				d.settle(p)
				if got := d.outcome(p); got != "done" || len(d.numbers) != 1 || d.numbers[0] != 1 {
					t.Errorf("the outcome is %q, in the attempts %v", got, d.numbers)
				}
			})
		})
	}
}

// An attempt that has begun counts if its process dies. It counts only after the time at which it
// must have ended, and only once, however often its message is received.
func TestAttemptsOfProcessesThatDie(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2} {
		for _, received := range []int{1, 2, 7} {
			synctest.Test(t, func(t *testing.T) {
				d := newTries(t)
				d.do = func(ctx context.Context) (string, error) {
					if len(d.numbers) == 1 {
						<-ctx.Done()
					}
					return "done", nil
				}
				alive, o := d.Ports, activity.Options{StartToClose: 5 * time.Minute, Retry: activity.Retry{MaxAttempts: most}}
				dead := mortal(&d.Ports)
				first := d.start(o)
				d.Ports = alive
				p := d.process(o)
				message := d.receive(queue.Activities)
				gone := make(chan bool)
				go func() { gone <- d.hand(first, queue.Activities, message) }()
				synctest.Wait()
				dead.Store(true)
				message.Received = received
				if !d.hand(p, queue.Activities, message) || len(d.numbers) != 1 {
					t.Fatalf("while the first attempt may still run, %d have begun", len(d.numbers))
				}
				time.Sleep(3 * time.Minute)
				if what, err := p.Client.Describe(t.Context(), "w", ""); err != nil || what.Status != history.Running || len(what.PendingActivities) != 1 {
					t.Fatalf("while the first attempt may still run, the run is %+v, %v", what, err)
				}
				d.settle(p)
				<-gone
				want := "done"
				if most == 1 {
					want = "the attempt was interrupted"
				}
				if got := d.outcome(p); !strings.Contains(got, want) || len(d.numbers) != most || d.numbers[most-1] != most {
					t.Errorf("at most %d attempts, received %d times: the outcome is %q, in the attempts %v", most, received, got, d.numbers)
				}
			})
		}
	}
}

// An activity that has begun does not fail because of its start timeout when its process has died.
func TestScheduleToStartOfAnAttemptThatDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		d.do = func(ctx context.Context) (string, error) {
			if len(d.numbers) == 1 {
				<-ctx.Done()
			}
			return "done", nil
		}
		alive, o := d.Ports, activity.Options{ScheduleToStart: time.Minute}
		dead := mortal(&d.Ports)
		first := d.start(o)
		d.Ports = alive
		p := d.process(o)
		message := d.receive(queue.Activities)
		go d.hand(first, queue.Activities, message)
		synctest.Wait()
		dead.Store(true)
		d.settle(p)
		if got := d.outcome(p); got != "done" || len(d.numbers) != 2 || d.numbers[1] != 2 {
			t.Errorf("the outcome is %q, in the attempts %v", got, d.numbers)
		}
	})
}

// mortal returns a switch. When it is on, ports fail as if their process had died.
func mortal(ports *executor.Ports) *atomic.Bool {
	dead := &atomic.Bool{}
	ports.Log, ports.Attempts = mortalLog{ports.Log, dead}, mortalAttempts{ports.Attempts, dead}
	ports.Timers, ports.Queue = mortalTimers{ports.Timers, dead}, mortalQueue{ports.Queue, dead}
	return dead
}

var errDead = errors.New("the process has died")

type mortalLog struct {
	store.Log
	dead *atomic.Bool
}

func (l mortalLog) Append(ctx context.Context, items ...store.Item) error {
	if l.dead.Load() {
		return errDead
	}
	return l.Log.Append(ctx, items...)
}

type mortalAttempts struct {
	store.Attempts
	dead *atomic.Bool
}

func (a mortalAttempts) RecordAttempt(ctx context.Context, r store.Attempt) error {
	if a.dead.Load() {
		return errDead
	}
	return a.Attempts.RecordAttempt(ctx, r)
}

type mortalTimers struct {
	store.Timers
	dead *atomic.Bool
}

func (m mortalTimers) PutTimers(ctx context.Context, timers []store.Timer) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Timers.PutTimers(ctx, timers)
}

type mortalQueue struct {
	queue.Sender
	dead *atomic.Bool
}

func (q mortalQueue) Send(ctx context.Context, name string, m ...queue.Message) error {
	if q.dead.Load() {
		return errDead
	}
	return q.Sender.Send(ctx, name, m...)
}

// ahead is a host whose clock is ahead of the machine's.
type ahead struct {
	host.Machine
	by time.Duration
}

func (w ahead) Now() time.Time { return w.Machine.Now().Add(w.by) }

// slowRecords is a store that takes some time to record an attempt.
type slowRecords struct {
	store.Attempts
	wait time.Duration
}

func (s *slowRecords) RecordAttempt(ctx context.Context, a store.Attempt) error {
	time.Sleep(s.wait)
	return s.Attempts.RecordAttempt(ctx, a)
}

// mute is a log that answers no put while on is set.
type mute struct {
	store.Log
	on atomic.Bool
}

func (l *mute) Append(ctx context.Context, items ...store.Item) error {
	if l.on.Load() {
		return store.ErrThrottled
	}
	return l.Log.Append(ctx, items...)
}

// An attempt takes its whole time, after a slow record and before a result that is committed as
// late as allowed. A process whose clock is 10 s ahead does not take it for interrupted.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newTries(t)
		o := activity.Options{StartToClose: time.Minute, Retry: activity.Retry{MaxAttempts: 1}}
		d.do = func(ctx context.Context) (string, error) {
			time.Sleep(time.Minute - time.Millisecond)
			return "paid", nil
		}
		alive, log := d.Ports, &mute{Log: d.Ports.Log}
		d.Ports.Log, d.Ports.Attempts = log, &slowRecords{d.Ports.Attempts, 19 * time.Second}
		first := d.start(o)
		act := activity.New("tried", func(context.Context, int) (string, error) { return "twice", nil }, o)
		second := assembly.NewProcess(assembly.Config{
			Ports: alive, Host: ahead{by: 10 * time.Second}, Options: executor.Options{Build: "build-1"},
			Registry: testbed.Registry(t, act, workflow.Bind(triesType, func(ctx workflow.Context, _ int) (string, error) { return act.Run(ctx, 1) })),
		}).Service
		defer second.Process.Close()
		message := d.receive(queue.Activities)
		again, err := outbox.Decode(message.Body)
		if err != nil {
			t.Fatal(err)
		}
		handled := make(chan bool)
		go func() { handled <- d.hand(first, queue.Activities, message) }()
		time.Sleep(30 * time.Second)
		log.on.Store(true)
		time.Sleep(68 * time.Second) // the result is 19 s old and not committed yet
		if err := second.Deliveries.Handle(t.Context(), executor.Delivery{Message: again, Received: 2}); err != nil {
			t.Fatal(err)
		}
		log.on.Store(false)
		<-handled
		d.settle(first)
		if got := d.outcome(first); got != "paid" {
			t.Errorf("the outcome is %q, in the attempts %v", got, d.numbers)
		}
	})
}
