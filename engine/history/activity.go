package history

import "github.com/seed-41655fb1/weft/engine/failure"

// RetryPolicy says whether and when an activity or a workflow that failed is retried.
type RetryPolicy struct {
	// InitialInterval is the wait before the second attempt.
	InitialInterval Duration `cbor:"1,keyasint,omitempty" json:"initialInterval,omitempty"`
	// BackoffCoefficient is the factor by which the wait grows with each attempt.
	BackoffCoefficient float64 `cbor:"2,keyasint,omitempty" json:"backoffCoefficient,omitempty"`
	// MaximumInterval is the longest wait.
	MaximumInterval Duration `cbor:"3,keyasint,omitempty" json:"maximumInterval,omitempty"`
	// MaximumAttempts is how many attempts there may be, the first included; 0 is no limit.
	MaximumAttempts int `cbor:"4,keyasint,omitempty" json:"maximumAttempts,omitempty"`
	// NonRetryableTypes are types of application errors that end the attempts.
	NonRetryableTypes []string `cbor:"5,keyasint,omitempty" json:"nonRetryableErrorTypes,omitempty"`
}

// ActivityTaskScheduled is an activity that workflow code started. Its event id names the activity.
type ActivityTaskScheduled struct {
	ActivityType string  `cbor:"1,keyasint" json:"activityType"`
	Input        Payload `cbor:"2,keyasint,omitempty" json:"input,omitempty"`
	// StartToClose is how long one attempt may take.
	StartToClose Duration `cbor:"3,keyasint,omitempty" json:"startToCloseTimeout,omitempty"`
	// ScheduleToClose is how long all attempts together may take; 0 is no limit.
	ScheduleToClose Duration `cbor:"4,keyasint,omitempty" json:"scheduleToCloseTimeout,omitempty"`
	// Retry says whether and when it is retried.
	Retry RetryPolicy `cbor:"5,keyasint,omitempty" json:"retryPolicy,omitzero"`
	// Inline lets the invocation that schedules the activity run it as well.
	Inline bool `cbor:"6,keyasint,omitempty" json:"inline,omitempty"`
	// ScheduleToStart is how long it may wait for its first attempt; 0 is no limit.
	ScheduleToStart Duration `cbor:"8,keyasint,omitempty" json:"scheduleToStartTimeout,omitempty"`
	// Heartbeat is how long an attempt may be silent; 0 is for its whole time.
	Heartbeat Duration `cbor:"9,keyasint,omitempty" json:"heartbeatTimeout,omitempty"`
	// Pending is how long an attempt that continues outside may take, from its beginning; 0 is as
	// long as any other.
	Pending Duration `cbor:"10,keyasint,omitempty" json:"pendingTimeout,omitempty"`
	// TaskQueue names the task queue whose functions run its attempts; empty is the default queue.
	TaskQueue string `cbor:"11,keyasint,omitempty" json:"taskQueue,omitempty"`
	// Header is that of the run, with the fields that were added for this activity.
	Header Header `cbor:"20,keyasint,omitempty" json:"header,omitempty"`
	// Oversize is the size in bytes of an input that was too large to be recorded: the activity
	// fails without an attempt.
	Oversize int `cbor:"7,keyasint,omitempty" json:"inputTooLargeBytes,omitempty"`
}

// Type returns TypeActivityTaskScheduled.
func (*ActivityTaskScheduled) Type() Type    { return TypeActivityTaskScheduled }
func (*ActivityTaskScheduled) isInitiation() {}

// ActivityTaskCompleted is the result of an activity.
type ActivityTaskCompleted struct {
	ScheduledEventID int64   `cbor:"1,keyasint" json:"scheduledEventId"`
	Result           Payload `cbor:"2,keyasint,omitempty" json:"result,omitempty"`
	// Attempt is the attempt that succeeded, 1 for the first.
	Attempt int `cbor:"3,keyasint,omitempty" json:"attempt,omitempty"`
	// ByHand is why an operator gave the result. It is empty if an attempt gave it.
	ByHand string `cbor:"4,keyasint,omitempty" json:"byHand,omitempty"`
}

// Type returns TypeActivityTaskCompleted.
func (*ActivityTaskCompleted) Type() Type { return TypeActivityTaskCompleted }
func (*ActivityTaskCompleted) isNews()    {}

// ActivityTaskFailed is an activity that failed and is not retried.
type ActivityTaskFailed struct {
	ScheduledEventID int64            `cbor:"1,keyasint" json:"scheduledEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint" json:"failure"`
	// Attempt is the last attempt, 1 for the first.
	Attempt int `cbor:"3,keyasint,omitempty" json:"attempt,omitempty"`
	// ByHand is why an operator failed the activity. It is empty if an attempt failed.
	ByHand string `cbor:"4,keyasint,omitempty" json:"byHand,omitempty"`
}

// Type returns TypeActivityTaskFailed.
func (*ActivityTaskFailed) Type() Type { return TypeActivityTaskFailed }
func (*ActivityTaskFailed) isNews()    {}

// ActivityTaskTimedOut is an activity that ran out of time and is not retried.
type ActivityTaskTimedOut struct {
	ScheduledEventID int64 `cbor:"1,keyasint" json:"scheduledEventId"`
	// Failure is a timeout; its cause is the last failure before it.
	Failure *failure.Failure `cbor:"2,keyasint" json:"failure"`
	Attempt int              `cbor:"3,keyasint,omitempty" json:"attempt,omitempty"`
}

// Type returns TypeActivityTaskTimedOut.
func (*ActivityTaskTimedOut) Type() Type { return TypeActivityTaskTimedOut }
func (*ActivityTaskTimedOut) isNews()    {}

// ActivityTaskCancelRequested is a request of workflow code that an activity end. No further
// attempt begins, as far as its worker knows of the request. A running attempt learns of it with
// its next heartbeat.
type ActivityTaskCancelRequested struct {
	ScheduledEventID int64 `cbor:"1,keyasint" json:"scheduledEventId"`
}

// Type returns TypeActivityTaskCancelRequested.
func (*ActivityTaskCancelRequested) Type() Type { return TypeActivityTaskCancelRequested }
func (*ActivityTaskCancelRequested) isRecord()  {}

// ActivityTaskCanceled is an activity that ended because it was asked to.
type ActivityTaskCanceled struct {
	ScheduledEventID int64            `cbor:"1,keyasint" json:"scheduledEventId"`
	Failure          *failure.Failure `cbor:"2,keyasint,omitempty" json:"failure,omitempty"`
	Attempt          int              `cbor:"3,keyasint,omitempty" json:"attempt,omitempty"`
}

// Type returns TypeActivityTaskCanceled.
func (*ActivityTaskCanceled) Type() Type { return TypeActivityTaskCanceled }
func (*ActivityTaskCanceled) isNews()    {}
