// Package attempts keeps the records of attempts: what a run's log does not have of an activity, or
// of a failed task, between its attempts.
//
// A record says which attempts have begun or failed, and which of several messages goes on. Nothing
// is decided by the number of times that SQS has received a message: that count is approximate, and
// includes receives that reached no function.
//
// There is one record for each event. It is written only if its number is higher than that of the
// record which it replaces. The numbers of attempt n, in ascending order:
//
//	Failed(n-1)                    attempt n-1 has failed
//	Failed(n-1) + 1 ...            a copy of the message of attempt n has claimed it
//	Failed(n-1) + BeginAt          attempt n has begun; only if attempts are counted
//	Failed(n-1) + BeginAt + 1 ...  heartbeats of attempt n; that it goes on outside
//	Failed(n)                      attempt n has failed
//
// Records do not expire. A run may be open for as long as it likes, and is deleted with its
// records.
//
// # What it uses of the layers below
//
//	host       Backoff Expired
//	host.Host  Wait
//	outcome    OfRead
package attempts
