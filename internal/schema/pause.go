package schema

import (
	"time"

	"github.com/seed-41655fb1/weft/engine/history"
)

// PauseRequest pauses or resumes a run.
type PauseRequest struct {
	// Reason is for readers of the history.
	Reason string `json:"reason,omitempty"`
	// RequestID identifies the request if it is sent again; if absent, one is generated.
	RequestID string `json:"requestId,omitempty"`
}

// PauseResponse names the run that was paused or resumed.
type PauseResponse struct {
	RunID history.RunID `json:"runId"`
}

// Paused says since when, and why, a run is paused.
type Paused struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
}
