// Package deliveries handles the messages of the queues: timers, tasks, attempts, results and dead
// letters.
//
//	Handle ─▶ inbox.Locate ─┬▶ InLog:  act, or activities, or children
//	                        ├▶ NotYet: look again ─▶ a delayed copy ─▶ after Grace, a fence
//	                        └▶ Never:  delete
//
// A handler returns nil if its message can be deleted: all that it set off is in the log or sent.
// Otherwise the queue redelivers the message. A crash leaves the message, whose next delivery
// repairs (package inbox).
//
// HandleResults commits the results of one workflow's activities together, as many as fit into one
// commit. HandleDead sends a message again that was received too often: receives that no function
// saw count as well, so that nothing may end because of them.
//
// # What it uses of the layers below
//
//	activities        AttemptAgain CloseActivity CloseAttempt Dropped Handle Later NewAttempt NextAttempt Replace
//	activities.Again  Send
//	children          AfterEnd DeliverExternal NotifyParent RedirectStray StartOrClose
//	commit            CheckBuild Events FailTooLarge Task Transition
//	host.Host         Wait WithTimeout
//	inbox             Locate Repair SendOwed
//	notify            Caller
//	outbox.Outbox     Park Postpone Send SendBack SendLater Sweep
//	runner.Code       Drop
//	runner.Runner     RetryDelay
//	session.Process   At Keep Metered Observed Timestamp
//	session.Session   Discard Encode Put Run Step Writer
package deliveries
