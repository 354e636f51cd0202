// Package commit runs a task of a run, or opens a run, and commits what it came to.
//
//	Event, Events ─▶ Task ─▶ session.Step ─▶ a transition ─▶ Transition ─▶ session.Commit
//	                                              │
//	Open ── the first task, or none if it waits ──┘
//
// The messages that triggered the task are arguments of each of these. Without any, a request
// triggered it, and Transition sends before it puts.
//
// A task that writes more than a commit may hold fails, and its events are kept: other code can use
// them. A request whose task writes that much is refused instead.
//
// One put opens a run and closes the run that it continues or replaces. It also puts what keeps
// others from opening a run beside it: see beside.go.
//
// # What it uses of the layers below
//
//	host.Host        ID Now
//	runlog.Known     Vanishing
//	runner           Ident
//	runner.Code      Drop FirstStep
//	runner.Tasks     Ran
//	session.Process  Keep Observed TooLarge
//	session.Session  Commit Discard Fit RequireFresh Run Step Writer
package commit
