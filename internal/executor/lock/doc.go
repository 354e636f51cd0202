// Package lock orders the work on a workflow within one process.
//
// Each workflow has one lock. One holder at a time works on the workflow, in order of arrival:
//
//	Acquire ──▶ (waits) ──▶ holder ──▶ Release ──▶ the next waiter
//	               │
//	               └─ Take: the holder carries out calls of those who wait
//	                    ├─ Answer:   the waiter's Acquire returns Answered
//	                    └─ GiveBack: the waiter is first in the queue again, and works alone
//
// The lock spares the process races against itself. Correctness does not depend on it: other
// processes have locks of their own, and the condition of each put decides.
//
// Watchers notifies those who wait for a workflow's next commit, or for one that changes the list,
// when this process has made it.
//
// # What it uses of the layers below
//
//	host.Host  Wait WithTimeout
package lock
