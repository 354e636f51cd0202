// Package executor is the protocol between the log and the queues. It loads a run, runs its code,
// commits and sends, in the order that loses nothing. The Lambda functions, the local server and
// the simulation all run this code.
//
// A commit is one conditional put into the next slot of a run's log. A message names the commit
// that schedules it, and nobody acts on it unless that commit is in the log. A causation id
// identifies the chain of deliveries that one send started: its copies and attempts, its result,
// and the commits that these made.
//
// # The layers
//
// Each package imports only packages below it:
//
//	executor      the Service that others use
//	requests      what callers ask for          deliveries    what messages ask for      maintenance   the slow check
//	inventory     what the deployment has
//	children  notify  other workflows           activities    attempts at activities
//	starts        may a run open?               inbox         which commit does a message name, and what does it owe?
//	commit        runs a task, or opens a run, and commits what it came to
//	session       holds a workflow's lock, loads its runs, puts and sends
//	runlog  runner  outbox  attempts  lock  outcome  host
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
//	                                           a crash here: the message is redelivered, its receiver finds the
//	                                           commit, and sends what its causation id owes before it is deleted
//
// Inline continuation skips the send. If one activity follows from the result of another, and its
// author allows it, the process that committed the result runs that activity. The message that
// started the chain is deleted at the end. If it is redelivered before, its receiver sends what is
// pending, as after any crash.
//
// Local activities run within "run the code". Their results are in the commit, and whoever runs the
// code again runs them again. A task that hands updates over runs none: it commits first, with a
// timer that is due at once.
//
// # Failures
//
//   - Another commit took the slot: reload from the last slot seen, and run again with a new commit
//     id, until the soft limit. See session.Session.Insist.
//   - The answer to a put is lost: repeat the identical put until it is known whose commit stands
//     there. If the time is over, the answer is "unknown", and the caller's retry finds out by its
//     id.
//   - A send fails: before the put, nothing has happened. After it, the message is redelivered, and
//     repairs.
//   - The process dies: see the two orders.
//   - The code fails: the task fails, not the run. See engine.Run.Step.
//   - The code hangs: the same, with the stack where it hangs. See package runner.
//
// # What it uses of the layers below
//
//	activities     SigningKey TokenWorkflow
//	commit         Anywhere
//	runner.Runner  Hung HungWorkflows SkipChecks
//	session        Defaults New
package executor
