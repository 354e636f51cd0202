// Package inbox answers two questions about a message: which commit does it name, and what does it
// owe?
//
// Locate finds the commit that schedules a message:
//
//	the slot that it names     what it is about        what its handler does
//	─────────────────────────  ──────────────────────  ─────────────────────────────────────────────────────
//	holds another commit       -                       deletes it (Never)
//	is empty                   -                       looks again; sends copies, each later; after Grace,
//	                                                   fences (NotYet)
//	holds its commit           still needed            acts: put, send, delete (InLog)
//	holds its commit           already done            repairs, and deletes it
//	holds its commit           left to another         reads again; sends a copy for when no put can be in flight;
//	                                                   deletes it (outcome.ErrDropped)
//
// Repair sends what earlier deliveries of the message may have left unsent: the messages of all
// commits with its causation id that are still needed. A message may have made commits in the log
// of another workflow. RepairForeign does the same there.
//
// # What it uses of the layers below
//
//	outbox.Outbox    Send
//	runlog.Reader    LastCommit
//	runlog.View      EnsureFresh EnsureLoaded IsMoot Other Owed Previous Refresh
//	session.Process  At
//	session.Session  Run
package inbox
