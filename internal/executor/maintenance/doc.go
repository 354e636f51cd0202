// Package maintenance is the slow check over all runs, and the deletion of runs. Correctness does
// not depend on the check: it repairs the loss of a message by AWS, or an outage of weeks.
//
//	Maintain ─▶ scan a page of commits ─▶ each run of the page
//	                                        ├▶ open: send again what is long overdue (resend.go), and
//	                                        │  the close policy of a parent that has closed (orphan.go)
//	                                        ├▶ closed: send again what nobody confirmed (resend.go)
//	                                        └▶ retention over: delete it (clean.go)
//
// A step is bounded, and stores its position. A crash repeats the step. Receivers tolerate
// duplicates, and repeated deletions do nothing.
//
// # What it uses of the layers below
//
//	activities          Outside
//	activities.Attempt  LookAfter
//	attempts            Failed
//	attempts.Records    All
//	children            LookForParent
//	commit              Void
//	host.Host           Now WithTimeout
//	inbox               Waiting
//	notify              IsNeeded
//	outbox.Outbox       Copy Send
//	outcome             CauseOf OfRead
//	runlog              IsVoid ReadsLast
//	runlog.Reader       FirstCommit IsGone IsRecent
//	runlog.View         Commits EnsureFresh Other
//	session.Process     At Keep Metered Observed Open Problem Timestamp
//	session.Session     Close Encode Forget Run
package maintenance
