// Package weftest runs workflows in tests. It has the real engine and the real protocol, a store
// and queues in memory, and a clock that jumps to the next thing that is due. A test of a workflow
// that takes a month takes a millisecond.
//
//	func TestReminder(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			env := weftest.New(t, workflow.Bind(cart.Workflow, cart.Run, cart.Names), cart.Charge, cart.Remind)
//			accept := func(context.Context, string) (activity.None, error) { return activity.None{}, nil }
//			remind := weftest.Mock(env, cart.Remind, accept)
//
//			run, err := cart.Workflow.Start(t.Context(), env.Client(), "cart-42", cart.Start{Owner: "ada"})
//			...
//			env.Sleep(25 * time.Hour)
//			if remind.Count() != 1 { ... }
//		})
//	}
//
// Tests start, signal, query and update workflows with the declarations that production uses,
// through [Env.Client]. The whole test runs in a bubble of testing/synctest. So activities and the
// test may call time.Sleep, which takes no real time either.
//
// Payloads have up to 5 MiB, as in a deployment with a bucket. [Env.SmallPayloads] sets the limits
// of a deployment without one.
//
// # What is the same each time
//
// Each run of a test has the same history, for these reasons:
//
//   - Time begins at midnight, 2000-01-01 UTC.
//   - Ids are derived from a fixed seed.
//   - The environment delivers a message when everything that the message before it caused waits
//     for something.
//
// There is one exception: code that sleeps exactly until its own time-out may end either way.
//
// # What fails a test by itself
//
//   - A workflow task that fails: workflow code that panics, breaks a rule, or does something else
//     than its history. A deployment would retry the task until other code is deployed.
//   - An update that fails its task, or a validator that changes state, even if the test has looked
//     at the error: see [Env.AllowFailedUpdates].
//   - An activity that is neither registered nor mocked, that fails without end, or that calls
//     t.Fatal.
//   - A wait that nothing will end. The message says where the workflow waits, and what it waits
//     for.
//   - Code that is not deterministic: at the end of the test each run is rebuilt from its history.
//   - A function passed to [Env.After] that has not been called when the test ends.
//
// A failed test logs the histories of all runs.
package weftest
