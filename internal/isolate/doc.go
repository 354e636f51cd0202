// Package isolate runs workflow and activity code in child processes of the local server.
//
// The parent holds the data directory, the queues, the listener and the sweep of timers. Each child
// is the same binary, executed again. It runs executor.Service and the HTTP API over ports that
// call the parent through a Unix socket:
//
//	 caller ──▶ parent: Pool ──── request, delivery ────▶ child: executor.Service, user code
//	              │   ▲                                      │
//	store, queue ◀┘   └────────── store, queue calls ────────┘
//
// A workflow id always goes to the same child while that child lives: its cache and its locks are
// there. Correctness does not depend on that. Two processes that run the same workflow meet in the
// store's conditional put, as on Lambda.
//
// A caller who waits for the list waits in one child. The parent tells all children when it has put
// a commit that changes the list.
//
// # When a child dies
//
//   - Callers whose request was in the child get 503. The request may have been carried out, as
//     after any crash.
//   - The parent makes its deliveries visible again at once.
//   - Each workflow that was in flight is a suspect. Its next work runs in the solo child, where
//     suspects take turns. A delivery whose turn has not come is postponed, and made visible at its
//     turn: it occupies no handler meanwhile.
//   - Code that returns there clears the suspect. If one workflow alone ends the solo child, all
//     others are cleared.
//   - A workflow that ends the solo child soloDeaths times is parked.
//   - The parent starts another child, with backoff.
//
// A child whose code hangs is retired: it gets no more work, and is killed after a short time. The
// workflow whose code hangs is then a suspect. Hanging in the solo child counts as ending it.
package isolate
