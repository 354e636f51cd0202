// Package sim searches for a counterexample to what must always hold (design §11): a deterministic simulation of whole
// deployments, clients, processes, store and queues, in one goroutine at a time, from one seed. A failure prints its seed,
// and the seed replays it.
//
//	      clients ── requests, sent again until they are answered
//	         │
//	  ┌──────┴───────┬──────────────┐
//	process 1    process 2      process 3      each an executor.Service of its own: its cache, its queues; each can die
//	  └──────┬───────┴──────────────┘
//	      ports ── at every call: die before or after, lose the answer, throttle, sleep, duplicate, reorder
//	         │
//	 memory store, queue, blobs ── the audit folds every commit that lands
//
// An actor is a client, a request or the handling of a message. It is a coroutine (coro.Pull) that is left at each call
// of a port and each wait, and entered again when the scheduler, which draws from the seed, picks it. When its process
// dies it is never entered again, except to unwind.
//
// What AWS documents of its services is a list of named faults (faults.go). Each names its source, happens in some seeds only, and
// draws from a random stream of its own. TestSeeds prints how often each happened, and demands that it does.
//
// Time is the simulation's. It moves a little with each step, and jumps when nothing else can happen.
//
// What is checked while it runs: the log of each run is contiguous, each event resolves once, no update is accepted twice,
// no two runs of a workflow are open, and a put never lands where something stands. At the end, when nothing more can
// happen: what was acknowledged is in the log, every caller of an update was told the same, a refused update left nothing,
// no run is stranded, each run replays to its own commands, and results and answers are those that the log implies. A chain of
// runs (by a retry policy, or a cron expression) goes on when and as long as it should, and ends when its time is over. Messages
// between workflows do not become more and more.
//
// Schedules keep what docs/schedules.md promises (promises.go): each moment has one run unless the policy, a pause or the catch-up
// window leaves it out, each run has a moment or was asked for, no two are open where the policy forbids it, and nothing begins
// after a deletion.
//
// What clients of one run are told about updates and queries is checked besides: each must have taken effect at one moment
// between its request and its answer (linear_test.go, with porcupine; what nobody was told the outcome of, at any moment
// after its request, or never). linear_aws_test.go demands the same of real processes over a DynamoDB server, whose network
// loses requests and answers.
//
// The search (search_test.go): `make test` plays fixed seeds, CI and `make sim` fresh ones besides, on all cores, one goroutine for
// each seed at a time. A summary says how many a minute there were, and how often each fault happened. Three seeds in four are small:
// a workflow, a client or two, a few requests. They find most for their time.
//
// A failure prints its seed and the command that replays it, and is shrunk (shrink_test.go): a random choice is drawn from a named
// stream (draws.go), and 0 is the calm choice, so that a run is a script of choices, and a shorter script with more calm choices that
// fails in the same way shows what the failure needs. Every seed that has ever failed is in testdata/seeds.txt, and its script in
// testdata/scripts; TestSeedsKept and TestScriptsKept play them. A script replays with
//
//	go test ./proof/sim -run 'TestScript$' -script=testdata/scripts/NAME.script -v
//
// The simulation is itself tested: the mutants (mutants_*_test.go) break the protocol on purpose, and a seed must find each within the
// number that it states. `make test` plays the main ones, `make sim-mutants` all.
package sim
