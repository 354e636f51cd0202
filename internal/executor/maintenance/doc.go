// Package maintenance is the slow check over all runs, and the deletion of runs. Nothing that is correct depends on the
// check: it repairs what the loss of a message by AWS, or an outage of weeks, has broken.
//
//	Maintain ─▶ scan a page of commits ─▶ each run of the page ─┬▶ open: send again what is long overdue (resend.go), and the
//	                                                            │   close policy of a parent that has closed (orphan.go)
//	                                                            ├▶ closed: send again what nobody confirmed (resend.go)
//	                                                            └▶ retention over: delete it (clean.go)
//
// A step is bounded, and keeps its place in the store. A crash repeats the step; receivers tolerate duplicates, and
// deletions do nothing the second time.
package maintenance
