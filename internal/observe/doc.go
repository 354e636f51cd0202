// Package observe reports what Weft does: what happened, to whom, and how long it took. It holds no
// exporter. Package executor reports to a [Hub], which passes the reports on to sinks: the log,
// CloudWatch's embedded metric format ([emf]), and OpenTelemetry (package weftotel), which a
// program links only if it wants it.
//
//	executor, httpapi ──▶ Hub ──▶ Sink: a log line for each event, at level debug
//	                      ──▶ Sink: metrics, added up, one line for an invocation (package emf)
//	                      ──▶ Tracer: spans, and the metrics by OTLP (package weftotel)
//
// # No payload
//
// An event has ids, names of types, kinds, counts and times. It never has an input, a result, or
// the text of a failure: those may hold what users gave.
//
// # One trace for a workflow
//
// A trace follows a workflow through functions and queues, for weeks, and costs no write and no
// message. All functions compute the same ids from what is in the log:
//
//   - the trace, and whether it is sampled: from the trace context of the request that started the
//     workflow, which its start event keeps (history.WorkflowExecutionStarted.TraceParent). A run
//     that continues another has that too. The trace id of a run that was started without tracing
//     is derived from its ids.
//   - the span of a run: the random digits of its run id.
//   - the span of a workflow task: the first half of its commit's id. A message names the commit
//     that schedules it, so that an attempt at an activity knows the span of the task that asked
//     for it.
//
// [emf]: https://pkg.go.dev/github.com/seed-41655fb1/weft/internal/observe/emf
package observe
