// Package engine decides what a run of a workflow does next. It is pure: it does no I/O, reads no clock and draws no random
// number; time, ids and randomness come in as arguments ([Writer]), and what is to be done comes out as a record
// ([Transition]). internal/executor loads, calls it, commits and sends.
//
// # Terms
//
// A run is a log of commits. A commit is what one workflow task adds: the events that it brought to the code, the task
// itself, and the commands that the code answered with. Three events of each task (scheduled, started, and completed or
// failed) are folded into the commit's header; they have ids like all others, and package history unfolds them.
//
//	commit                                  slot 1 of run 1
//	┌──────────────────────────────────────────────────────────────────────────────┐
//	│ brought    9  ActivityTaskCompleted                        what happened     │
//	│ task      10  WorkflowTaskScheduled                        ┐                 │
//	│           11  WorkflowTaskStarted                          │ folded, 20 bytes│
//	│           12  WorkflowTaskCompleted                        ┘                 │
//	│ commands  13  WorkflowExecutionUpdateCompleted             what the code     │
//	│           14  ActivityTaskScheduled                        did about it      │
//	└──────────────────────────────────────────────────────────────────────────────┘
//
// A [Run] is a log in memory with the [State] that its events fold into. An [Instance] is the workflow's code, held at the
// point that the log has brought it to: its coroutines, and what they wait for. An activation lets the instance run: each
// coroutine that something woke, in turn, until all of them wait again.
//
//	       log                        Run.Append                       Run
//	commit ── commit ── commit  ─────────────────────▶  State: status, pending activities and
//	   │                                                timers, updates, the next event id
//	   │ Instance.Replay                                                  │
//	   ▼                                                                  │ Run.Step(task)
//	Instance: coroutines ◀────────────────────────────────────────────────┤
//	   │        Instance.Activate: deliver, run, collect commands         ▼
//	   └───────────────────────────────────────────────────────▶  Transition: the next commit, the
//	                                                              answers to updates, the failure
//
// # What a task comes to
//
//	normal       brings durable events. It always commits: where the code fails, what it brought and the failure are one
//	             commit, and a message that retries the task follows from it.
//	transient    tries a task again that failed. It adds nothing until it succeeds.
//	speculative  brings updates only. It commits where something was accepted, or the code issued a command; otherwise
//	             there is no commit, and the instance that ran it is thrown away.
//
// A task whose code waits for local activities stops there: its transition lists them, and nothing else. Whoever runs the task
// runs them, and goes on with Run.Resume, until there are none.
//
// # What always holds
//
//  1. The events of a run are numbered from 1 without a gap, and an event never changes.
//  2. The same log and the same code make the same commands: an instance rebuilt from the log stands where the one that
//     wrote it stood. Commands are numbered at the end of an activation, so a timer that is canceled and started again
//     within one task costs nothing.
//  3. Each activity and each timer is resolved by one event. What resolves it a second time is dropped by whoever brings it
//     ([Run.Needed], [Run.Accepts]); Append refuses it.
//  4. An update id is accepted at most once in a run, and completed at most once.
//  5. After a task that did not commit the instance is no longer what the log says, and is of no use.
//
// # When code and log differ
//
// Replay matches each command of the code to the event that the log has for it. Where they differ the task fails with a
// NonDeterminism failure that shows both, by event id; so it does where the code panics, blocks on something that is not
// the engine's, or knows nothing of the workflow's type. The run is untouched: it goes on when code is deployed that does
// what the log says.
//
// The golden scripts in testdata show all of this, event by event; walkthrough is the place to begin.
package engine
