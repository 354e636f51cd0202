// Package children connects a run to other workflows: its children, its parent, and those that it
// signals or cancels.
//
// Two workflows have two logs, and no put spans them. A message carries each step from one log to
// the other:
//
//	the parent's log          the child's log                     the parent's log
//	Initiated ── StartOrCloseChild ─▶ Started, first task ─┐
//	                                                 └───────────▶ ChildWorkflowExecutionStarted
//	                            ... closes ── NotifyParent ───────▶ ChildWorkflowExecutionCompleted
//	closes ───── StartOrCloseChild ─▶ terminated, canceled, or left
//	Initiated ── DeliverExternal ────▶ Signaled ────────────────────────▶ ExternalWorkflowExecutionSignaled
//
// Each step is done once because its receiver recognizes it: a child by the request id of its
// start, a signal by its own request id, news by what is pending. The commit that closes a run
// schedules messages like any other commit, for the run's parent, its children and the receivers of
// its signals.
//
// The handler of such a message commits in a log that is not the message's own. That commit has the
// message's causation id. A redelivered message looks there for what is owed (inbox.RepairForeign).
//
// # What it uses of the layers below
//
//	commit           Event Events IsElsewhere IsOwnedElsewhere IsPinnedElsewhere Open
//	inbox            Foreign Locate Repair RepairForeign RepairForeignAt
//	outbox.Outbox    Send SendLater
//	outcome          OfRead
//	runlog.Reader    FirstCommitOf RunBefore
//	runlog.View      Command EnsureFresh EnsureLoaded Other Previous
//	runner.Code      Drop
//	session          Bounded TypeOf
//	session.Process  At Keep Parser Timestamp TooLarge
//	session.Session  Commit Run Writer
//	starts           CheckReuse Event LookForSignal
package children
