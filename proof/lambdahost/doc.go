// Package lambdahost runs compiled Lambda functions without AWS, for tests: the real bootstrap binaries, as processes,
// against the runtime API that Lambda serves them; and what stands around them, an HTTP API ([Gateway]) and the event
// source mapping of a queue ([Mapping]).
//
//	test ──▶ Gateway ──┐                      ┌─▶ environment ─ bootstrap (a process)
//	                   ├─▶ Host.Invoke ─ one ─┼─▶ environment ─ bootstrap
//	queue ──▶ Mapping ─┘      event each      └─▶ environment ─ bootstrap
//
// An environment is a process that serves one event at a time, and is kept for the next. It can be killed, or stopped for
// a while, in mid-flight: see [Host.Busy]. What died is replaced when the next event comes. Only processes that a host has
// started are ever signalled.
//
// # What is otherwise than on AWS
//
//   - Where all environments of a function are busy, Invoke waits. AWS refuses (429), and mappings and gateways try again
//     or pass that on: on a small machine a test would measure little else.
//   - The file system, the network and the rights of a process are those of the test. It has none of its variables.
//   - A mapping receives as soon as it is free. AWS scales its pollers up and down by the backlog.
package lambdahost
