package schema

import (
	"encoding/json"

	"github.com/seed-41655fb1/weft/engine/history"
)

// RetryResponse names the run whose task was retried.
type RetryResponse struct {
	RunID history.RunID `json:"runId"`
}

// RetryActivityResponse names the attempt that begins now.
type RetryActivityResponse struct {
	RunID history.RunID `json:"runId"`
	// Attempt is the number of the attempt.
	Attempt int `json:"attempt"`
}

// CompleteByHandRequest ends a pending activity with a result that an operator gives.
type CompleteByHandRequest struct {
	Result json.RawMessage `json:"result,omitempty"`
	// Reason is for readers of the history.
	Reason string `json:"reason,omitempty"`
}

// FailByHandRequest ends a pending activity with an error that an operator gives. No further
// attempt follows.
type FailByHandRequest struct {
	// Type is the name by which errors.Is recognises the error; empty for an error without one.
	Type    string `json:"type,omitempty"`
	Message string `json:"message,omitempty"`
	// Details is the error's own data.
	Details json.RawMessage `json:"details,omitempty"`
	// Reason is for readers of the history.
	Reason string `json:"reason,omitempty"`
}

// ByHandResponse answers a request that ends an activity by hand.
type ByHandResponse struct {
	// Repeated says that the same request ended the activity before: nothing was written.
	Repeated bool `json:"repeated,omitempty"`
	// MayRun says that an attempt may have been in progress. Its result is dropped, but it may
	// still have its effect.
	MayRun bool `json:"mayRun,omitempty"`
}
