// Command torture proves that the local server is fit to run unattended. It builds a real server
// with workflows and activities of its own, and runs it as a process over a temporary directory. It
// keeps the server under load over HTTP, and disturbs it as machines, disks, clients and authors
// do. After each scenario it demands:
//
//   - Nothing acknowledged is lost: each update and signal whose answer reached its caller is in
//     the run's state.
//   - Nothing is done twice in history: each activity and timer is resolved once, and each update
//     id is accepted once.
//   - No refused update is visible.
//   - The server answers within a second.
//
// If files are damaged or gone, something may be lost. Then the log must name the run or the file,
// what is served must be right, and runs with whole data must be served whole. The harness reads
// the damaged directory itself to find the affected runs.
//
// Run it with
//
//	make torture                     every scenario in full, one after the other: about three hours
//	make torture ONLY=kill9          one scenario in full
//	make torture TORTURE_MINUTES=3   a short form of all, which takes about so long on a quiet machine
//	go run ./proof/torture -list
//	go run ./proof/torture -only kill9 -seed 42
//
// The full form uses the numbers in the list of scenarios: 1,000 kills, 1,000 flipped bits, 10,000
// connections, 5,000 waiters, 100,000 open runs, an hour's soak. It prints its progress. The short
// form runs scenarios that mostly wait in parallel with the others, and does as much as fits into
// the time. Both write their results to a file under bin as they run, as a table in Markdown with
// the date, the commit, the command and the seed.
//
// A failure prints the seed that repeats its choices. The harness does not control the order in
// which processes and threads run. The exit status is 1 if a scenario failed.
//
// The harness keeps its own record of its requests and their answers (ledger.go). The server is
// this program again, called as `torture serve`, with weft.Main. For the soak, the server has a
// telemetry that counts costs and goroutines (counts.go). For scenarios in which the clock jumps,
// it has a clock that its standard input moves (program.go).
package main
