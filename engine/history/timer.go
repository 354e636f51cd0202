package history

// TimerStarted is a timer that workflow code started. Its event id names the timer.
type TimerStarted struct {
	// FireAt is the moment at which the timer fires, by the clock that workflow code reads.
	FireAt Timestamp `cbor:"1,keyasint" json:"fireAt"`
}

// Type is TypeTimerStarted.
func (*TimerStarted) Type() Type { return TypeTimerStarted }

// TimerFired is a timer whose moment has come.
type TimerFired struct {
	StartedEventID int64 `cbor:"1,keyasint" json:"startedEventId"`
}

// Type is TypeTimerFired.
func (*TimerFired) Type() Type { return TypeTimerFired }

// TimerCanceled is a timer that workflow code no longer waits for.
type TimerCanceled struct {
	StartedEventID int64 `cbor:"1,keyasint" json:"startedEventId"`
}

// Type is TypeTimerCanceled.
func (*TimerCanceled) Type() Type { return TypeTimerCanceled }
