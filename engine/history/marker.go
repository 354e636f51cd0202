package history

import "github.com/seed-41655fb1/weft/engine/failure"

// The names of markers.
const (
	// MarkerSideEffect is the value of a function that code ran once.
	MarkerSideEffect = "SideEffect"
	// MarkerPatch is a patch that the code had when it first called Patched for it.
	MarkerPatch = "Patch"
	// MarkerLocalActivity is the outcome of a local activity in a task.
	MarkerLocalActivity = "LocalActivity"
)

// MarkerRecorded is a value that workflow code determined in a task, recorded so that a replay has
// the same.
type MarkerRecorded struct {
	MarkerName string `cbor:"1,keyasint" json:"markerName"`
	// ID is the id of a patch, or the number of a local activity among those of its run; empty in other markers.
	ID string `cbor:"2,keyasint,omitempty" json:"id,omitempty"`
	// Details is the value of a side effect, or the result of a local activity.
	Details Payload `cbor:"3,keyasint,omitempty" json:"details,omitempty"`
	// ActivityType is the type of a local activity, and Attempt its last attempt, or 0.
	ActivityType string `cbor:"4,keyasint,omitempty" json:"activityType,omitempty"`
	Attempt      int    `cbor:"5,keyasint,omitempty" json:"attempt,omitempty"`
	// RetryAt is set if a local activity is not over: the TimerStarted event after this one waits
	// for its next attempt.
	RetryAt Timestamp `cbor:"6,keyasint,omitempty" json:"retryAt,omitempty"`
	// Failure is why a local activity failed, or its last attempt.
	Failure *failure.Failure `cbor:"7,keyasint,omitempty" json:"failure,omitempty"`
}

// Type returns TypeMarkerRecorded.
func (*MarkerRecorded) Type() Type { return TypeMarkerRecorded }
func (*MarkerRecorded) isRecord()  {}
