package executor_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// waits measures what it costs to see what runs wait for.
func (b *bench) waits(reads int64) {
	get := func(target string) func() { return func() { b.do(http.MethodGet, target, "") } }
	b.do(http.MethodPost, "", `{"workflowId":"idle","type":"counter"}`)
	b.measure("waits", meter.Cost{Reads: 1}, get("/idle/waits"))
	b.do(http.MethodPost, "/idle/terminate", "")
	b.measure("waits, of a closed run", meter.Cost{Reads: 1}, get("/idle/waits"))

	b.do(http.MethodPost, "", `{"workflowId":"jammed","type":"fickle","input":"fails"}`)
	b.next(time.Minute)
	b.measure("waits, with a failed activity", meter.Cost{Reads: 2}, get("/jammed/waits"))
	b.measure("describe, with a failed activity", meter.Cost{Reads: 2}, get("/jammed"))
	b.do(http.MethodPost, "/jammed/terminate", "")

	b.do(http.MethodPost, "", `{"workflowId":"father","type":"brood","input":"start"}`)
	b.drain()
	b.measure("describe, with the state of a child", meter.Cost{Reads: 2}, get("/father?children=1"))
	b.measure("waits, with the state of a child", meter.Cost{Reads: 2}, get("/father/waits?children=1"))
	b.do(http.MethodPost, "/father/terminate", "")
	b.drain()

	b.do(http.MethodPost, "", `{"workflowId":"notified","type":"counter","notify":[{"url":"https://a.example"},{"url":"https://b.example"}]}`)
	b.measure("describe, of a run with two notifications", meter.Cost{Reads: 1}, get("/notified"))
	b.do(http.MethodPost, "/notified/terminate", "")
	b.drain()
	b.measure("describe, of a run that has sent two notifications", meter.Cost{Reads: 3}, get("/notified"))

	b.do(http.MethodPost, "", `{"workflowId":"long","type":"counter"}`)
	for i := range 300 {
		b.do(http.MethodPost, "/long/updates/add", fmt.Sprintf(`{"updateId":"u%d","input":0}`, i))
	}
	b.measure("waits, of a run of 1,200 events", meter.Cost{Reads: 1 + reads}, get("/long/waits"))
	b.do(http.MethodPost, "/long/terminate", "")
	b.drain()
}
