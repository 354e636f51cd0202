// Package turn is the protocol between the log and the queues: it loads a run, runs its code, commits, and sends, in the
// order that loses nothing. It is the only imperative core of Weft; the same code serves the Lambda functions, the local
// server and the simulation.
//
// # Terms
//
// A turn is the handling of one request or one message. A commit is what it adds to a run's log, in one conditional put
// into the next slot. A message names the commit that schedules it, and nobody acts on it unless that commit is in the
// log. A wave is what one sending of a message sets off: its copies and attempts, its result, and the commits that these made.
//
// # The two orders
//
//	a request:   read* ── run the code ── send ── put ── answer           (*not if warm: the put proves it)
//	                                           ╲
//	                                            a crash here leaves messages that name no commit: their receivers
//	                                            wait for it, and then fence its slot
//
//	a message:   read* ── run the code ── put ── send ── delete the message
//	                                          ╲      ╲
//	                                           a crash here: the message comes again, finds that it was done, and
//	                                           sends what its wave owes before it is deleted
//
// Inline continuation leaves the sending out: where the result of an activity is followed by one activity and nothing else,
// and its author has said so, the process that committed the result goes on with that activity (continuation). The message
// that began it all is deleted at the end; delivered again before, it sends what is pending, as after any crash.
//
// Local activities run within "run the code", before the send and the put of the same line (session.locals): what they come to is in
// the commit, and whoever runs the code again runs them again. In a task that hands updates over none runs: it commits first, with
// a timer that is due at once.
//
// # Two workflows
//
// A child, a signal to another workflow and a request that it end are in two logs, and no put spans them. A message carries
// each step from one log to the other:
//
//	the parent's log          the child's log                     the parent's log
//	Initiated ── SettleChild ─▶ Started, first task ─┐
//	                                                 └───────────▶ ChildWorkflowExecutionStarted
//	                            ... closes ── ReportChild ───────▶ ChildWorkflowExecutionCompleted
//	closes ───── SettleChild ─▶ terminated, asked to end, or left
//	Initiated ── ReachOut ────▶ Signaled ────────────────────────▶ ExternalWorkflowExecutionSignaled
//
// Each is done once because its receiver knows it again: the child by the request id of its start, a signal by its own, news by
// what is pending. The commit that closes a run schedules messages like any other, for its parent, its children and what it
// has sent; so "the run has closed" never means only "delete".
//
// A handler of such a message commits in a log that is not the message's. The commit there has the message's wave, and only a
// message that was delivered before looks there for what is owed (foreign, repairForeign).
//
// # What a message comes to
//
//	the slot that it names     what it is about        what happens
//	─────────────────────────  ──────────────────────  ─────────────────────────────────────────────────────
//	holds another commit       -                       deleted
//	is empty                   -                       looked at again; copies, each later; after Grace, a fence
//	holds its commit           still needed            done: put, then send, then deleted
//	holds its commit           already done            its wave's messages are sent again; deleted
//	holds its commit           left to another         looked at again by a strong read, and by a copy when no put can be on
//	                                                   its way any more; deleted (outcome.ErrDropped)
//
// # Answers that write nothing
//
// A warm instance may run first and put then: the condition proves that it was current. Every other answer (a refusal, a
// known id, a query, a result) rests on a consistent read that began after the request arrived (session.fresh). If that read brings
// news, the code runs again on the news (session.final); if it brings none, the verdict stands (session.stands). An instance stays as
// long as it is at the end of the log: after a commit that landed, and after a refusal or a query in which nothing ran but code that may
// only look. One that ran ahead of the log is thrown away; the commits themselves stay, they never change.
//
// # Failures
//
//   - A put is lost (another commit took the slot): reload from the last slot seen, run again with a new commit id, until
//     the soft limit; how long to wait before that, the slots say that others have taken meanwhile (contention). A request is then told that it is busy; a message's result goes to the workflow's queue.
//   - The answer to a put is lost: the identical put is repeated until it is known whose commit stands there. Nothing else
//     is tried meanwhile. If the time is over, the answer is "unknown", and the caller's retry finds out by its id.
//   - A send fails: before the put, nothing has happened. After it, the message is delivered again and repairs.
//   - The process dies: see the two orders.
//   - The code fails: the task fails, not the run. See engine.Run.Step.
//   - The code hangs, or takes its goroutine with it: the same, with the stack where it hangs. The instance is abandoned and
//     counted. Whoever still uses it closes it when it comes back (engine.Instance.Enter). Until then the run is blocked: none of its
//     code runs, updates and queries are refused, and the tasks that messages bring fail, and are tried again (blocks).
//
// # One process
//
// The gate of a workflow lets one turn at a time work on it in a process, and updates that wait behind each other share an
// activation and a commit. If the code of one fails, the others are carried out together without those of its name. Those are given back
// to their callers, who carry them out alone, each when its turn at the gate comes. Correctness does not rest on gates or caches: other
// processes have their own.
package executor
