// Package model is a model of the protocol between the log and the queues, and two programs that use its rules.
//
// The explorer (explore.go) visits every state of a small deployment, breadth first: which commits stand in the log, which messages are
// where, what each process is about to do. A step is one call to the store or a queue, so a process can die between any two. The
// checker (accept.go) follows the events of a real trace: the simulation tells it each put, sending, delivery and deletion
// (proof/sim/events.go), and a seed fails if the rules do not allow one of them.
//
// Both use rules.go: where a message's commit stands (View.Find), what is needed (Run.Needed) and owed (Run.Owed), when a slot may
// be fenced, which numbers a start takes (View.Beside), which puts a log takes (Fits), what a record of an attempt says (Admit).
//
// # What is modelled
//
//   - Requests (start, signal, update; a start that ends the run which is open): read, send, put, answer.
//   - Messages of activities, timers, results, children and reports of children: causation ids, copies, fences, repairs, dead letters.
//   - Two logs: a parent and a child, with its close policy.
//   - Attempts: failures, limits, the record that an attempt has begun.
//   - Inline continuation, continue-as-new, void runs, deletion by maintenance and the id used again.
//
// The faults are a crash at any step, a put that gets no answer and lands later or never, a message that is there twice, a visibility
// that runs out, a writer that sleeps for longer than the grace, half of a transaction read, and a receive without a handler.
//
// # What is not
//
// Payloads and their limits, clocks, rates, heartbeats, attempts that go on outside, signals between workflows, resets, schedules, builds,
// long timers. Three bounds on time are taken as given: a put does not arrive later than an invocation may take; nobody works for as
// long as a closed run or a void run is kept; the second look for a child comes after every handler of its start has ended.
//
// # How states are left out
//
// A step goes on with what no other process can tell from its being done at once (machine.local), and with what has no effect any more
// (machine.tidy). States are visited by the number of faults on the way: one that was reached with fewer is not visited again.
// TestReductionKeepsEnds compares the ends with those of an exploration without the first two. States are kept as fingerprints of 63 bits:
// with three million of them, the chance that two share one, so that a state is left out, is 1 in 2 million.
//
// # How to read a counterexample
//
//	go test ./proof/model -run TestShapes -v -only "inline and then not"
//
// prints one of the shortest ways to what is broken: one step a line, faults marked, and the logs at the end. TestVariants switches
// each rule off and demands that something breaks. make model explores all shapes with two faults.
package model
