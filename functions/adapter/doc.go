// Package adapter makes Lambda functions of a program's workflows and activities. A program of yours is one line:
//
//	func main() {
//		adapter.Main(adapter.FromEnvironment(), workflow.Bind(cart.Workflow, cart.Run), cart.Reserve, cart.Charge)
//	}
//
// Built for provided.al2023 as the file bootstrap, it is deployed once for each [Role], with the role in the variable
// WEFT_ROLE; or each role has a main of its own, as the folders beside this package do. [Main] lists all variables.
//
//	event                                      role      what the function does
//	─────────────────────────────────────────  ────────  ──────────────────────────────────────────────────
//	HTTP API, function URL (format 2.0),       api       answers a request of the HTTP API
//	REST API (format 1.0)
//	a batch of the workflow queue (FIFO)       workflow  commits results, the messages of a workflow together
//	a batch of the timer queue                 workflow  fires timers, tries failed tasks again
//	a batch of the activity queue, or of that  activity  makes attempts at activities
//	of a task queue
//	a schedule, each minute                    timer     sends the long timers that have become near
//	a batch of any queue of dead letters       dead      sends again what was received too often
//
// # Batches
//
// The answer to a batch lists the messages to redeliver. The event source mapping has to ask for
// that (FunctionResponseTypes: ReportBatchItemFailures). One that does not takes every answer for
// success, and deletes the messages that failed. If a message of a FIFO group fails, all behind it
// in the group are redelivered too.
//
// # Time
//
// What is done in an invocation ends [Reserve] before the function's time-out, so that it can be committed and answered.
// An activity whose attempts may take longer than that is held, and an error in the log says so: give the function a longer
// time-out, or the activity a shorter one. (Tell the function its time-out in WEFT_TIMEOUT: Lambda does not, and a process that
// is held up for a moment has less left.) The visibility of a queue is at least six times the time-out of the function
// that consumes it. The function shortens that of an activity's message only where it is [ShortenFrom] longer than the
// attempt needs, because each change is billed: else an attempt whose process died is made again only when the queue's
// visibility is over.
//
// # Versions
//
// A run that is pinned to another build (workflow.BindOptions.Pinned) is not for this process. Where versions of the function are
// published at each deployment, and WEFT_PINNING is on, the function hands the event to the version of itself that has the
// build, and answers what that one answers: a request as it came, and of a batch the messages of such runs. Nothing is handed
// on twice. The version has as long as this invocation has left. Everything else costs what it costs without. Where there is
// no such version the request is refused, and the messages wait.
//
// # Processes
//
// A process serves one invocation at a time, and keeps the runs that it has loaded for the next one. Workflow code that
// never comes back cannot be ended: a process that has some answers, and exits. Lambda starts another.
//
// # What it tells
//
// A function logs lines of JSON, and writes metrics among them, in CloudWatch's embedded format (see WEFT_METRICS). A program
// that exports traces says so:
//
//	adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), registrations...)
//
// Both are handed on when the answer has been sent. Nothing that is told has a payload. docs/observability.md has all of it.
//
// # Deployed separately
//
// A function registers what it runs. api and workflow need the code of the workflows. activity needs that of the
// activities; with the workflows' it goes on with a workflow itself when an activity has ended, and without it the result
// goes through the workflow queue, for a message more. timer and dead need none.
package adapter
