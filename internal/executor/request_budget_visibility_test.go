package executor_test

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/meter"
)

// visibility measures a memo and search attributes, at a start and when code changes them. They
// cost no write, no read and no message.
func (b *bench) visibility(reads int64) {
	const start = `{"workflowId":"shown","type":"shower","input":"","memo":{"note":"a first"},"searchAttributes":{"Region":{"keyword":"eu"},"Amount":{"int":5}}}`
	b.measure("start, with a memo and search attributes", meter.Cost{Writes: 1, Reads: 1}, func() { b.do(http.MethodPost, "", start) })
	b.measure("update, which changes both", meter.Cost{Writes: 1, Reads: reads}, func() {
		b.do(http.MethodPost, "/shown/updates/show", `{"input":{"region":"us","note":"another"}}`)
	})
	b.measure("end of a run that shows them", meter.Cost{Writes: 1, Reads: reads}, func() {
		b.do(http.MethodPost, "/shown/signals/on", `{"input":"end"}`)
		b.drain()
	})
}
