// Package coro runs workflow code: many coroutines, one at a time, in an order that depends on
// nothing but what the code itself does, so that a replay runs them in the same order.
//
// A [Coroutine] is a function that can be left and entered again. It has the three methods of the
// go-workflows post:
//
//	         Execute                    Execute
//	ready ────────────▶ running ──────────────────┐
//	  ▲                  │    │                   ▼
//	  │ wake       Yield │    │ return        finished: Err is nil, or says that the code
//	  └────── blocked ◀──┘    │ panic         panicked or called runtime.Goexit
//	                          └───────────────────▲
//
// It uses iter.Pull: a switch costs about a fifth of one between goroutines by channels, and a
// waiting coroutine holds nothing but its stack. (With the race detector, which iter.Pull slows
// down more and more, [Pull] switches between goroutines.)
//
// A [Scheduler] holds the coroutines of one run. [Scheduler.Run] executes the ready ones until none
// is ready:
//
// 1. those put in front (the handlers of new updates), in that order;
// 2. then in rounds by age: a coroutine that becomes ready while an older one runs gets its turn in
// the same round, one that becomes ready while a younger one runs gets it in the next;
// 3. when nothing is ready, it evaluates the conditions that coroutines wait for
// ([Scheduler.Await]), the oldest coroutine's first.
//
// What a coroutine waits for has a [List] of its waiters and wakes only those: a result wakes the
// coroutine that waits for it and no other, so that a fan-out of n results costs n switches and not
// n².
//
// # What can go wrong
//
//   - A coroutine that panics ends, and with it the task: Run returns the panic with the
//     coroutine's own stack.
//   - A coroutine that calls runtime.Goexit ends the goroutine that called Run ([Pull] repeats the
//     call there), so call Run on a goroutine of its own. The scheduler's Err returns the reason
//     afterwards.
//   - A coroutine that blocks on something that is not the engine's makes Run hang. Nothing here
//     can end it: the caller abandons the scheduler and reports a deadlock with the stack that
//     [Scheduler.Stuck] finds.
//
// [Scheduler.Close] unwinds: every waiting coroutine is woken to panic with a value that nobody is
// meant to recover, so that its deferred functions run. Code that recovers it all the same, and
// waits again, is ended with Goexit.
package coro
