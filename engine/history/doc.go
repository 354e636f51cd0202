// Package history is the vocabulary of a run: its events, and the commits that carry them.
//
// A run is a log of commits. A commit is what one workflow task added: its input events, the task
// itself, and the commands that workflow code issued.
//
//	slot 0                       slot 1                         slot 2
//	┌──────────────────────────┐ ┌────────────────────────────┐ ┌─────────────────────────────┐
//	│ 1 ExecutionStarted       │ │ 6 ActivityTaskCompleted    │ │ 11 TaskScheduled            │ no input event:
//	│ 2 TaskScheduled ┐        │ │ 7 TaskScheduled ┐          │ │ 12 TaskStarted              │ a speculative task
//	│ 3 TaskStarted   │ folded │ │ 8 TaskStarted   │ folded   │ │ 13 TaskCompleted            │ that accepted
//	│ 4 TaskCompleted ┘        │ │ 9 TaskCompleted ┘          │ │ 14 ExecutionUpdateAccepted  │ an update
//	│ 5 ActivityTaskScheduled  │ │ 10 TimerStarted            │ │ 15 ExecutionUpdateCompleted │
//	└──────────────────────────┘ └────────────────────────────┘ └─────────────────────────────┘
//
// Event types have the names of the same events in Temporal. The table in event.go has a row for
// each. The three events of a workflow task are folded into the commit's header, but keep their
// three ids, so that a history has the numbers that Temporal's has. Ids are never stored: they
// follow from the commit's first id and the order of its events.
//
// A commit without a task is a run that waits for its start delay, one that was ended from outside
// (terminated, timed out), one that keeps input events for a later task, or a fence: a commit with
// no events that was put only to make sure that another one can never land in its slot.
//
// The stored form (Encode, Decode) is a version byte and CBOR with numbered fields. A later version
// adds fields and event types; it never gives a number a new meaning. Decode refuses a version or
// an event type that it does not know, because an engine that skipped an event would run the
// workflow's code on half its history.
package history
