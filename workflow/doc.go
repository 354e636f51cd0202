// Package workflow declares workflows, and has what their code calls.
//
// A workflow is a function. It may wait for months, and the process that runs it may die at any
// time. Weft keeps its history. When something happens, Weft runs the function again from that
// history, up to where it was. So a workflow's code has to do the same each time, given the same
// history:
//
//	instead of              write                       because, otherwise
//	time.Now, time.Sleep    Now, Sleep, OnTimer         the clock has moved on when the code is run again
//	go, chan, select, sync  Go, Channel, Select, Mutex  the Go runtime runs goroutines in any order, and a wait that
//	                                                    the engine does not know holds up the task until it fails
//	math/rand, uuid         Random, NewID               each run of the code draws another number
//	ranging over a map      a sorted slice of its keys  the order differs each time
//	files, network, env     an activity                 what they say changes; an activity's result is recorded
//
// A workflow that breaks such a rule fails its task with a non-determinism error. The error names
// the event, and says what the history has and what the code did. The run is not harmed: it
// continues when code is deployed that does the same again. The linter weftvet finds most such code
// earlier (docs/weftvet.md).
//
// # Declarations
//
// Each workflow, update, query and signal is declared once, with its name and types. Authors set
// handlers with the declaration, and callers call it. A wrong argument does not compile.
//
//	var (
//		Workflow = workflow.NewWorkflow[Start, Receipt]("cart")
//		AddItem  = workflow.NewUpdate[Item, Total]("addItem")
//		Contents = workflow.NewQuery[workflow.None, Contained]("cart")
//		Note     = workflow.NewSignal[string]("note")
//	)
//
// # Talking to a workflow
//
//   - A signal is durable when it is sent, and has no answer.
//   - A query reads the workflow's state and changes nothing.
//   - An update does both. Its validator sees the workflow as it is now and may refuse, which
//     leaves no trace. An accepted update is in the history. Its handler runs in the workflow like
//     any other coroutine, and the caller gets its result.
//
// A validator and a handler may do different things:
//
//	validator   may read the workflow's variables and its argument. It may not wait, nor ask for the time.
//	handler     may do what the workflow may: run activities, sleep, wait for conditions, take locks.
//
// A workflow that returns while handlers are running fails their updates: wait for them with
// [AwaitHandlers].
//
// # Cancellation
//
// When a workflow is canceled, its context is canceled, and each wait under it returns a
// [CanceledError], unless what it waits for is there already. To clean up, wait under
// [Disconnected].
package workflow
