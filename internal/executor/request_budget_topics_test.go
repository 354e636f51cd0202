package executor_test

import (
	"fmt"
	"net/http"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// topics measures what it costs to publish and to read items.
func (b *bench) topics(reads int64) {
	get := func(target string) func() { return func() { b.do(http.MethodGet, target, "") } }
	say := func(text string, n int) func() {
		return func() {
			b.do(http.MethodPost, "/pub/signals/say", fmt.Sprintf(`{"input":%q,"requestId":"say-%d"}`, text, n))
		}
	}
	b.do(http.MethodPost, "", `{"workflowId":"pub","type":"publisher","input":0}`)
	b.measure("signal whose task publishes an item", meter.Cost{Writes: 1, Reads: reads}, say("one", 1))
	b.measure("topics", meter.Cost{Reads: 1}, get("/pub/topics"))
	b.measure("a topic", meter.Cost{Reads: 1}, get("/pub/topics/steps?from=0"))
	b.measure("a topic, a wait of 20 s without news", meter.Cost{Reads: 20}, get("/pub/topics/steps?from=1&wait=20s"))
	b.do(http.MethodPost, "/pub/signals/say", `{"input":"next","requestId":"say-2"}`)
	b.measure("a topic, from the run before on", meter.Cost{Reads: 2}, get("/pub/topics/steps"))
	b.do(http.MethodPost, "/pub/terminate", "")
	b.drain()
}
