// Package activities makes attempts at activities.
//
//	Handle ─▶ admit ──────────────▶ runAttempt ──────▶ finish
//	            │                       │                 ├─ the result is committed, or sent to the workflow's queue
//	            │                       │                 └─ the next attempt is recorded, and its message sent
//	            │                       ├─ heartbeats, and whether the run still waits for it (heartbeat.go)
//	            │                       ├─ batches of items that it publishes (publish.go)
//	            │                       └─ the attempt may go on outside, with a token (pending.go, token.go)
//	            ├─ has another delivery begun the attempt? (begin.go, package attempts)
//	            ├─ may it begin at the rate of its task queue? (rate.go)
//	            └─ has it time here? Otherwise it is held (hold.go)
//
// An attempt runs without the workflow's lock: it may take long, and may call the workflow.
// Activities run at least once. A run sees each result once, because the result is committed like
// any other event.
//
// A crash during an attempt leaves its message. The next delivery makes the attempt again, unless
// the record says that the attempt is counted and has begun: then it counts as interrupted.
//
// # What it uses of the layers below
//
//	attempts          Failed
//	attempts.Record   Base End HasClaim HasRoom HeldNow IsAhead IsBy
//	attempts.Records  Keep KeepOnce Of Own
//	commit            CheckBuild Events IsOwnedElsewhere IsPinnedElsewhere
//	host              Backoff
//	host.Host         ID Now Wait WithTimeout
//	inbox             Find Locate Repair
//	outbox.Outbox     Copy NewSendID Park ParkUntil Send SendLater SendResult
//	outcome           OfRead OfStore
//	runlog.View       EnsureFresh
//	runner            CallActivity Ended Ident KindOf TimedOut Truncate Unregistered
//	runner.Runner     Await BeginIn End GuardAttempt Leave Parked
//	session.Process   At Observed Timestamp
//	session.Session   Commit RequireFresh Writer
package activities
