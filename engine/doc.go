// Package engine decides what a run of a workflow does next. It is pure: it does no I/O, reads no
// clock and draws no random number. Time, ids and randomness are arguments ([Writer]), and the
// actions to take are returned as a record ([Transition]). internal/executor loads, calls the
// engine, commits and sends.
//
// # Terms
//
// A run is a log of commits. A commit is what one workflow task adds: its input events, the task
// itself, and the commands of the code. Three events of each task (scheduled, started, and
// completed or failed) are folded into the commit's header. They have ids like all others, and
// package history unfolds them.
//
//	commit                                  slot 1 of run 1
//	┌──────────────────────────────────────────────────────────────────────────────┐
//	│ input      9  ActivityTaskCompleted                        what happened     │
//	│ task      10  WorkflowTaskScheduled                        ┐                 │
//	│           11  WorkflowTaskStarted                          │ folded, 20 bytes│
//	│           12  WorkflowTaskCompleted                        ┘                 │
//	│ commands  13  WorkflowExecutionUpdateCompleted             what the code     │
//	│           14  ActivityTaskScheduled                        did about it      │
//	└──────────────────────────────────────────────────────────────────────────────┘
//
// A [Run] is a log in memory with the [State] that its events fold into. An [Instance] is the
// workflow's code at the end of the log: its coroutines, and what they wait for. An activation runs
// the instance: each coroutine that something woke, in turn, until all of them wait again.
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
// # Kinds of tasks
//
//	normal       has durable input events. It always commits: if the code fails, the input events and the failure
//	             are one commit, which schedules a message that retries the task.
//	transient    retries a failed task. It adds nothing until it succeeds.
//	speculative  has only updates. It commits if an update was accepted, or the code issued a command; otherwise
//	             there is no commit, and the instance that ran it is discarded, unless the code only
//	             looked ([Transition.Unchanged]).
//
// A task whose code waits for local activities stops there: its transition lists them, and nothing
// else. The caller runs them and continues with Run.Resume, until there are none.
//
// # What always holds
//
// 1. The events of a run are numbered from 1 without a gap, and an event never changes.
// 2. The same log and the same code make the same commands: an instance that is rebuilt from the
// log is equal to the one that wrote it. Commands are numbered at the end of an activation, so a
// timer that is canceled and started again within one task costs nothing.
// 3. Each activity and each timer is resolved by one event. The caller drops a second one
// ([Run.Needed], [Run.Accepts]); Append refuses it.
// 4. An update id is accepted at most once in a run, and completed at most once.
// 5. After a task that did not commit, the instance differs from the log and must be discarded,
// unless the code only looked ([Transition.Unchanged]).
//
// # When code and log differ
//
// Replay matches each command of the code to the event that the log has for it. If they differ, the
// task fails with a NonDeterminism failure that shows both, by event id. A task also fails if the
// code panics or blocks on something that is not the engine's, or if the build does not have the
// workflow's type. The run is untouched: it continues when code is deployed that does what the log
// says.
//
// The golden scripts in testdata show all of this, event by event. Begin with walkthrough.
package engine
