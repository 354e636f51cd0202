// Package activity declares activities: functions that do I/O, called from workflows.
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
// An activity runs at least once. A crash, a lost response or a message that is delivered twice can
// run an attempt again, even after it has succeeded. The workflow still sees one result. So give
// each external effect an idempotency key: [InfoOf] returns the run and the event id, which are the
// same for all attempts.
//
// An attempt that returns an error is retried after a growing pause, until the retry policy or the
// schedule-to-close time-out ends the activity. Then the workflow gets the last error. The context
// ends with the start-to-close time-out. An activity that ignores its context works for nothing
// after that.
package activity
