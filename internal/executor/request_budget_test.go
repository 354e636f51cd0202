package executor_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/limits"
	"github.com/seed-41655fb1/weft/internal/meter"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/store"
	"github.com/seed-41655fb1/weft/workflow"
)

// bench is a deployment whose operations are counted one after the other. If it is cold, a new
// process handles each request and each message. If it is warm, one process handles all of them.
type bench struct {
	t     *testing.T
	d     *testbed.Deployment
	cold  bool
	last  *testbed.Process
	total meter.Meter
	units units
	rows  []row
	// broken says that the code of fickle panics.
	broken atomic.Bool
	// build is that of the processes; empty for the usual one. chain is their Options.Chain.
	build string
	chain bool
	logs  map[store.Key]*engine.Run // by their first commits
}

// row is a row of the table of budgets.
type row struct {
	name         string
	budget, cost meter.Cost
	units        string
}

// units counts what DynamoDB bills for the pages and items of a log. A unit is 4 KB read or 1 KB
// written. A row of the list is one more unit for each kilobyte.
type units struct {
	store.Log
	read, written, rows atomic.Int64
}

func (u *units) Append(ctx context.Context, items ...store.Item) error {
	for _, item := range items {
		u.written.Add(int64(len(item.Body)+100+1023) / 1024)
		if item.Summary != nil {
			u.rows.Add(1)
		}
	}
	return u.Log.Append(ctx, items...)
}

func (u *units) Backward(ctx context.Context, workflow string, before, until store.Key, limit int) (store.Page, error) {
	page, err := u.Log.Backward(ctx, workflow, before, until, limit)
	size := 0
	for _, item := range page.Items {
		size += len(item.Body) + 100
	}
	u.read.Add(max(1, int64(size+4095)/4096))
	return page, err
}

func newBench(t *testing.T, cold bool) *bench {
	b := &bench{t: t, d: testbed.New(t), cold: cold, logs: map[store.Key]*engine.Run{}}
	b.units.Log = b.d.Store
	b.d.Ports.Log = &b.units
	b.d.Receivers = &receivers{}
	return b
}

func (b *bench) process() *testbed.Process {
	if b.last == nil || b.cold {
		if b.last != nil {
			b.last.Stop()
		}
		b.last = b.d.Idle(executor.Options{Rate: rateOfSlow, Webhooks: notifying(b.t).Webhooks, Build: b.build, Engine: engine.Options{Chain: b.chain}}, slices.Concat(testbed.Workload("build-2"), brood(), b.fickle(), []workflow.Registration{bindFragile(&b.broken, new(atomic.Bool))})...)
	}
	return b.last
}

// chained sets whether the processes chain activities. The next one is new.
func (b *bench) chained(chain bool) {
	b.process().Stop()
	b.chain, b.last = chain, nil
}

func (b *bench) do(method, target, body string) *testbed.Answer {
	b.t.Helper()
	if !strings.HasPrefix(target, "/v1/") {
		target = "/v1/workflows" + target
	}
	a := b.process().DoWith(b.total.Counting(b.t.Context()), method, target, body)
	if a.Status >= 400 && a.Status != http.StatusUnprocessableEntity {
		b.t.Fatalf("%s %s %s: %d %s", method, target, body, a.Status, a.Body)
	}
	return a
}

func (b *bench) drain() {
	b.d.Drain(b.total.Counting(context.Background()), func(string) *testbed.Process { return b.process() })
}

// measure counts an operation, and reports it if it costs more than its budget.
func (b *bench) measure(name string, budget meter.Cost, operation func()) {
	b.t.Helper()
	before, read, written := b.total.Cost(), b.units.read.Load(), b.units.written.Load()
	derived := b.derived()
	operation()
	after := b.total.Cost()
	b.checkDerived(name, after.Writes-before.Writes, after.Messages-before.Messages, b.derived().Minus(derived))
	r := row{name: name, budget: budget, cost: meter.Cost{
		Writes: after.Writes - before.Writes, Reads: after.Reads - before.Reads,
		Messages: after.Messages - before.Messages, Lost: after.Lost - before.Lost,
	}, units: fmt.Sprintf("%d read, %d written", b.units.read.Load()-read, b.units.written.Load()-written)}
	b.rows = append(b.rows, r)
	if c := r.cost; c.Writes > budget.Writes || c.Reads > budget.Reads || c.Messages > budget.Messages || c.Lost > budget.Lost {
		b.t.Errorf("%s cost %v, and its budget is %v", name, c, budget)
	}
}

// refused sends a request that is refused with this status.
func (b *bench) refused(status int, target, body string) func() {
	return func() {
		b.t.Helper()
		a := b.process().DoWith(b.total.Counting(b.t.Context()), http.MethodPost, "/v1/workflows"+target, body)
		if a.Status != status {
			b.t.Errorf("POST %s %s: %d %s", target, body, a.Status, a.Body)
		}
	}
}

// contract measures requests that the contract of a run's code does not have. Each reads the log
// once. A start that cannot be a repetition, because it has no id, reads nothing.
func (b *bench) contract() {
	b.measure("start, of a wrong input", meter.Cost{}, b.refused(http.StatusBadRequest, "", `{"type":"sequence","input":"x"}`))
	b.measure("start, of a wrong input, with a request id", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "", `{"type":"sequence","input":"x","requestId":"r"}`))
	b.measure("start, of an unknown type, with a request id", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "", `{"type":"sequense","requestId":"r"}`))
	b.measure("signal, with a start of a wrong input", meter.Cost{}, b.refused(http.StatusBadRequest, "/new/signals/mail", `{"start":{"type":"sequence","input":"x"}}`))
	b.measure("signal, with a start of a wrong input, with a request id", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "/new/signals/mail", `{"requestId":"r","start":{"type":"sequence","input":"x"}}`))
	b.measure("signal, of an unknown name", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "/a/signals/pike", ""))
	b.measure("signal, of a wrong value", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "/a/signals/mail", `{"input":1}`))
	b.measure("update, of an unknown name", meter.Cost{Reads: 1}, b.refused(http.StatusUnprocessableEntity, "/a/updates/ad", `{"input":1}`))
	b.measure("update, of a wrong input", meter.Cost{Reads: 1}, b.refused(http.StatusUnprocessableEntity, "/a/updates/add", `{"input":"1"}`))
	b.measure("query, of an unknown name", meter.Cost{Reads: 1}, b.refused(http.StatusNotFound, "/a/queries/sun", ""))
	b.measure("query, of a wrong input", meter.Cost{Reads: 1}, b.refused(http.StatusBadRequest, "/a/queries/plus", `{"input":"1"}`))
}

func (b *bench) table() string {
	var text strings.Builder
	for _, r := range b.rows {
		fmt.Fprintf(&text, "\n%-50s budget %-36v cost %-36v units %s", r.name, r.budget, r.cost, r.units)
	}
	return text.String()
}

// TestBudgets compares the costs of operations with design §2, with reads for a cold process and
// for a warm one. The log has the table: go test ./internal/executor -run TestBudgets -v
func TestBudgets(t *testing.T) {
	t.Parallel()
	for _, cold := range []bool{true, false} {
		t.Run(map[bool]string{true: "cold", false: "warm"}[cold], func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, cold)
				reads := int64(0) // the reads that a warm process saves
				if cold {
					reads = 1
				}
				b.requests(reads)
				b.timers(reads)
				b.longTimers(reads)
				b.chains(reads)
				b.schedule(reads)
				b.activities(reads)
				b.byHand(reads)
				b.waits(reads)
				b.topics(reads)
				b.rates(reads)
				b.visibility(reads)
				b.facts(reads)
				b.deployment()
				b.children(reads)
				b.batches(reads)
				b.longHistories(reads)
				b.d.CheckReplay(b.process())
				t.Log(b.table())
			})
		})
	}
}

// requests measures the requests of a short run.
func (b *bench) requests(reads int64) {
	post := func(target, body string) func() { return func() { b.do(http.MethodPost, target, body) } }
	get := func(target string) func() { return func() { b.do(http.MethodGet, target, "") } }
	b.measure("start, an id of the caller's", meter.Cost{Writes: 1, Reads: 1}, post("", `{"workflowId":"a","type":"counter","requestId":"r0"}`))
	b.measure("start, an id that we make", meter.Cost{Writes: 1}, post("", `{"type":"counter"}`))
	b.measure("start, with one activity", meter.Cost{Writes: 1, Messages: 1}, post("", `{"type":"sequence","input":1}`))
	b.drain()
	b.measure("start, sent again", meter.Cost{Reads: 1}, post("", `{"workflowId":"a","type":"counter","requestId":"r0"}`))
	b.measure("signal", meter.Cost{Writes: 1, Reads: reads}, post("/a/signals/poke", `{"requestId":"r1"}`))
	b.measure("signal, sent again", meter.Cost{Reads: 1}, post("/a/signals/poke", `{"requestId":"r1"}`))
	b.measure("update, accepted and completed", meter.Cost{Writes: 1, Reads: reads}, post("/a/updates/add", `{"updateId":"u1","input":1}`))
	b.measure("update, accepted; completed later", meter.Cost{Writes: 1, Reads: reads, Messages: 1},
		post("/a/updates/do", `{"updateId":"u2","input":{"name":"x"},"waitFor":"accepted"}`))
	b.measure("... by the task of its activity", meter.Cost{Writes: 1, Reads: reads}, b.drain)
	b.measure("update with a wait, completed in its task", meter.Cost{Writes: 1, Reads: reads}, post("/a/updates/add", `{"updateId":"u4","input":1,"waitFor":"completed"}`))
	b.measure("update, rejected", meter.Cost{Reads: 1}, post("/a/updates/add", `{"updateId":"u3","input":-1}`))
	b.measure("update, an id that is known", meter.Cost{Reads: 1}, post("/a/updates/add", `{"updateId":"u1","input":1}`))
	b.measure("update, polled", meter.Cost{Reads: 1}, get("/a/updates/u2?wait=20s"))
	b.measure("query", meter.Cost{Reads: 1}, post("/a/queries/sum", ""))
	b.contract()
	b.measure("describe", meter.Cost{Reads: 1}, get("/a"))
	b.measure("result, of an open run", meter.Cost{Reads: 1}, get("/a/result"))
	b.measure("history", meter.Cost{Reads: 1}, get("/a/history"))
	b.measure("history, a wait for what is there", meter.Cost{Reads: 1}, get("/a/history?from=2&wait=20s"))
	b.measure("history, a wait of 20 s without news", meter.Cost{Reads: 16}, get("/a/history?from=1000&wait=20s"))
	var page struct{ Version string }
	b.measure("list", meter.Cost{Reads: 1}, func() { b.do(http.MethodGet, "", "").Into(b.t, &page) })
	b.measure("list, a wait of 20 s without news", meter.Cost{Reads: 12}, get("?wait=20s&version="+page.Version))
	b.measure("cancel", meter.Cost{Writes: 1, Reads: reads}, post("/a/cancel", ""))
	b.measure("result", meter.Cost{Reads: 1}, get("/a/result?wait=20s"))
	var closed schema.ResultResponse
	b.measure("start with a wait, closes in its first task", meter.Cost{Writes: 1, Reads: 1}, func() {
		b.do(http.MethodPost, "?wait=20s", `{"workflowId":"once","type":"sequence"}`).Into(b.t, &struct{ Outcome *schema.ResultResponse }{&closed})
	})
	if !closed.Status.Closed() {
		b.t.Errorf("the start that waits has the outcome %+v", closed)
	}
	b.measure("result of a closed run, by its run id", meter.Cost{Reads: reads}, get("/once/result?wait=20s&runId="+string(closed.RunID)))
	// Writes: the history in one item, the new run's first task, and the close of the old run.
	// Message: the one that would run that task.
	b.measure("reset, of a closed run", meter.Cost{Writes: 2, Reads: 1, Messages: 1}, post("/a/reset", `{"to":"firstTask","exclude":["updates"]}`))
	// A reset opened this run. The earlier run is read as well, because this same request may have
	// opened this one.
	b.measure("reset, of an open run that a reset made", meter.Cost{Writes: 3, Reads: 2, Messages: 1}, post("/a/reset", `{"to":"firstTask","exclude":["updates"]}`))
	b.drain()
	b.measure("runs of a workflow, three of them", meter.Cost{Reads: 5}, get("/a/runs"))
	b.measure("start, of a pinned run", meter.Cost{Writes: 1, Reads: 1}, post("", `{"workflowId":"p","type":"pinned"}`))
	b.measure("update, of a pinned run", meter.Cost{Writes: 1, Reads: reads}, post("/p/updates/add", `{"updateId":"u1","input":1}`))
	b.measure("move", meter.Cost{Writes: 1, Reads: 1}, post("/p/move", `{"unpin":true}`))
	b.measure("move, to where it is", meter.Cost{Reads: 1}, post("/p/move", `{"unpin":true}`))
}

// timers measures a timer, from its start to its firing.
func (b *bench) timers(reads int64) {
	start := func(d string) { b.do(http.MethodPost, "", `{"type":"sleeper","input":"`+d+`"}`) }
	b.measure("a timer of 15 minutes, with the run's start", meter.Cost{Writes: 2, Reads: reads, Messages: 1}, func() {
		start("15m")
		b.drain()
	})
	// The timer's item is put, and deleted after the timer was sent. One read is the sweep's. No
	// process stays warm for a day.
	b.measure("a timer of a day, with the run's start", meter.Cost{Writes: 4, Reads: 2, Messages: 1}, func() {
		start("24h")
		time.Sleep(24*time.Hour - time.Minute)
		if _, err := b.process().Service.Service.Deliveries.Sweep(b.total.Counting(context.Background())); err != nil {
			b.t.Error(err)
		}
		b.drain()
	})
}

// longTimers measures timers in the store. A timer of a year costs as much as a timer of a day. A
// canceled one costs as much when it is due.
func (b *bench) longTimers(reads int64) {
	sweep := func() {
		if _, err := b.process().Service.Service.Deliveries.Sweep(b.total.Counting(context.Background())); err != nil {
			b.t.Error(err)
		}
	}
	b.measure("a timer of a year, with the run's start", meter.Cost{Writes: 4, Reads: 2, Messages: 1}, func() {
		b.do(http.MethodPost, "", `{"type":"sleeper","input":"8760h"}`)
		time.Sleep(365*24*time.Hour - time.Minute)
		sweep()
		b.drain()
	})
	// The run ends, and its timer stays in the store until it is due. Then it is sent, and its
	// handler finds that the run has closed.
	b.measure("a timer of a day that is canceled, with the run's start", meter.Cost{Writes: 4, Reads: 3 + reads, Messages: 1}, func() {
		b.do(http.MethodPost, "", `{"workflowId":"napper","type":"sleeper","input":"24h"}`)
		b.do(http.MethodPost, "/napper/cancel", "")
		time.Sleep(24*time.Hour - time.Minute)
		sweep()
		b.drain()
	})
	// A sweep after an outage reads pages of a hundred timers. All runs continue by themselves.
	const n = 120
	b.measure(fmt.Sprintf("%d timers of a day, due in one second, after an outage of a day", n), meter.Cost{Writes: 4 * n, Reads: n + 2, Messages: n}, func() {
		for range n {
			b.do(http.MethodPost, "", `{"type":"sleeper","input":"24h"}`)
		}
		time.Sleep(48 * time.Hour)
		sweep()
		b.drain()
	})
}

// schedule measures one moment of a schedule: its timer, the start of a run, and the run's end. The
// run has one task.
func (b *bench) schedule(reads int64) {
	b.do(http.MethodPost, "/v1/schedules", `{"scheduleId":"s","schedule":{"spec":{"cron":["* * * * *"]},"action":{"type":"flaky"}}}`)
	// Two commits of the schedule and one of the run. The timer, the start and the end are a
	// message each, whose handler reads the other workflow's log.
	b.measure("a moment of a schedule, with a run of one task", meter.Cost{Writes: 3, Reads: 3*reads + 2, Messages: 3}, func() {
		b.next(time.Minute)
	})
	b.do(http.MethodPost, "/weft.schedule:s/terminate", "")
	b.drain()
}

// next delivers what is due within a time.
func (b *bench) next(within time.Duration) {
	b.d.DrainFor(b.total.Counting(context.Background()), within, func(string) *testbed.Process { return b.process() })
}

// chains measures runs that follow each other automatically. The put that closes one run opens the
// next: two items.
func (b *bench) chains(reads int64) {
	b.measure("a run of a timer, that fails, and is tried again", meter.Cost{Writes: 5, Reads: 3 * reads, Messages: 3}, func() {
		b.do(http.MethodPost, "", `{"type":"flaky","input":{"fails":1,"nap":"1s"},"retryPolicy":{}}`)
		b.drain()
	})
	// Each run sends a message for its beginning. One more is for the end of the chain: its handler
	// finds nothing to do.
	b.measure("two runs by a cron expression, with their start", meter.Cost{Writes: 4, Reads: 2*reads + 2, Messages: 4}, func() {
		b.do(http.MethodPost, "", `{"type":"flaky","cronSchedule":"@every 1m","executionTimeout":"150s"}`)
		b.drain()
	})
}

// brood returns the workflows whose children are measured. One waits for the result of a child, one
// also waits for the child's start, one has many children at once, and one sends a signal to
// another workflow.
func brood() []workflow.Registration {
	return []workflow.Registration{workflow.Bind(kid, runKid, workflow.Names(kidEnd, kidGo)), workflow.Bind(parent, func(ctx workflow.Context, how string) (string, error) {
		switch how {
		case "run":
			return kid.RunChild(ctx, "ok")
		case "start":
			child := kid.StartChild(ctx, "wait", workflow.ChildOptions{WorkflowID: "signaled"})
			if _, err := child.Started(ctx); err != nil {
				return "", err
			}
			return child.Get(ctx)
		case "tell":
			_, err := kidGo.SendTo(ctx, workflow.External("told"), "").Get(ctx)
			return "", err
		}
		var all []workflow.Child[string]
		for range 100 {
			all = append(all, kid.StartChild(ctx, "ok"))
		}
		for _, child := range all {
			if _, err := child.Get(ctx); err != nil {
				return "", err
			}
		}
		return "", nil
	})}
}

// children measures whole runs of parents and children.
func (b *bench) children(reads int64) {
	run := func(how string) func() {
		return func() {
			b.do(http.MethodPost, "", `{"type":"brood","input":"`+how+`"}`)
			b.drain()
		}
	}
	b.measure("a child whose result is waited for, both runs", meter.Cost{Writes: 3, Reads: 2 + 2*reads, Messages: 2}, run("run"))
	b.measure("a child whose start is waited for, and a signal to it", meter.Cost{Writes: 5, Reads: 1 + 4*reads, Messages: 2}, func() {
		run("start")()
		b.do(http.MethodPost, "/signaled/signals/go", `{"input":""}`)
		b.drain()
	})
	b.measure("100 children at once, all runs", meter.Cost{Writes: 111, Reads: 100 + 320*reads, Messages: 400}, run("many"))
	b.do(http.MethodPost, "", `{"workflowId":"told","type":"kid","input":"wait"}`)
	b.measure("a signal to another workflow, both runs", meter.Cost{Writes: 3, Reads: 1 + reads, Messages: 1}, run("tell"))
}

// activities measures whole runs with activities.
func (b *bench) activities(reads int64) {
	for _, n := range []int64{3, 100, 1000} {
		if n == 1000 && b.cold && testing.Short() {
			continue // half a million commits would be replayed
		}
		b.measure(fmt.Sprintf("%d activities in sequence, the whole run", n), meter.Cost{Writes: n + 1, Reads: n * reads, Messages: n}, func() {
			b.do(http.MethodPost, "", fmt.Sprintf(`{"type":"sequence","input":%d}`, n))
			b.drain()
		})
	}
	for _, n := range []int64{3, 100} {
		budget := meter.Cost{Writes: n + 1, Reads: reads, Messages: 1}
		b.measure(fmt.Sprintf("%d activities in sequence, inline, the whole run", n), budget, func() {
			b.do(http.MethodPost, "", fmt.Sprintf(`{"type":"inline","input":%d}`, n))
			b.drain()
		})
	}
	b.chained(true)
	b.measure("3 activities in sequence, chained, the whole run", meter.Cost{Writes: 4, Reads: reads, Messages: 1}, func() {
		b.do(http.MethodPost, "", `{"type":"sequence","input":3}`)
		b.drain()
	})
	b.chained(false)
	for _, n := range []int64{10, 100} {
		// For each attempt, a cold process reads whether the commit that schedules the activity is
		// in the log.
		budget := meter.Cost{Writes: 1 + n/10, Reads: (n + n/10) * reads, Messages: 2 * n}
		b.measure(fmt.Sprintf("%d activities in parallel, the whole run", n), budget, func() {
			b.do(http.MethodPost, "", `{"type":"parallel","input":[`+strings.Repeat(`{"name":"x"},`, int(n-1))+`{"name":"x"}]}`)
			b.drain()
		})
	}
	local := `{"workflowId":%q,"type":"looker","input":{"stay":%v,"jobs":[{"name":"x"},{"name":"y"},{"name":"z","fails":1}]}}`
	b.measure("3 local activities in sequence, the whole run", meter.Cost{Writes: 1, Reads: 1}, func() {
		b.do(http.MethodPost, "", fmt.Sprintf(local, "looker-1", false))
		b.drain()
	})
	b.measure("3 local activities, with the run's start", meter.Cost{Writes: 1, Reads: 1}, func() { b.do(http.MethodPost, "", fmt.Sprintf(local, "looker-2", true)) })
	b.measure("update, with a speculative local activity", meter.Cost{Writes: 1, Reads: reads}, func() { b.do(http.MethodPost, "/looker-2/updates/glance", `{"input":{"name":"x"}}`) })
	b.do(http.MethodPost, "", fmt.Sprintf(local, "looker-3", true))
	b.measure("update, with a local activity", meter.Cost{Writes: 2, Reads: 2 * reads, Messages: 1}, func() {
		b.do(http.MethodPost, "/looker-3/updates/ask", `{"input":{"name":"x"},"waitFor":"accepted"}`)
		b.drain()
	})
	// The second attempt reads the log, whatever its process holds.
	b.measure("an activity whose first attempt fails, the run", meter.Cost{Writes: 3, Reads: 1 + reads, Messages: 2}, func() {
		b.do(http.MethodPost, "", `{"type":"parallel","input":[{"name":"x","fails":1}]}`)
		b.drain()
	})
}

// rateOfSlow returns the rate of the task queue slow: one attempt a second. Other queues have no
// rate.
func rateOfSlow(taskQueue string) limits.Rate {
	if taskQueue != "slow" {
		return limits.Rate{}
	}
	return limits.Rate{PerSecond: 1}
}

// rates measures the cost of a task queue's rate.
func (b *bench) rates(reads int64) {
	one := func() {
		b.do(http.MethodPost, "", `{"type":"courier","input":[{"name":"x","queue":"slow"}]}`)
		b.drain()
	}
	b.measure("an activity at a rate, the run", meter.Cost{Writes: 3, Reads: reads, Messages: 1}, one)
	b.measure("the same, where it waits for its slot", meter.Cost{Writes: 3, Reads: 2 * reads, Messages: 2}, one)
}

// longHistories measures requests of runs with long logs. For a cold process, a log that is longer
// than a page takes two reads: its length is not known in advance, and the first read must not read
// all earlier runs.
func (b *bench) longHistories(reads int64) {
	for _, n := range []int64{3, 100, 1000} {
		id, looks := fmt.Sprintf("/long-%d", n), int64(1)
		b.do(http.MethodPost, "", fmt.Sprintf(`{"workflowId":%q,"type":"counter"}`, id[1:]))
		b.grow(id, int(n))
		if n >= 128 {
			looks += reads
		}
		after := fmt.Sprintf(", after %d commits", n)
		b.measure("signal"+after, meter.Cost{Writes: 1, Reads: looks * reads}, func() { b.do(http.MethodPost, id+"/signals/poke", "") })
		b.measure("update"+after, meter.Cost{Writes: 1, Reads: looks * reads}, func() { b.do(http.MethodPost, id+"/updates/add", `{"input":0}`) })
		b.measure("update, rejected"+after, meter.Cost{Reads: looks}, func() { b.do(http.MethodPost, id+"/updates/add", `{"input":-1}`) })
		b.measure("query"+after, meter.Cost{Reads: looks}, func() { b.do(http.MethodPost, id+"/queries/sum", "") })
		b.measure("result"+after, meter.Cost{Reads: looks}, func() { b.do(http.MethodGet, id+"/result", "") })
	}
}

// grow adds commits to a run's log, with a process of its own.
func (b *bench) grow(id string, commits int) {
	p := b.d.Idle(executor.Options{}, testbed.Workload("build-2")...)
	defer p.Stop()
	for range commits {
		if a := p.Do(http.MethodPost, "/v1/workflows"+id+"/signals/poke", ""); a.Status != http.StatusAccepted {
			b.t.Fatalf("%d %s", a.Status, a.Body)
		}
	}
	if !b.cold {
		b.do(http.MethodPost, id+"/queries/sum", "") // so that the warm process loads the run
	}
}
