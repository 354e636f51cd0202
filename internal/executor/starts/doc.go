// Package starts decides whether a start may open a run.
//
// A start that is right in itself (package command) is checked against the latest run of its
// workflow id (policies.go):
//
//	the latest run                          idConflictPolicy or idReusePolicy    the start
//	──────────────────────────────────────  ───────────────────────────────────  ──────────────────────────────────
//	was opened by the same request          -                                    returns that run
//	is open                                 fail (the default)                   fails: the workflow is open
//	                                        useExisting                          returns the open run
//	                                        terminateExisting                    terminates it, and opens the next
//	has closed                              allowDuplicate (the default)         opens the next
//	                                        allowDuplicateFailedOnly             fails if that run has completed
//	                                        rejectDuplicate                      fails: the id is used up
//
// # What it uses of the layers below
//
//	runlog.Reader    RunBefore
//	runlog.View      Before
//	runner.Code      Drop
//	session.Process  Observed
//	session.Session  Commit Run Writer
package starts
