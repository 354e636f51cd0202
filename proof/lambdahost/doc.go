// Package lambdahost runs compiled Lambda functions without AWS, for tests. It starts the real
// bootstrap binaries as processes, and serves them Lambda's runtime API. It also plays what
// surrounds them: an HTTP API ([Gateway]) and the event source mapping of a queue ([Mapping]).
//
//	test ──▶ Gateway ──┐                      ┌─▶ environment ─ bootstrap (a process)
//	                   ├─▶ Host.Invoke ─ one ─┼─▶ environment ─ bootstrap
//	queue ──▶ Mapping ─┘      event each      └─▶ environment ─ bootstrap
//
// An environment is a process that serves one event at a time, and is kept for the next. A test can
// kill it, or stop it for a while, during an event: see [Host.Busy]. The host replaces a dead
// process when the next event arrives. It signals only processes that it has started.
//
// # What differs from AWS
//
//   - If all environments of a function are busy, Invoke waits. AWS refuses (429), and mappings and
//     gateways try again or pass that on: on a small machine a test would measure little else.
//   - The file system, the network and the rights of a process are those of the test. It has none
//     of its variables.
//   - A mapping receives as soon as it is free. AWS scales its pollers up and down by the backlog.
package lambdahost
