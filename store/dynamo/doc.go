// Package dynamo is the store of a deployment on AWS: one DynamoDB table.
//
// # Terms
//
// A commit, a run, a slot and an attempt are those of package store. A unit is what DynamoDB bills:
// for a write each 1 KB begun of the item, for a consistent read each 4 KB begun of what the
// request read, for one that is not consistent half of that. A shard is one of the partitions over
// which the timers, or the rows of the list, are spread.
//
// # The table
//
// The table has a partition key "pk" and a sort key "sk", both strings. TTL is on for the attribute
// "expires" (a number: seconds since 1970). One index, named "list", has the partition key "list"
// and the sort key "place", both strings, and projects "summary" and "expires" (INCLUDE). [Schema]
// says the same in code, and infra declares it. Billing is per request.
//
// Each item has an attribute "c" besides, a version and a checksum of all else in it, and so has
// "summary": see check.go. What does not fit is an error that wraps store.ErrCorrupt. A list, a
// scan and a sweep report it, and go on past it.
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
// NS is the namespace, which has no slash: an IAM policy that allows dynamodb:LeadingKeys "NS/*"
// holds a deployment to it. Numbers in keys are hexadecimal with all their digits (8 for RUN and
// SLOT, 16 for the others; moments are microseconds, shifted so that those before 1970 come first),
// because strings are sorted by their bytes. HASH in the list is of the workflow's id. Attempts
// stand below all commits of their workflow: a query from the workflow's end finds the latest
// commit, and one for the attempts ends before the first commit.
//
// # Invariants
//
//   - A commit is put once, on the condition that nothing stands at its key, and never changed.
//     There is no other item to keep in step with it: no head, no lock, no index that correctness
//     reads.
//   - Every read of the log, the attempts and the timers is consistent. Only the list is read from
//     an index, and only a scan, whose findings are looked at in the log before anything rests on
//     them, is not consistent.
//   - Nothing that is correct depends on the memory of a process, on a clock here, or on an item
//     having been deleted.
//   - Each request is sent once. A request that was throttled was not carried out and is sent
//     again, with jitter, as long as the context allows. The SDK's retries are off: after a
//     connection that broke and then a throttle they would report the throttle alone, which says
//     that nothing was done.
//   - An error that is not known to be harmless is unknown (see verdict.go).
//
// # What can go wrong
//
// The answer to a put is lost, or is an error of the server's: Append returns store.ErrUnknown and
// sends nothing more. The caller repeats the identical Append; if the first one was applied, the
// condition fails, and the Conflict has the item that stands there, with the caller's own commit
// id. That is also why it is not turned into a nil here: the port has the caller compare.
//
// A transaction meets another one (TransactionConflict): that is unknown too, because the other may
// be an earlier try of this very transaction. One of its conditions does not hold: that is a
// Conflict, whatever the other item met. The SDK gives each call a ClientRequestToken of its own.
// With a token made from the commit ids, a repeat would be answered "done" for ten minutes and
// "conflict" after them; so it is a Conflict always.
//
// A partition is throttled: the request is sent again, about ten times at most, and then the call
// returns store.ErrThrottled. An index whose partition is too busy throttles the puts to the table
// that write to it. With the list on, that bounds how many runs can be opened and closed: see
// below.
//
// An item is too large: it is measured, as DynamoDB does, before it is sent, and refused with
// store.ErrTooLarge. Where the measure is too kind, DynamoDB's own refusal says the same.
//
// Items expire: TTL deletes them late, in no order, one by one. Readers of the log know
// (internal/executor treats a run as gone once its expiry has passed), and the list leaves out rows
// whose expiry has passed. Reads here return what is there.
//
// A process dies: every write is a single request, so there is nothing half done but a batch of
// timers, which the caller, not having been answered, puts again.
//
// # Timers
//
// Timers stand in four partitions, by a hash of their id, in the order of their moments. DueTimers
// reads the beginning of each and merges: the earliest come first, whenever they were put. There is
// no cursor, nothing is read again for what may have been put late, and after an outage what is
// overdue simply stands at the beginning.
//
// A bucket for each minute would spread the writes better, and was the first plan. But buckets have
// to be found: a sweep reads all that could be there, empty or not (the last ten minutes and the
// next two, times the shards: 52 reads at four shards against 4 here), needs a stored cursor to
// know where the oldest is, and never finds what is put behind that by more than those ten minutes,
// as a message that is delivered again after a long outage does. The price is a limit: each
// partition takes about 1,000 units a second, and a timer is a put and a deletion, so a namespace
// takes about 2,000 timers of more than 15 minutes a second, as many as fall due. A throttled
// PutTimers fails, its message is delivered again, and no commit is slowed down by it.
//
// # The list
//
// The items that open and close a run carry the keys of the index, so DynamoDB itself makes the
// rows: a run is listed if and only if its commit is in the log, without a second request that
// could be lost. A commit in between has no such keys and costs nothing. A run's two rows stand
// next to each other, because both begin with when it started; read from the end, the closed one
// comes first, and the other one is passed over. So is a run that was moved to another build, or
// whose code has changed its search attributes or its memo: a list reads past a row for each commit
// that did. Such a commit is one index unit more. The index follows the table after some
// milliseconds, in no order; whichever row is there first shows a state that is true, or was.
//
// Rows that are items of their own, written after the commit, cost as many units, need a request
// more, and are lost by a crash between the two, so they need a sweeper. A row that is updated when
// its run closes costs the same again and needs a transaction to be true. A stream with a function
// behind it needs both to be deployed. A single partition would be enough to read the list in
// order, but would limit a namespace to opening and closing 500 runs a second; the eight there are
// make that 4,000, for eight queries a page in the place of one.
//
// Options.NoList leaves the keys out. Runs that were opened while the list was off appear when they
// close while it is on.
//
// # The scan
//
// What must find runs without a list (those that no message leads to any more, and those that have
// closed and never expire) is a Scan of the table in segments, with a filter for the commits of the
// namespace and a cursor that internal/executor keeps under the mark. It passes over everything in
// the table, and is billed for it. IAM can not hold a Scan to a namespace: dynamodb:LeadingKeys
// does not apply to it. A role that scans needs dynamodb:Scan on the table, and
// dynamodb:DeleteItem, PutItem and Query on its namespace.
//
// # What a call costs
//
// In requests and units, for commits of up to about 900 bytes, as TestUnits measures them (tag
// aws):
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
