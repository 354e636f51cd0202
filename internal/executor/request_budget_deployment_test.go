package executor_test

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// deployment measures the requests about the deployment. On AWS those about queues also make
// requests to SQS, which are not messages: two for each queue, and one for a redrive.
func (b *bench) deployment() {
	get := func(target string) func() { return func() { b.do(http.MethodGet, target, "") } }
	b.measure("the deployment", meter.Cost{}, get("/v1/deployment"))
	b.measure("the types", meter.Cost{}, get("/v1/types"))
	b.measure("the types, with their schemas", meter.Cost{}, get("/v1/types?schemas=true"))
	b.measure("the contract of a type", meter.Cost{}, get("/v1/types/counter"))
	b.measure("the builds, with their open runs", meter.Cost{Reads: 1}, get("/v1/builds"))
	b.measure("the queues", meter.Cost{}, get("/v1/queues"))
	b.measure("redrive", meter.Cost{}, func() { b.do(http.MethodPost, "/v1/queues/timers/redrive", "") })
}
