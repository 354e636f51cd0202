// Package requests carries out what callers ask for, one file for each kind of request.
//
// A request acquires its workflow's lock, decides, and commits or answers
// (session.Process.Request). It returns an error that says what the caller may do next, and whether
// anything was written.
//
// # Updates
//
// Updates that wait for the same lock share a task and a commit (update.go):
//
//	Update ─▶ acquire the lock ─┬▶ look the ids up ─▶ run the code with the new ones ─┬▶ accepted: send, put, answer
//	                            │                                                     └▶ rejected: read, answer
//	                            └▶ answered by the holder before it
//
// If the code of one fails, the others are carried out together without those of its name. Those
// are given back to their callers, who carry them out alone.
//
// A caller's time may be over while the code runs. The work then goes on by itself, and the answer
// is "unknown": a retry with the same id learns the outcome.
//
// # What it uses of the layers below
//
//	activities          BeginNow FailureOf MayRun NotBackingOff Outside Verify
//	activities.Attempt  Report Verdict
//	attempts            Counts Failed
//	attempts.Record     Base HasRoom HeldNow
//	attempts.Records    All Failing Keep Of Read
//	attempts.Stored     HaveFailed
//	commit              Anywhere CheckBuild Event FailTooLarge IsAnywhere Open Task Transition
//	host.Host           Now Together Wait WithTimeout Within
//	inbox               Waiting
//	lock.Table          AcquireWithin Answer GiveBack Take
//	lock.Watch          Stop
//	lock.Watchers       Watch WatchRows
//	outbox.Outbox       Send
//	outcome             OfContention OfRead OfStore
//	runlog.Reader       FirstCommit LastCommit RunBefore
//	runlog.View         Before Between Command Commit Commits EnsureFresh EnsureLoaded Other Refresh
//	runner              Ident WaitsOf
//	runner.Code         CatchUp Drop Query
//	runner.Runner       Barred
//	session             Bounded EndOf NoSuchWorkflow NotLatest Problem ReadRuns RecordRun
//	                    RequireUnchanged RunClosed TypeOf WalkRuns
//	session.Options     MaxPut
//	session.Process     Begin Carry Observed OpenWithin Problem ReadBeside Request Timestamp
//	session.Session     Close Commit Committed Discard Encode Insist OpenRun Put RequireFresh
//	                    Retire Run Step Writer
//	starts              CheckConflict Event LookForSignal LookForStart OpeningEvents Subscribe
package requests
