// Package adapter turns a program's workflows and activities into Lambda functions. Your program is
// one line:
//
//	func main() {
//		adapter.Main(adapter.FromEnvironment(),
//			workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Reserve, cart.Charge)
//	}
//
// Build it for provided.al2023 as the file bootstrap, and deploy it once for each [Role], with the
// role in the variable WEFT_ROLE. Or give each role a main of its own, as the folders next to this
// package do. [Main] lists all variables.
//
//	event                                      role      what the function does
//	─────────────────────────────────────────  ────────  ──────────────────────────────────────────────────
//	HTTP API, function URL (format 2.0),       api       answers a request of the HTTP API
//	REST API (format 1.0)
//	a batch of the workflow queue (FIFO)       workflow  commits results, the messages of a workflow together
//	a batch of the timer queue                 workflow  fires timers, retries failed tasks
//	a batch of the activity queue, or of that  activity  runs attempts at activities
//	of a task queue
//	a schedule, each minute                    timer     sends the long timers that are nearly due
//	a batch of any queue of dead letters       dead      sends again what was received too often
//
// # Batches
//
// The answer to a batch lists the messages to redeliver. The event source mapping has to ask for
// that list (FunctionResponseTypes: ReportBatchItemFailures). Otherwise it takes every answer for a
// success and deletes the messages that failed. If a message of a FIFO group fails, all messages
// behind it in the group are redelivered too.
//
// # Time
//
// An invocation ends its work [Reserve] before the function's time-out, to have time for the commit
// and the answer.
//
//   - The activity role holds an activity whose attempts may take longer than that, and logs an
//     error. Give the function a longer time-out, or the activity a shorter one.
//   - Set WEFT_TIMEOUT to the function's time-out. Lambda does not report it: it only reports the
//     time left, which is less after any delay.
//   - The visibility of a queue is at least six times the time-out of the function that consumes
//     it.
//   - If the visibility is [ShortenFrom] longer than an attempt needs, the activity role shortens
//     it for the attempt's message. It leaves smaller differences, because each change is billed.
//     An attempt whose process died is then repeated only when the queue's visibility is over.
//
// # Versions
//
// A process does not run a run that is pinned to another build (workflow.BindOptions.Pinned). If
// versions of the function are published at each deployment, and WEFT_PINNING is on, the function
// forwards the event to its version with that build, and returns that version's answer. It forwards
// a request unchanged, and of a batch the messages of such runs.
//
//   - An event is forwarded only once.
//   - The version gets the time that this invocation has left.
//   - Events for the function's own build cost nothing more.
//   - If there is no such version, the request is refused, and the messages wait.
//
// # Processes
//
// A process serves one invocation at a time. It caches the runs that it has loaded for the next
// one. Workflow code that never returns cannot be ended: a process with such code answers and then
// exits. Lambda starts another.
//
// # Telemetry
//
// A function logs lines of JSON. If something is wrong, it writes metrics between them, in
// CloudWatch's embedded format (see WEFT_METRICS). A program exports traces if it has an exporter:
//
//	adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), registrations...)
//
// Metrics and traces are exported after the answer has been sent. None of them contains a payload.
// docs/observability.md has the details.
//
// # Deployed separately
//
// A function registers what it runs:
//
//   - api and workflow need the code of the workflows.
//   - activity needs the code of the activities. If it also has the workflows' code, it continues a
//     workflow itself when an activity has ended. Otherwise the result passes through the workflow
//     queue, which is one more message.
//   - timer and dead need no registrations.
package adapter
