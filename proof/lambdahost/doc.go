// Package lambdahost runs compiled Lambda functions without AWS, for tests. It starts the real
// bootstrap binaries as processes, and serves them Lambda's runtime API. It also plays what
// surrounds them: an HTTP API ([Gateway]), a function URL that streams ([StreamingURL]), and the
// event source mapping of a queue ([Mapping]).
//
//	test ──▶ Gateway ──┐                      ┌─▶ environment ─ bootstrap (a process)
//	                   ├─▶ Host.Invoke ─ one ─┼─▶ environment ─ bootstrap
//	queue ──▶ Mapping ─┘      event each      └─▶ environment ─ bootstrap
//
// An environment is a process that serves one event at a time and is kept for the next. A test can
// kill it, or pause it, during an event: see [Host.Busy]. The host replaces a dead process when the
// next event arrives. It sends signals only to processes that it has started.
//
// # What differs from AWS
//
//   - If all environments of a function are busy, Invoke waits. AWS refuses with 429, which
//     mappings and gateways retry or pass on. On a small machine a test would measure little else.
//   - A process has the file system, the network and the rights of the test, but not its
//     environment variables.
//   - A mapping receives messages as soon as it is free. AWS scales its pollers by the backlog.
package lambdahost
