// Package runner runs the code of workflows and of activities, and keeps the process safe from it.
//
// A session has the Code of its workflow's latest run: an instance of the engine, stopped where it
// waits, or none. A task goes through these steps:
//
//	Step ─▶ Barred? ─▶ catch up ─▶ engine.Run.Step ─▶ local activities ─▶ checks ─▶ a transition
//	          │           │            │
//	          │           │            └─ each under a guard: code that does not return in time is abandoned,
//	          │           │               and the run is blocked until it returns (hung.go)
//	          │           └─ replays the commits that the instance has not seen (catchup.go)
//	          └─ code that has ended the process too often, or that hangs, does not run (recorder.go, hung.go)
//
// Code that fails fails its task, not the run. The instance is ahead of the log after a step. It
// stays only if the transition's commit lands, or if the code did nothing but look.
//
// # What it uses of the layers below
//
//	host.Host  Guard Now Together Wait WithTimeout
package runner
