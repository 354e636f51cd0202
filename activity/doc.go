// Package activity is what authors of activities write: functions that do I/O, called from workflows.
//
//	var Charge = activity.New("charge", charge, activity.Options{
//		StartToClose: 10 * time.Second,
//		Retry:        activity.Retry{MaxAttempts: 5, NonRetryable: []*activity.Error{ErrDeclined}},
//	})
//
//	func charge(ctx context.Context, order Order) (Payment, error) { ... }
//
// A workflow calls it with Charge.Run(ctx, order), or Charge.Start(ctx, order) for a future.
//
// # What is promised
//
// An activity runs at least once. A crash, a lost answer or a message that is delivered twice can have an attempt run
// again, also after it has succeeded; the workflow sees one result all the same. So give what an activity does outside a
// key under which doing it twice is doing it once: [InfoOf] has the run and the event id, the same for all attempts.
//
// An attempt that returns an error is tried again, after a pause that grows, until the retry policy or the
// schedule-to-close time-out says that it is over; then the workflow gets the last error. The context ends when the
// start-to-close time-out does: an activity that does not heed it works for nothing.
package activity
