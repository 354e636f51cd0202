// Package session is one holder's work on a workflow, from acquiring the workflow's lock to
// releasing it.
//
//	Process.Open ─▶ View.EnsureLoaded or EnsureFresh ─▶ Step ─▶ Commit ─▶ Close
//	                     │                                 │       │
//	                     │                                 │       ├─ of a request: send, then put
//	                     │                                 │       └─ of a message: put, then send
//	                     │                                 └─ code runs on the instance that the process keeps, if any
//	                     └─ reads what the process does not know of the log
//
// Insist repeats this while others take the slot, and waits longer the more of them there are
// (contention.go).
//
// # Answers that write nothing
//
// A session may run code before it reads: the condition of the put proves that it was current. Any
// other answer (a refusal, a known id, a query, a result) needs a consistent read that began after
// the request arrived. RequireFresh returns an error unless the session has made one.
// RequireUnchanged reads, and returns outcome.ErrStale if the log has grown since the code decided;
// Insist then runs the code again.
//
// # What a process keeps
//
// A Process is what the sessions of one process share: ports, options, locks, and a cache of what
// it knows of each workflow (cache.go), which is bounded by entries and bytes, and by measured
// memory (pressure.go). An instance of the code stays while it is at the end of the log: after a
// commit that landed, and after code that only looked. An instance that is ahead of the log is
// dropped. Correctness depends on neither the cache nor the locks: other processes have their own.
//
// # What it uses of the layers below
//
//	attempts         NewRecords
//	host             Backoff Expired
//	host.Host        Guard ID Now Wait WithTimeout
//	lock             New
//	lock.Table       Acquire AcquireWithin Release
//	lock.Watchers    Detach DetachRows Watch
//	outbox           New
//	outbox.Outbox    Send
//	outcome          CauseOf OfContention OfRead OfStore
//	runlog           NewKnown NewReader NewView
//	runlog.Known     IsOld MadeVoid Opened Prove Trim
//	runlog.View      EnsureLoaded Owed Refresh Reset
//	runner           Ident New
//	runner.Code      Drop IsAhead IsFull Reset Step
//	runner.Recorder  Forget
//	runner.Runner    Close Code
//	runner.Tasks     Report
package session
