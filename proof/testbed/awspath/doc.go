// Package awspath is the second testbed of the scripts (the first is testbed.Bubble): Weft as it
// runs on AWS, in the process of a test. The functions are those that Lambda would run, over a
// store that may be a real DynamoDB server. They get the events that AWS would send.
//
//	script ─▶ lambdahost.Gateway ─ event 2.0 ─▶ api ──────────┐
//	queue  ─▶ batches of SQS records ─────────▶ workflow      ├─ executor.Service ─▶ DynamoDB
//	          (10; activities and dead 1)       activity      │        │
//	                                            dead          │        ▼
//	clock  ─▶ schedule events ────────────────▶ timer ────────┘  queue (in memory)
//
// # Time
//
// Code that talks to a server cannot run in a bubble of testing/synctest. Here time is a [Clock],
// which is the host.Host of all processes. It knows which goroutines wait, lets one of them
// continue at a time, and moves only when nothing else can happen. So a script plays the same on
// each run, and its day takes no time. Real time passes only in requests to the server, and only
// the goroutine that sends a request waits for it.
//
// # What differs from AWS
//
//   - The queues are queue/memory, which has SQS's semantics and follows the clock. SQS has a clock
//     of its own. The same suite tests queue/sqs, and an event contains what queue/sqs would have
//     sent.
//   - Schedule events arrive each minute. Those whose sweep would find nothing are left out.
//   - Invocations have no deadline, because the activities of the scripts take up to two hours,
//     which no Lambda function may. internal/function tests the functions' deadlines.
//   - All functions of a process share a service, and so a cache. On AWS each has its own. A
//     testbed has several processes.
//   - The slow check over all runs (Maintenance.Maintain) is left out, as in the bubble.
package awspath
