// Package notify starts the runs that notify callers of the ends of runs.
//
//	a run closes ── NotifyCaller ──▶ weft.notify:RUN:EVENT
//
// The delivering run is one of Weft's own (internal/notify). Its log has the causation id of the
// message, as that of a child has: a redelivered message looks there for what is owed. Maintenance
// keeps it for as long as the run that it tells of is there (see IsNeeded).
//
// # What it uses of the layers below
//
//	commit           Open
//	inbox            Foreign Locate RepairForeign
//	runlog.Reader    FirstCommitOf LastCommit
//	runlog.View      EnsureFresh
//	session.Process  At Parser Timestamp
//	session.Session  Run
//	starts           Event
package notify
