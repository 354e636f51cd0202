// Command torture proves that the local server is fit to be left running: it builds a real server with workflows and activities of
// its own, runs it as a process over a temporary directory, keeps it under load over HTTP, and does to it what machines, disks,
// clients and authors do. After each scenario it demands:
//
//   - Nothing acknowledged is lost: each update and signal whose answer reached its caller is in the run's state.
//   - Nothing is done twice in history: each activity and timer is resolved once, each update id is accepted once.
//   - No refused update is visible.
//   - The server answers within a second.
//
// Run it with
//
//	make torture                    every scenario in full
//	make torture TORTURE_MINUTES=3  what fits into three minutes
//	go run ./internal/torture -list
//	go run ./internal/torture -only kill9 -seed 42
//
// A failure prints the seed that repeats its choices; the order in which processes and threads run is not under its control. The exit
// status is 1 if a scenario failed.
//
// The harness keeps its own truth (ledger.go): its requests, and the answers to them. The server is this program again, called as
// `torture serve`: with weft.Main, or, for scenarios in which the clock jumps, with the same server over a clock that its standard input
// moves (program.go).
package main
