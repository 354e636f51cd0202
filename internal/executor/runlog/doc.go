// Package runlog reads the logs of a workflow's runs.
//
// A run is a log of commits, in slots from 0 on; a workflow is a sequence of runs, by number. Three
// types read them:
//
//	View    what one session knows of the latest run, and whether it has read since it began
//	 ├─ Known   what the process knows: the cache keeps it between sessions
//	 └─ Reader  reads other runs, first and last commits, and commits that memory does not keep
//
// What was read stays true: a commit never changes, and the log only grows. What was not read may
// be wrong in three ways, and each has a file here:
//
//	torn.go    a put of several items appears to readers one by one
//	gone.go    items are being deleted: the run is over, or never was
//	long.go    a long log is not kept in memory as a whole
//
// # What it uses of the layers below
//
//	host       Backoff Expired
//	host.Host  Now Wait
//	outcome    OfRead OfStore
package runlog
