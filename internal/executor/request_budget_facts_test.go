package executor_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// listed measures an operation, and reports it if it writes more rows of the list than its budget.
func (b *bench) listed(name string, budget meter.Cost, rows int64, operation func()) {
	b.t.Helper()
	before := b.units.rows.Load()
	b.measure(name, budget, operation)
	if n := b.units.rows.Load() - before; n > rows {
		b.t.Errorf("%s wrote %d rows of the list, and its budget is %d", name, n, rows)
	}
}

// facts measures the rows of runs that get stuck or are paused. They cost no write of their own.
func (b *bench) facts(reads int64) {
	b.broken.Store(true)
	b.listed("start, of a run that is stuck at once", meter.Cost{Writes: 1, Reads: 1, Messages: 1}, 1, func() {
		b.do(http.MethodPost, "", `{"workflowId":"halting","type":"fickle","input":"waits"}`)
	})
	b.listed("signal, of a stuck run", meter.Cost{Writes: 1, Reads: reads, Messages: 1}, 0, func() {
		b.do(http.MethodPost, "/halting/signals/any", "")
	})
	b.listed("pause, of a stuck run, with its row", meter.Cost{Writes: 1, Reads: reads}, 1, func() {
		b.do(http.MethodPost, "/halting/pause", "")
	})
	b.listed("resume, of a run that is stuck again", meter.Cost{Writes: 1, Reads: reads, Messages: 1}, 1, func() {
		b.do(http.MethodPost, "/halting/resume", "")
	})
	b.broken.Store(false)
	b.listed("retry of a stuck run, with its row", meter.Cost{Writes: 1, Reads: 1, Messages: 1}, 1, func() {
		b.do(http.MethodPost, "/halting/retry", "")
	})
	b.listed("end of the same", meter.Cost{Writes: 1, Reads: reads, Messages: 0}, 1, func() {
		b.do(http.MethodPost, "/halting/terminate", "")
	})
	b.next(time.Minute)
	b.drain()

	b.refusing(reads)

	// The list, the records of the run, and its log if attempts have failed. Nothing is written for
	// it.
	get := func(target string) func() { return func() { b.do(http.MethodGet, target, "") } }
	const of, counted = "?filter=Retrying+AND+WorkflowId='%s'", "/v1/counts?groupBy=Retrying&filter=WorkflowId='%s'"
	b.do(http.MethodPost, "", `{"workflowId":"failing","type":"fickle","input":"fails"}`)
	b.do(http.MethodPost, "", `{"workflowId":"waiting","type":"fickle","input":"waits"}`)
	b.next(time.Second)
	b.measure("list by retries, of a run that retries", meter.Cost{Reads: 3}, get(fmt.Sprintf(of, "failing")))
	b.measure("list by retries, of an open run that does not", meter.Cost{Reads: 2}, get(fmt.Sprintf(of, "waiting")))
	b.measure("list by retries, of a closed run", meter.Cost{Reads: 1}, get(fmt.Sprintf(of, "halting")))
	b.measure("count by retries, of a run that retries", meter.Cost{Reads: 3}, get(fmt.Sprintf(counted, "failing")))
	var page struct{ Version string }
	b.do(http.MethodGet, fmt.Sprintf(of, "failing"), "").Into(b.t, &page)
	b.measure("list by retries, a wait of 20 s without news", meter.Cost{Reads: 9}, get(fmt.Sprintf(of, "failing")+"&wait=20s&version="+page.Version))
	b.do(http.MethodPost, "/failing/terminate", "")
	b.do(http.MethodPost, "/waiting/terminate", "")
	b.drain()
}

// refusing measures a run whose code refuses updates. The commit of the failure, which the history
// needs, has the row; so has the commit of the task that ends this.
func (b *bench) refusing(reads int64) {
	update := func(target string) func() {
		return func() {
			a := b.process().DoWith(b.total.Counting(b.t.Context()), http.MethodPost, "/v1/workflows/refusing/updates/"+target, `{"input":"how"}`)
			if a.Status != http.StatusConflict {
				b.t.Errorf("%d %s", a.Status, a.Body)
			}
		}
	}
	b.do(http.MethodPost, "", `{"workflowId":"refusing","type":"fragile","input":null}`)
	b.broken.Store(true)
	b.listed("update, refused because the code fails, with its row", meter.Cost{Writes: 1, Reads: reads}, 1, update("set"))
	b.listed("update, refused in the same way again", meter.Cost{Reads: 1}, 0, update("set"))
	b.measure("describe, of a run that refuses updates", meter.Cost{Reads: 1}, func() { b.do(http.MethodGet, "/refusing", "") })
	b.broken.Store(false)
	b.listed("retry of a run that refuses updates, with its row", meter.Cost{Writes: 1, Reads: 1}, 1, func() {
		b.do(http.MethodPost, "/refusing/retry", "")
	})
	b.do(http.MethodPost, "/refusing/terminate", "")
	b.next(2 * time.Minute)
	b.drain()
}
