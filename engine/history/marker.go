package history

// The names of markers.
const (
	// MarkerSideEffect is the value of a function that code ran once.
	MarkerSideEffect = "SideEffect"
	// MarkerPatch is a patch that was in the code when it asked for it first.
	MarkerPatch = "Patch"
)

// MarkerRecorded is something that workflow code found out in a task, so that it finds the same on replay.
type MarkerRecorded struct {
	MarkerName string `cbor:"1,keyasint" json:"markerName"`
	// ID is the id of a patch; empty in other markers.
	ID string `cbor:"2,keyasint,omitempty" json:"id,omitempty"`
	// Details is the value of a side effect.
	Details Payload `cbor:"3,keyasint,omitempty" json:"details,omitempty"`
}

// Type is TypeMarkerRecorded.
func (*MarkerRecorded) Type() Type { return TypeMarkerRecorded }
