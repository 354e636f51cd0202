// Package dynamo is the store of a deployment on AWS: one DynamoDB table.
//
// # Terms
//
// Commits, runs, slots and attempts are those of package store. A unit is what DynamoDB bills: for
// a write each started 1 KB of the item, for a consistent read each started 4 KB of what the
// request read, and for other reads half of that. A shard is one of the partitions over which the
// timers, or the rows of the list, are spread.
//
// # The table
//
// The table has a partition key "pk" and a sort key "sk", both strings. TTL is on for the attribute
// "expires" (a number: seconds since 1970). One index, named "list", has the partition key "list"
// and the sort key "place", both strings, and projects "summary" and "expires" (INCLUDE). [Schema]
// says the same in code, and infra declares it. Billing is per request.
//
// Each item also has an attribute "c": a version and a checksum of everything else in the item.
// "summary" has one too: see check.go. A read of an item with a wrong check returns an error that
// wraps store.ErrCorrupt. Lists, scans and sweeps report it and continue past it.
//
//	pk              sk                       further attributes
//	NS/w/WORKFLOW   a/RUN/EVENT              number, run, body         an activity between its attempts
//	NS/w/WORKFLOW   c/RUN/SLOT               commit, body              a commit
//	NS/w/WORKFLOW   c/RUN/SLOT               ... summary, list, place  one that opens, closes or changes a run
//	NS/w/WORKFLOW   c/RUN/0                  ... expires               one that makes its run void
//	NS/t/SHARD      DUE/ID                   body                      a timer
//	NS/t/SHARD      DUE#HASH                 body, timer               a timer with a very long id
//	NS/m            scan                     body                      the mark of the check over all runs
//	NS/k            sign                     body                      the key that tokens are signed with
//	NS/r/TASKQUEUE  rate                     number                    how far the slots of a task queue are given out
//
//	list            place
//	NS/l/SHARD      STARTED/HASH/RUN/0       summary, expires          of the commit that opened the run
//	NS/l/SHARD      STARTED/HASH/RUN/0/SLOT  summary, expires          of one that changed what the list has of it
//	NS/l/SHARD      STARTED/HASH/RUN/1       summary, expires          of the commit that closed it
//
// NS is the namespace. It has no slash, so an IAM policy with dynamodb:LeadingKeys "NS/*" limits a
// deployment to it. Numbers in keys are hexadecimal with all their digits, because strings sort by
// their bytes: 8 digits for RUN and SLOT, 16 for the others. Moments are microseconds, shifted so
// that those before 1970 come first. HASH in the list is of the workflow's id. Attempts sort before
// all commits of their workflow. A query backward from the workflow's end finds the latest commit,
// and a query for the attempts ends before the first commit.
//
// # Invariants
//
//   - A commit is put once, on the condition that no item exists at its key, and never changed.
//     Nothing else has to be kept consistent with it: no head, no lock, and no index that
//     correctness needs.
//   - Every read of the log, the attempts and the timers is consistent. Only the list is read from
//     an index. Only a scan is not consistent: its findings are checked in the log before they are
//     used.
//   - Correctness does not depend on the memory of a process, on a clock here, or on the deletion
//     of an item.
//   - Each request is sent once. Only a throttled request is sent again, with jitter, while the
//     context allows, because it was not carried out. The SDK's retries are off: after a broken
//     connection and then a throttle they would report only the throttle, which says that nothing
//     was done.
//   - An error that is not known to be harmless is unknown (see verdict.go).
//
// # What can go wrong
//
// The answer to a put is lost, or is an error of the server: Append returns store.ErrUnknown and
// sends nothing more. The caller repeats the identical Append. If the first one was applied, the
// condition fails, and the Conflict has the existing item, with the caller's own commit id. Append
// does not turn that into nil, because the port makes the caller compare.
//
// A transaction meets another one (TransactionConflict): that is unknown too, because the other may
// be an earlier try of the same transaction. If one of the conditions does not hold, that is a
// Conflict, whatever happened to the other item. The SDK gives each call its own
// ClientRequestToken. With a token made from the commit ids, the answer to a repeat would be "done"
// for ten minutes and "conflict" after that. This way it always is a Conflict.
//
// A partition is throttled: the request is sent again, about ten times at most. Then the call
// returns store.ErrThrottled. A busy partition of the index throttles the puts to the table that
// write to it. With the list on, that limits how many runs can be opened and closed: see below.
//
// An item is too large: the store measures it before it is sent, as DynamoDB does, and returns
// store.ErrTooLarge. If the measure is too small, DynamoDB's own refusal has the same result.
//
// Items expire: TTL deletes them late, in no order, one by one. Readers of the log expect that
// (internal/executor treats a run as gone after its expiry), and the list omits expired rows. Reads
// here return what exists.
//
// A process dies: every write is a single request, so only a batch of timers can be half done. Its
// caller got no answer and puts it again.
//
// # Timers
//
// Timers are spread over four partitions by a hash of their id, in the order of their moments.
// DueTimers reads the beginning of each partition and merges: the earliest come first, whenever
// they were put. There is no cursor, nothing is read twice to find timers that were put late, and
// after an outage the overdue timers are at the beginning.
//
// A bucket for each minute was the first plan. It would spread the writes better, but buckets have
// to be found:
//
//   - A sweep reads all buckets that may exist, empty or not. Those are the last ten minutes and
//     the next two, times the shards: 52 reads at four shards, instead of 4.
//   - It needs a stored cursor to know the oldest bucket.
//   - It never finds a timer that is put more than ten minutes behind that, as by a message that is
//     redelivered after a long outage.
//
// The price of four partitions is a limit. Each takes about 1,000 units a second, and a timer is a
// put and a deletion, so a namespace takes about 2,000 timers of more than 15 minutes a second, and
// as many that fall due. A throttled PutTimers fails, its message is redelivered, and no commit is
// delayed.
//
// # The list
//
// The items that open and close a run have the keys of the index, so DynamoDB itself makes the
// rows. A run is listed if and only if its commit is in the log, without a second request that
// could be lost. A commit in between has no such keys and costs nothing.
//
//   - A run's two rows are adjacent, because both begin with its start. A backward read meets the
//     closed one first and skips the other.
//   - A run that moved to another build, or whose code has changed its search attributes or its
//     memo, has one more row for each such commit, which the list skips too. The commit costs one
//     more unit of the index.
//   - The index follows the table after some milliseconds, in no order. Whichever row arrives first
//     shows a state that is or was true.
//
// The alternatives cost more:
//
//   - Rows as separate items, written after the commit, cost as many units and one more request. A
//     crash between the two loses them, so they need a sweeper.
//   - A row that is updated when its run closes costs the same again, and needs a transaction to be
//     true.
//   - A stream with a function behind it has to be deployed.
//   - A single partition would be enough to read the list in order. But it would limit a namespace
//     to opening and closing 500 runs a second. The eight partitions make that 4,000, for eight
//     queries a page instead of one.
//
// Options.NoList leaves the keys out. A run that was opened while the list was off appears when it
// closes while the list is on.
//
// # The scan
//
// The slow check must find runs without the list: those that have lost their messages, and closed
// ones that never expire. It scans the table in segments, with a filter for the commits of the
// namespace and a cursor that internal/executor stores under the mark. The scan passes over
// everything in the table, and is billed for it. IAM cannot limit a Scan to a namespace, because
// dynamodb:LeadingKeys does not apply to it. A role that scans needs dynamodb:Scan on the table,
// and dynamodb:DeleteItem, PutItem and Query on its namespace.
//
// # What a call costs
//
// In requests and units, for commits of up to about 900 bytes, as measured by TestUnits (tag aws):
//
//	Append of a commit                              1 put            1 write unit for each 1 KB
//	  that opens, closes or changes a run, list on  the same         and 1 write unit of the index for each 1 KB
//	Append of two (a close with a successor)        1 transaction    4 write units; and 2 of the index
//	a lost race                                     1 put            1 write unit, which is not reported
//	Backward, Forward                               1 query a page   1 read unit for each 4 KB: 1 for a run of 3
//	                                                                 commits of 194 bytes, 7 for 100, 69 for 1,000
//	RecordAttempt                                   1 put            1 write unit for each 1 KB
//	ReadAttempts                                    1 query          1 read unit for each 4 KB
//	PutTimers, DeleteTimers                         1 for each 25    1 write unit a timer and 1 KB
//	DueTimers that finds nothing                    4 queries        4 read units: 172,800 a month, at one sweep
//	                                                                 a minute
//	Scan                                            1 scan           half a unit for each 4 KB passed, or for none
//	Delete                                          1 for each item  1 write unit for each 1 KB;
//	                                                                 1 of the index if listed
//	ReadMark, WriteMark, ReadKey, MakeKey           1 query, 1 put   1 unit
//	ListRuns                                        8 queries        4 read units, and half a unit for each 4 KB of
//	                                                                 rows
package dynamo
