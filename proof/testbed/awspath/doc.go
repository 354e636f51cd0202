// Package awspath is the second testbed of the scripts (the first is testbed.Bubble): Weft as it runs on AWS, in the process
// of a test. The functions are those that Lambda would run, over a store that may be a real DynamoDB server, and get the
// events that AWS would hand them.
//
//	script ─▶ lambdahost.Gateway ─ event 2.0 ─▶ api ──────────┐
//	queue  ─▶ batches of SQS records ─────────▶ workflow      ├─ executor.Service ─▶ DynamoDB
//	          (10; activities and dead 1)       activity      │        │
//	                                            dead          │        ▼
//	clock  ─▶ schedule events ────────────────▶ timer ────────┘  queue (in memory)
//
// # Time
//
// What talks to a server cannot run in a bubble of testing/synctest. Here time is a [Clock], which is the host.Host of
// all processes: it knows who waits, lets one of them go on at a time, and moves only when nothing else can happen. So a
// script plays the same on each run, and its day takes no time. Real time passes only in the requests to the server, which
// nobody waits for but the goroutine that makes them.
//
// # What is otherwise than on AWS
//
//   - The queues are queue/memory, which has SQS's semantics and follows the clock; SQS has a clock of its own. What
//     queue/sqs makes of them is held to the same suite, and what is in an event is what it would have sent.
//   - Of the schedule events, which come each minute, those are left out whose sweep would find nothing.
//   - Invocations have no deadline: the activities of the scripts take up to two hours, which no Lambda function may. The
//     functions' deadlines have tests of their own in internal/function.
//   - All functions of a process share a service, and so a cache; on AWS each has its own. A testbed has several processes.
//   - The slow check over all runs (executor.Service.Maintain) is left out, as it is in the bubble.
package awspath
