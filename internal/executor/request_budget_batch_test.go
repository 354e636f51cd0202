package executor_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// batches measures a batch: what its requests cost, and what it does with the runs that it matches.
func (b *bench) batches(reads int64) {
	const n = 1000
	for i := range n {
		b.do(http.MethodPost, "", fmt.Sprintf(`{"workflowId":"many-%d","type":"counter"}`, i))
	}
	time.Sleep(time.Second)
	const many = `"filter":"WorkflowId STARTS_WITH 'many-' AND ExecutionStatus = 'Running'"`
	send := func(target, body string) func() { return func() { b.do(http.MethodPost, target, body) } }
	// The start and the end of the dry run are a write each, and its only step reads one page of
	// the list.
	b.measure("a batch that counts 1,000 runs", meter.Cost{Writes: 2, Reads: 2 + reads, Messages: 1}, func() {
		b.do(http.MethodPost, "/v1/batches", `{"batchId":"dry",`+many+`,"dryRun":true}`)
		b.drain()
	})
	// Each step is a page of the list and a commit. Only the first has a message.
	const steps = 10
	b.measure("a batch that cancels 1,000 runs", meter.Cost{Writes: 1 + steps + n, Reads: 1 + steps + n*reads + reads, Messages: 1}, func() {
		b.do(http.MethodPost, "/v1/batches", `{"batchId":"wet",`+many+`,"action":{"kind":"cancel"}}`)
		b.drain()
	})
	b.measure("a batch is described", meter.Cost{Reads: 1}, func() { b.do(http.MethodGet, "/v1/batches/wet", "") })
	b.measure("batches are listed", meter.Cost{Reads: 1}, func() { b.do(http.MethodGet, "/v1/batches", "") })
	b.do(http.MethodPost, "/v1/batches", `{"batchId":"slow","filter":"WorkflowType = 'counter'","action":{"kind":"retry"},"rate":0.01}`)
	b.next(time.Second)
	b.measure("the rate of a batch is changed", meter.Cost{Writes: 1, Reads: reads, Messages: 1}, send("/v1/batches/slow/rate", `{"rate":0.02}`))
	b.next(time.Second)
	b.measure("a batch is stopped", meter.Cost{Writes: 1, Reads: reads}, send("/v1/batches/slow/stop", `{}`))
	b.drain()
}
