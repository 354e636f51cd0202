// Package sim searches for a counterexample to what must always hold (design §11). It is a
// deterministic simulation of whole deployments (clients, processes, store and queues), in one
// goroutine at a time, from one seed. A failure prints its seed, and the seed replays it.
//
//	      clients ── requests, sent again until they are answered
//	         │
//	  ┌──────┴───────┬──────────────┐
//	process 1    process 2      process 3      each an executor.Service with its own cache and queues; each can die
//	  └──────┬───────┴──────────────┘
//	      ports ── at every call: die before or after, lose the answer, throttle, sleep, duplicate, reorder
//	         │
//	 memory store, queue, blobs ── the audit folds every commit that lands
//
// An actor is a client, a request or the handling of a message. It is a coroutine (coro.Pull) that
// stops at each call of a port and at each wait. The scheduler picks the actor that continues, by a
// draw from the seed. When an actor's process dies, the actor is only unwound.
//
// Behaviours that AWS documents are a list of named faults (faults.go). Each names its source,
// happens in some seeds only, and draws from a random stream of its own. TestSeeds prints how often
// each happened, and demands that each does.
//
// Time belongs to the simulation. It moves a little with each step, and jumps when nothing else can
// happen.
//
// Checks while it runs:
//
//   - The log of each run is contiguous.
//   - Each event resolves once.
//   - No update is accepted twice.
//   - No two runs of a workflow are open.
//   - A put never lands in a slot that is taken.
//
// Checks at the end, when nothing more can happen:
//
//   - What was acknowledged is in the log.
//   - Every caller of an update was told the same.
//   - A refused update left nothing.
//   - No run is stranded.
//   - Each run replays to its own commands.
//   - Results and answers are those that the log implies.
//   - A chain of runs (by a retry policy, or a cron expression) continues when and as long as it
//     should, and ends at its deadline.
//   - Messages between workflows do not multiply.
//
// Schedules keep what docs/schedules.md promises (promises.go):
//
//   - Each moment has one run unless the policy, a pause or the catch-up window leaves it out.
//   - Each run has a moment or was asked for.
//   - No two runs are open if the policy forbids it.
//   - Nothing begins after a deletion.
//
// Batches keep what docs/batches.md promises (batchaudit.go). A witness sees each action of a step,
// and the logs say what the action did:
//
//   - A run that the list has when the batch begins is acted on if the filter selects it until the
//     batch has completed. The log has what the batch counts as done.
//   - No other run is acted on, and no run twice, whatever was repeated.
//   - A dry run acts on nothing. Its count lies between the runs that the list had all the time and
//     those that there ever were.
//   - The counts add up, and each step's are those of one of its attempts.
//   - A batch acts on no more runs than it may, and on those of one step more for each attempt
//     whose result is lost.
//   - A batch that was stopped takes no step. Each batch closes. One id is one batch.
//
// Callers wait for the outcome of a run, and pause between two requests as the answers say
// (waiters.go):
//
//   - The outcome that they get is the log's. No answer lacks it after the run has ended.
//   - No request is held for longer than its process's settings say.
//   - They ask soon after the moment that the run waits for, and learn of any other outcome at most
//     an eighth of the time late that they have waited, and a minute.
//
// Receivers are notified of the ends of runs (receivers.go). They are slow, and fail after they
// have a notification, and so do processes before they record that:
//
//   - A notification that a run owes is delivered, unless the run is deleted or a queue is purged.
//   - None is delivered before its closing commit is in the log, nor of a run that another follows.
//   - Each attempt has the same id and the same body, with the outcome that the log has.
//   - One run delivers it. A run that follows another has that one's receivers.
//
// The answers to updates and queries of one run are also checked for linearizability: each must
// have taken effect at one moment between its request and its answer (linear_test.go, with
// porcupine). A request of unknown outcome takes effect at any moment after it, or never.
// linear_aws_test.go demands the same of real processes over a DynamoDB server whose network loses
// requests and answers.
//
// TestRollouts plays the same while a deployment is rolled out (gradual.go): two builds are live
// behind an alias with weights, which move up and back. The young build does what the old one does
// not know. Requests and messages go through the code of the Lambda functions (forwards.go), which
// forwards them to the build that owns the run, and versions are throttled, gone or silent:
//
//   - No build puts a task, also one that failed, of a run that it does not own by what it can know
//     of the alias. Excepted are events that could not be forwarded.
//   - No caller learns of builds, and no message becomes a dead letter because it was forwarded.
//   - All other checks hold: each request is answered and each run ends when the weights rest. If
//     the old build stays, an operator resets the runs of the young one to before it.
//
// `make test` plays a hundred fixed seeds (search_test.go), and `make sim-fixed` a thousand. CI and
// `make sim` also play fresh ones on all cores, one goroutine for each seed. A summary prints how
// many seeds there were a minute, and how often each fault happened. Three seeds in four are small:
// a workflow, one or two clients, a few requests. Small seeds find most failures for their time.
//
// A failure prints its seed and the command that replays it, and is shrunk (shrink_test.go). A
// random choice is drawn from a named stream (draws.go), and 0 is the calm choice. So a run is a
// script of choices. A shorter script with more calm choices that fails in the same way shows what
// the failure needs. testdata/seeds.txt has every seed that has ever failed, and testdata/scripts
// has their scripts. TestSeedsKept and TestScriptsKept play them. A script replays with
//
//	go test ./proof/sim -run 'TestScript$' -script=testdata/scripts/NAME.script -v
//
// A seed in testdata/seeds.txt that is marked as plain failed before there were batches and
// notifications. It is played without them, and so is a seed with -without=batches,notifications.
//
// Mutants test the simulation itself (mutants_*_test.go). They break the protocol on purpose, and a
// seed must find each within the number that it states. `make sim-fixed` plays the main ones, and
// `make sim-mutants` plays all.
package sim
