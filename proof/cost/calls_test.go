package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/activity"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/assembly"
	"github.com/seed-41655fb1/weft/internal/bill"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/executor/host"
	"github.com/seed-41655fb1/weft/internal/executor/outbox"
	"github.com/seed-41655fb1/weft/internal/notify/guard"
	"github.com/seed-41655fb1/weft/internal/price"
	function "github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/proof/measured"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/proof/testbed/billed"
	"github.com/seed-41655fb1/weft/queue"
	"github.com/seed-41655fb1/weft/workflow"
)

// takes is what a called run does: nothing, a timer, or an activity that takes so long. On AWS an
// activity of more than 15 minutes is completed from outside.
type takes struct {
	Timer, Activity time.Duration
	Outside         bool
}

// What callers call: a run, and an update of a run that never ends.
var (
	called   = workflow.NewWorkflow[takes, string]("called")
	endless  = workflow.NewWorkflow[workflow.None, string]("endless")
	serve    = workflow.NewUpdate[takes, string]("serve")
	labor    = activity.New("labor", toil, activity.Options{StartToClose: 2 * time.Minute})
	tokens   = make(chan string, 1)
	outsider = activity.New("outsider", func(ctx context.Context, _ activity.None) (string, error) {
		token, err := activity.Token(ctx)
		if err != nil {
			return "", err
		}
		tokens <- token
		return "", activity.ErrPending
	}, activity.Options{Pending: pendingFor})
)

// pendingFor is how long an activity waits to be completed.
const pendingFor = 24 * time.Hour

func toil(_ context.Context, d time.Duration) (string, error) {
	time.Sleep(d)
	return answerOfCalls, nil
}

// answerOfCalls is as long as the payloads of the other rows.
var answerOfCalls = strings.Repeat("x", 198)

func (in takes) do(ctx workflow.Context) (string, error) {
	switch {
	case in.Timer > 0:
		return answerOfCalls, workflow.Sleep(ctx, in.Timer)
	case in.Outside:
		return outsider.Run(ctx, activity.None{})
	case in.Activity > 0:
		return labor.Run(ctx, in.Activity)
	}
	return answerOfCalls, nil
}

func runCalled(ctx workflow.Context, in takes) (string, error) { return in.do(ctx) }

func runEndless(ctx workflow.Context, _ workflow.None) (string, error) {
	serve.Handle(ctx, func(ctx workflow.Context, in takes) (string, error) { return in.do(ctx) })
	return "", workflow.Await(ctx, func() bool { return false })
}

// used is what some work takes of AWS.
type used struct {
	billed.Counts
	requests, invocations float64 // requests of callers are invocations, too
	held                  float64 // seconds for which functions wait for something
	events                float64 // on the event bus
	bytes                 float64 // what is stored
}

// plus returns u and n times o.
func (u used) plus(o used, n float64) used {
	u.WriteUnits += n * o.WriteUnits
	u.ReadUnits += n * o.ReadUnits
	u.QueueRequests += n * o.QueueRequests
	u.requests += n * o.requests
	u.invocations += n * o.invocations
	u.held += n * o.held
	u.events += n * o.events
	u.bytes += n * o.bytes
	return u
}

// million returns the price of a million. It has no list, and leaves out the sweep, which one
// deployment has for all of its timers.
func (u used) million(httpAPI bool) float64 {
	sum := u.WriteUnits*price.WriteUnit + u.ReadUnits*price.ReadUnit + u.bytes/(1<<30)*price.Storage*keptMonths +
		u.QueueRequests*price.StandardRequest + u.events*price.Event +
		u.invocations*(price.Invocation+price.TaskSeconds*price.TaskGigabytes*price.GigaSecond) + u.held*price.TaskGigabytes*price.GigaSecond
	if httpAPI {
		sum += u.requests * price.HTTPRequest
	}
	return price.Million * sum
}

// market is a deployment on a moved clock, as AWS has it: each invocation has a process of its own,
// which knows no run. It implements http.Handler, for a client of the deployment.
type market struct {
	*testing.T
	d        *testbed.Deployment
	table    *billed.Table
	registry *engine.Registry
	options  executor.Options

	mu   sync.Mutex
	used used
}

// openMarket opens a deployment, whose queues are delivered until the function is called that it
// returns. It is called in a bubble.
func openMarket(t *testing.T) (m *market, closes func()) {
	t.Helper()
	allowed, err := guard.Parse("*.example")
	if err != nil {
		t.Fatal(err)
	}
	var f function.Function
	m = &market{T: t, d: testbed.New(t), table: &billed.Table{Namespace: "default"}}
	m.registry = testbed.Registry(t, labor, outsider, workflow.Bind(called, runCalled, workflow.Names()), workflow.Bind(endless, runEndless, workflow.Names(serve)))
	m.options = executor.Options{
		Build: "build-1", Logger: slog.New(slog.DiscardHandler), WaitHold: f.Hold(), Webhooks: allowed, EventBus: true,
		Engine: engine.Options{TaskQueues: testbed.TaskQueues, Chain: true},
	}
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	for _, name := range []string{queue.Activities, queue.Timers, queue.Workflow} {
		loops.Go(func() {
			for ctx.Err() == nil {
				messages, err := m.d.Queue.Receive(ctx, name, 1)
				if err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
				if len(messages) > 0 {
					m.invoke(func(p *assembly.Process) { p.Worker.Deliver(context.Background(), name, messages) })
				}
			}
		})
	}
	loops.Go(func() { m.sweep(ctx) })
	return m, func() {
		cancel()
		loops.Wait()
	}
}

// sweep sends the long timers that are nearly due, each minute.
func (m *market) sweep(ctx context.Context) {
	p, n := m.process()
	defer p.Service.Process.Close()
	for (host.Machine{}).Wait(ctx, outbox.SweepEvery, nil) == nil {
		if _, err := p.Service.Deliveries.Sweep(context.Background()); err != nil {
			m.Error(err)
		}
		m.add(used{Counts: *n})
		*n = billed.Counts{}
	}
}

// process returns a new process, and what its calls will have counted when it has been closed.
func (m *market) process() (*assembly.Process, *billed.Counts) {
	n := &billed.Counts{}
	return assembly.NewProcess(assembly.Config{
		Ports: m.table.Over(m.d.Ports, n), Receiver: m.d.Queue, Registry: m.registry, Host: host.Machine{}, Options: m.options, Concurrency: 1,
		Notifies: true, Receivers: m, Bus: m,
	}), n
}

// invoke lets a new process do something, and counts the invocation.
func (m *market) invoke(do func(p *assembly.Process)) {
	p, n := m.process()
	do(p)
	p.Service.Process.Close()
	m.add(used{Counts: *n, invocations: 1})
}

func (m *market) add(u used) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used = m.used.plus(u, 1)
}

// ServeHTTP implements http.Handler: the api function answers a request.
func (m *market) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	m.invoke(func(p *assembly.Process) { p.API.ServeHTTP(w, r) })
	m.add(used{requests: 1, held: time.Since(began).Seconds()})
}

// How long a receiver of a webhook and the event bus take to answer.
const receiverTakes, busTakes = 100 * time.Millisecond, 20 * time.Millisecond

// RoundTrip implements http.RoundTripper: each receiver takes what it gets.
func (m *market) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(receiverTakes)
	m.add(used{held: receiverTakes.Seconds()})
	return &http.Response{StatusCode: http.StatusNoContent, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// Source implements assembly.Bus.
func (m *market) Source() string { return "weft.shop" }

// Put implements assembly.Bus.
func (m *market) Put(context.Context, string, time.Time, []byte) error {
	time.Sleep(busTakes)
	m.add(used{held: busTakes.Seconds(), events: 1})
	return nil
}

// stored returns the bytes of the table, as DynamoDB bills them.
func (m *market) stored(ctx context.Context) (bytes float64) {
	for cursor, more := "", true; more; more = cursor != "" {
		items, next, err := m.d.Store.Scan(ctx, cursor, 1000)
		if err != nil {
			m.Fatal(err)
		}
		for _, item := range items {
			size, _ := m.table.Size(item)
			bytes += float64(size + itemOverhead)
		}
		cursor = next
	}
	return bytes
}

// A call is what a caller calls, and how many times it is played: the pauses of callers are random,
// and so the table has averages.
type call struct {
	name  string
	takes takes
	times int
	// update calls an update of a run that there is. notify does not wait: it starts a run and is
	// notified. Otherwise a run is started and waited for.
	update bool
	notify client.Notification
	// most is the budget of one, on average.
	most budgetOfCall
}

// pushed reports whether the caller is notified.
func (c *call) pushed() bool { return c.notify != client.Notification{} }

// budgetOfCall is how many requests of the caller, read units, write units and requests to SQS a
// call takes at most, and for how many seconds it holds functions.
type budgetOfCall struct{ requests, reads, writes, messages, held float64 }

// calls are the rows of the table.
func calls() []call {
	const threeDays = 3 * 24 * time.Hour
	return []call{
		{name: "`Run`, ends in its first task", times: 1, most: budgetOfCall{1, 1, 1, 0, 0}},
		{name: "`Run`, an activity of 1 s", takes: takes{Activity: time.Second}, times: 100, most: budgetOfCall{5, 9, 2, 3, 0.25}},
		{name: "`Run`, an activity of 60 s", takes: takes{Activity: time.Minute}, times: 100, most: budgetOfCall{30, 34, 2, 3, 0.25}},
		{name: "`Run`, an activity completed from outside after 1 h", takes: takes{Activity: time.Hour, Outside: true}, times: 100, most: budgetOfCall{101, 107, 5, 6, 0.25}},
		{name: "`Run`, a timer of 3 days", takes: takes{Timer: threeDays}, times: 1, most: budgetOfCall{869, 870, 4, 3, 0}},
		{name: "`Call`, an update with an activity of 60 s", takes: takes{Activity: time.Minute}, times: 100, update: true, most: budgetOfCall{30, 34, 2, 3, 0.25}},
		{name: "`Start` with `notify`: a webhook", times: 1, notify: client.Notification{URL: "https://hooks.example/orders/0123456789abcdef"}, most: budgetOfCall{1, 3, 2, 3, 0.1}},
		{name: "`Start` with `notify`: EventBridge", times: 1, notify: client.Notification{EventBridge: true}, most: budgetOfCall{1, 3, 2, 3, 0.02}},
	}
}

// play makes a call, or does the same without waiting for it or being notified, several times, and
// returns the average.
func (c *call) play(t *testing.T, alone bool) (u used) {
	t.Helper()
	times := c.times
	if alone {
		times = 1
	}
	synctest.Test(t, func(t *testing.T) {
		m, closes := openMarket(t)
		defer closes()
		ctx, caller := t.Context(), client.ForHandler(m)
		for i := range times {
			id := fmt.Sprintf("order-%06d", i)
			if c.update {
				if _, err := endless.Start(ctx, caller, id, workflow.None{}); err != nil {
					t.Fatal(err)
				}
			}
			before := m.stored(ctx)
			m.mu.Lock()
			m.used = used{}
			m.mu.Unlock()
			var other sync.WaitGroup
			if c.takes.Outside {
				other.Go(func() {
					time.Sleep(c.takes.Activity)
					if err := outsider.Complete(ctx, caller, <-tokens, answerOfCalls); err != nil {
						t.Error(err)
					}
				})
			}
			if err := c.make(ctx, caller, id, alone); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			other.Wait()
			time.Sleep(c.rest(alone))
			m.mu.Lock()
			m.used.bytes = m.stored(ctx) - before
			u = u.plus(m.used, 1/float64(times))
			m.mu.Unlock()
		}
	})
	return u
}

// rest returns how long after a call nothing is left of it.
func (c *call) rest(alone bool) time.Duration {
	switch {
	case c.takes.Outside:
		return pendingFor + time.Hour // the message that would end it comes then
	case alone:
		return c.takes.Activity + c.takes.Timer + time.Minute
	}
	return time.Minute
}

// make makes a call, or does the same without waiting for it or being notified.
func (c *call) make(ctx context.Context, caller *client.Client, id string, alone bool) (err error) {
	var o workflow.StartOptions
	if c.pushed() && !alone {
		o.Notify = []client.Notification{c.notify}
	}
	switch {
	case c.update && alone:
		_, err = serve.Send(ctx, caller, id, c.takes)
	case c.update:
		_, err = serve.Call(ctx, caller, id, c.takes)
	case alone || c.pushed():
		_, err = called.Start(ctx, caller, id, c.takes, o)
	default:
		_, err = called.Run(ctx, caller, id, c.takes)
	}
	return err
}

// callRows plays all calls, and returns the table of docs/cost.md.
func callRows(t *testing.T) (rows [][]string) {
	t.Helper()
	rows = append(rows, []string{
		"call", "requests", "read units", "write units", "SQS requests", "seconds held", "function URL", "of it wait or push", "HTTP API", "of it wait or push",
	})
	for _, c := range calls() {
		all, alone := c.play(t, false), c.play(t, true)
		cells := []string{c.name}
		for _, of := range []struct {
			what          string
			counted, most float64
		}{
			{"requests", all.requests, c.most.requests},
			{"read units", all.ReadUnits, c.most.reads},
			{"write units", all.WriteUnits, c.most.writes},
			{"requests to SQS", all.QueueRequests, c.most.messages},
			{"seconds held", all.held, c.most.held},
		} {
			if of.counted > of.most+1e-9 {
				t.Errorf("%s: %v %s; the budget is %v", c.name, of.counted, of.what, of.most)
			}
			cells = append(cells, fmt.Sprintf("%.4g [%v]", of.counted, of.most))
		}
		for _, httpAPI := range []bool{false, true} {
			sum, without := all.million(httpAPI), alone.million(httpAPI)
			cells = append(cells, dollarsOfCalls(sum), dollarsOfCalls(sum-without))
		}
		rows = append(rows, cells)
	}
	return rows
}

// dollarsOfCalls formats the price of a million, without cents from $100 on.
func dollarsOfCalls(n float64) string {
	if n < 100 {
		return inCents(n)
	}
	return "$" + measured.Commas(strconv.FormatFloat(math.Round(n), 'f', -1, 64))
}

// docs/cost.md has what calls cost as callers make them: with the real client, which pauses between
// its requests. To rewrite the table: go test ./proof/cost -run TestCalls -tables
func TestCalls(t *testing.T) {
	t.Parallel()
	text := holdTableBy(t, alike, "cost.md", "calls", callRows(t))
	cell := func(call string, column int) string {
		for line := range strings.SplitSeq(text, "\n") {
			if cells := strings.Split(strings.Trim(line, "| "), " | "); strings.Contains(cells[0], call) {
				return cells[column]
			}
		}
		t.Fatalf("there is no call %q", call)
		return ""
	}
	const webhook, bus, wait = "a webhook", "EventBridge", 7
	figures := fmt.Sprintf("%s a million with everything on (HTTP API with its access log), or %s (function URL); pushed, %s (webhook) or %s (EventBridge)",
		minuteOfWaiting("http"), minuteOfWaiting("url"), cell(webhook, wait), cell(bus, wait))
	for _, file := range []string{"README.md", "docs/cost.md", "docs/notifications.md"} {
		document, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(strings.Join(strings.Fields(string(document)), " "), figures) {
			t.Errorf("%s does not say %q", file, figures)
		}
	}
}

// minuteOfWaiting returns what a caller that waits for a minute adds to a million runs with
// everything on, as weft cost --waited 60s has it.
func minuteOfWaiting(api string) string {
	w, s := bill.Canonical(price.Million), bill.Default()
	s.API = api
	without := bill.Sum(bill.Month(w, s))
	w.Waited = 60
	return fmt.Sprintf("$%.0f", bill.Sum(bill.Month(w, s))-without)
}
