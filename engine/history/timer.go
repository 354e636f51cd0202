package history

// TimerStarted is a timer that workflow code started. Its event id names the timer.
type TimerStarted struct {
	// FireAt is the time at which the timer fires, by the clock that workflow code reads.
	FireAt Timestamp `cbor:"1,keyasint" json:"fireAt"`
	// Point is set on a timer that the engine started because the task would have written too much.
	// It is the number of the call before which the task ends, among the calls of the task that
	// start something or complete an update. The rest is left for the next task.
	Point int `cbor:"2,keyasint,omitempty" json:"splitBefore,omitempty"`
}

// Type returns TypeTimerStarted.
func (*TimerStarted) Type() Type    { return TypeTimerStarted }
func (*TimerStarted) isInitiation() {}

// TimerFired is a timer that has fired.
type TimerFired struct {
	StartedEventID int64 `cbor:"1,keyasint" json:"startedEventId"`
}

// Type returns TypeTimerFired.
func (*TimerFired) Type() Type { return TypeTimerFired }
func (*TimerFired) isNews()    {}

// TimerCanceled is a timer that workflow code no longer waits for.
type TimerCanceled struct {
	StartedEventID int64 `cbor:"1,keyasint" json:"startedEventId"`
}

// Type returns TypeTimerCanceled.
func (*TimerCanceled) Type() Type { return TypeTimerCanceled }
func (*TimerCanceled) isRecord()  {}
