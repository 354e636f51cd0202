// Package outbox sends the executor's messages: soon ones to their queues, later ones to the store
// of timers, from which Sweep sends them in time.
//
//	          due within LongTimer
//	Send ───────────────────────────────▶ queue ──▶ deliveries
//	   │                                   ▲
//	   └──▶ store of timers ── Sweep ──────┘
//	          due later; parked; the task queue is gone
//
// A message has two ids. Its send id distinguishes one send of a message from another: a copy that
// replaces a message keeps it. Its causation id identifies the chain of deliveries that one send
// started, with all that they send and commit. A redelivered message repairs what its causation id
// owes, and nothing else.
//
// Nothing here decides whether a message is still needed; its receiver does. So each function may
// send a message twice after a crash or an unclear answer.
//
// # What it uses of the layers below
//
//	host.Host  ID Now Together Wait WithTimeout
//	outcome    OfQueue OfStore
package outbox
