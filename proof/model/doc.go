// Package model is a model of the protocol between the log and the queues. Two programs use its
// rules.
//
// The explorer (explore.go) visits every state of a small deployment, breadth first. A state says
// which commits are in the log, where each message is, and what each process does next. A step is
// one call to the store or a queue, so a process can die between any two calls. The checker
// (accept.go) follows the events of a real trace. The simulation reports each put, sending,
// delivery and deletion to it (proof/sim/events.go), and a seed fails if the rules do not allow one
// of them.
//
// Both use the rules of rules.go:
//
//   - where a message's commit is (View.Find)
//   - what is needed (Run.Needed) and owed (Run.Owed)
//   - when a slot may be fenced (View.MayFence)
//   - which numbers a start takes (View.Beside)
//   - which puts a log accepts (Fits)
//   - whether an attempt may begin, by its record (Admit)
//
// # What is modelled
//
//   - Requests (start, signal, update; a start that ends the open run): read, send, put, answer.
//   - Messages of activities, timers, results, children and reports of children: causation ids,
//     copies, fences, repairs, dead letters.
//   - Two logs: a parent and a child, with its close policy; or a run and the one that notifies of
//     its end.
//   - Attempts: failures, limits, the record that an attempt has begun.
//   - Inline continuation, continue-as-new, void runs, deletion by maintenance and reuse of the id.
//
// The faults:
//
//   - a crash at any step
//   - a put that gets no answer and lands later or never
//   - a duplicated message
//   - a visibility timeout during the work
//   - a writer that sleeps for longer than the grace
//   - a read of half of a transaction
//   - a receive without a handler
//
// # What is not modelled
//
// Payloads and their limits, clocks, rates, heartbeats, attempts that continue outside, signals
// between workflows, resets, schedules, builds and long timers are not modelled. The model assumes
// three bounds on time:
//
//   - A put arrives no later than an invocation may take.
//   - No process works for as long as a closed run or a void run is kept.
//   - The second look for a child happens after every handler of its start has ended.
//
// # How states are reduced
//
// A step includes its next steps if no other process can distinguish whether they happen at once
// (machine.local). It forgets what no longer has an effect (machine.tidy). States are visited in
// the order of the number of faults before them: a state that was reached with fewer faults is not
// visited again. TestReductionKeepsEnds compares the ends with those of an exploration without the
// first two reductions. States are kept as fingerprints of 63 bits. Among three million states, the
// chance that two share a fingerprint, so that one is left out, is 1 in 2 million.
//
// # How to read a counterexample
//
//	go test ./proof/model -run TestShapes -v -only "inline and then not"
//
// prints one of the shortest ways to a violation. Each line is a step, faults are marked, and the
// logs are at the end. TestVariants switches each rule off and demands that something breaks. make
// model explores all shapes with two faults.
package model
