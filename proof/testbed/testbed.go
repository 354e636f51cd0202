package testbed

import (
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/store"
)

// Request is a request of the HTTP API in a script: its first line, as in "POST /v1/workflows", and
// its body.
type Request struct{ Method, Target, Body string }

// Testbed is what scripts are played on: some processes over one store and its queues. Process 1
// also handles messages.
type Testbed interface {
	// Deploy replaces a process by a new one with a build. The new process has nothing in memory.
	Deploy(process int, build string)
	// Do lets a process answer a request. It returns when everything that the request started at
	// once has ended. A nil answer means that the process died.
	Do(process int, r Request) *Answer
	// Send lets a process answer a request while other things happen. It returns a function that
	// waits for the answer.
	Send(process int, r Request) (wait func() *Answer)
	// Together lets a process answer requests at the same time. While the first one's commit, or a
	// GET's read, is under way, the others arrive and wait, in order.
	Together(process int, requests []Request) []*Answer
	// Hook sets a hook for the next call of a process, or for all calls. A nil hook ends that.
	Hook(process int, op Op, always bool, hook Hook)
	// Handler returns a process's handler, for requests sent from within Run.
	Handler(process int) http.Handler
	// Run calls fn, which may send requests and wait for World.
	Run(fn func())
	// World is the clock of the processes.
	World() host.Host
	// Sleep lets time pass.
	Sleep(d time.Duration)
	// Delivered returns the cost of handling messages since the last call, without reads.
	Delivered() meter.Cost
	// Warnings returns what the processes have reported to operators since the last call.
	Warnings() string
	// Snapshot returns everything that is in the store and the queues, for comparison.
	Snapshot() string
	// Now returns the time.
	Now() time.Time
	// Close checks that all runs replay with the code of process 1, and ends the testbed.
	Close()
}

// Bubble is a testbed in a bubble of testing/synctest.
type Bubble struct {
	t         testing.TB
	d         *Deployment
	options   executor.Options
	processes map[int]*hooked
	delivered meter.Cost
	warnings  Warnings
	settling  atomic.Bool
}

type hooked struct {
	*Process
	hooks *Hooks
	asked meter.Meter // the cost of its requests
}

// OptionsOf returns the options of a testbed's processes. The arguments inflight, bytes and total
// limit the updates of a run, and rate is the rate of the task queue slow.
func OptionsOf(args Args) (o executor.Options) {
	l := &o.Engine.Limits
	l.UpdatesInFlight, _ = strconv.Atoi(args["inflight"]) // 0 means the default
	l.UpdateBytesInFlight, _ = strconv.Atoi(args["bytes"])
	l.UpdatesInTotal, _ = strconv.Atoi(args["total"])
	if text := args["rate"]; text != "" {
		var rate limits.Rate
		if err := rate.UnmarshalText([]byte(text)); err != nil {
			panic(err)
		}
		o.Rate = func(taskQueue string) limits.Rate {
			if taskQueue != "slow" {
				return limits.Rate{}
			}
			return rate
		}
	}
	return o
}

// NewBubble returns a testbed over the store and the queue in memory, with two processes of
// build-1. Process 2 does not handle messages.
func NewBubble(t testing.TB, args Args) Testbed { return NewBubbleOver(t, New(t), args) }

// NewBubbleOver does the same as NewBubble over the stores of a deployment.
func NewBubbleOver(t testing.TB, d *Deployment, args Args) Testbed {
	t.Helper()
	b := &Bubble{t: t, d: d, options: OptionsOf(args), processes: map[int]*hooked{}}
	b.Deploy(1, "build-1")
	b.Deploy(2, "build-1")
	return b
}

// Close implements Testbed. It moves the clock to the next hour, so that the next testbed begins at
// the same time, however long random waits took.
func (b *Bubble) Close() {
	b.d.CheckReplay(b.processes[1].Process)
	for _, p := range b.processes {
		p.Stop()
	}
	time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour)))
}

// Deploy implements Testbed.
func (b *Bubble) Deploy(process int, build string) {
	if p := b.processes[process]; p != nil {
		p.Stop()
	}
	hooks := b.d.Hook()
	o := b.options
	o.Build, o.Logger = build, b.warnings.Logger()
	start := b.d.Idle
	if process == 1 {
		start = b.d.Start
		b.delivered = meter.Cost{}
	}
	b.processes[process] = &hooked{Process: start(o, Workload(build)...), hooks: hooks}
	synctest.Wait()
}

// Do implements Testbed.
func (b *Bubble) Do(process int, r Request) *Answer {
	answer := <-b.send(process, r)
	b.settle()
	return answer
}

// settle returns when all goroutines wait for something. A hook may block a goroutine that already
// waits.
func (b *Bubble) settle() {
	if b.settling.CompareAndSwap(false, true) {
		synctest.Wait()
		b.settling.Store(false)
	}
}

// Send implements Testbed.
func (b *Bubble) Send(process int, r Request) (wait func() *Answer) {
	answer := b.send(process, r)
	b.settle()
	return func() *Answer {
		a := <-answer
		b.settle()
		return a
	}
}

// send sends a request on a new goroutine, which ends with the process.
func (b *Bubble) send(process int, r Request) <-chan *Answer {
	p, answer := b.processes[process], make(chan *Answer, 1)
	go func() {
		defer close(answer)
		a := p.DoWith(p.asked.Counting(b.t.Context()), r.Method, r.Target, r.Body)
		answer <- a
	}()
	return answer
}

// Handler implements Testbed.
func (b *Bubble) Handler(process int) http.Handler {
	p := b.processes[process]
	return counted{p.Handler, &p.asked}
}

// Run implements Testbed.
func (b *Bubble) Run(fn func()) { fn() }

// World implements Testbed.
func (b *Bubble) World() host.Host { return host.Machine{} }

// Together implements Testbed.
func (b *Bubble) Together(process int, requests []Request) []*Answer {
	held, release := make(chan struct{}), make(chan struct{})
	op := OnPut
	if requests[0].Method == http.MethodGet {
		op = OnRead
	}
	b.Hook(process, op, false, func(do func() error) error {
		close(held)
		<-release
		return do()
	})
	pending := []<-chan *Answer{b.send(process, requests[0])}
	<-held
	for _, r := range requests[1:] {
		pending = append(pending, b.send(process, r))
		b.settle()
	}
	close(release)
	var answers []*Answer
	for _, p := range pending {
		answers = append(answers, <-p)
	}
	b.settle()
	return answers
}

// Hook implements Testbed.
func (b *Bubble) Hook(process int, op Op, always bool, hook Hook) {
	if always {
		b.processes[process].hooks.Always(op, hook)
	} else {
		b.processes[process].hooks.Next(op, hook)
	}
}

// Sleep implements Testbed.
func (b *Bubble) Sleep(d time.Duration) {
	time.Sleep(d)
	b.settle()
}

// Delivered implements Testbed.
func (b *Bubble) Delivered() meter.Cost {
	p := b.processes[1]
	all, asked, before := p.Meter.Cost(), p.asked.Cost(), b.delivered
	b.delivered = meter.Cost{
		Writes: all.Writes - asked.Writes, Lost: all.Lost - asked.Lost, Messages: all.Messages - asked.Messages,
	}
	return meter.Cost{
		Writes: b.delivered.Writes - before.Writes, Lost: b.delivered.Lost - before.Lost,
		Messages: b.delivered.Messages - before.Messages,
	}
}

// Warnings implements Testbed.
func (b *Bubble) Warnings() string { return b.warnings.Take() }

// Snapshot implements Testbed.
func (b *Bubble) Snapshot() string { return b.d.Snapshot() }

// Now implements Testbed.
func (b *Bubble) Now() time.Time { return time.Now() }

// Faults are the hooks that scripts can name.
var Faults = map[string]func() Hook{
	// The commit lands, and the answer is lost.
	"lose-answer": func() Hook {
		return func(put func() error) error {
			if err := put(); err != nil {
				return err
			}
			return store.ErrUnknown
		}
	},
	// The commit lands, and no answer or error ever arrives.
	"silence": func() Hook {
		return func(put func() error) error {
			_ = put() // a repeated put finds its own commit
			return store.ErrUnknown
		}
	},
	// The commit does not land, and there is no answer.
	"lose-request": func() Hook { return func(func() error) error { return store.ErrUnknown } },
	// The store refuses, because the table does not exist or nobody may write to it.
	"refuse":   func() Hook { return func(func() error) error { return errors.New("access denied") } },
	"throttle": func() Hook { return func(func() error) error { return store.ErrThrottled } },
	// The process dies before the commit.
	"die": func() Hook {
		var once sync.Once
		return func(put func() error) (err error) {
			once.Do(runtime.Goexit)
			return put()
		}
	},
}

// ParseRequests parses requests that are separated by lines of two dashes.
func ParseRequests(text string) []Request {
	var all []Request
	for part := range strings.SplitSeq(text, "\n--\n") {
		first, body, _ := strings.Cut(part, "\n")
		method, target, _ := strings.Cut(strings.TrimSpace(first), " ")
		all = append(all, Request{method, target, body})
	}
	return all
}
