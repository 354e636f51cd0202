// Package stored has the forms in which notifications of the ends of runs are stored: the input of
// the run that delivers one, and the result of its attempts. A history keeps them, so they outlive
// the version of Weft that wrote them.
package stored

import (
	"fmt"
	"strings"
	"time"
)

// The run that delivers a notification is one of Weft's own. WorkflowType is its type. FirstType is
// its local activity, which makes the first attempt, and DeliverType the activity that makes the
// further ones.
const (
	WorkflowType = "weft.notify"
	FirstType    = "weft.notify.first"
	DeliverType  = "weft.notify.deliver"
	IDPrefix     = "weft.notify:"
)

// Input is a notification: which run has ended, and who asked for it.
type Input struct {
	WorkflowID   string `json:"workflowId"`
	RunID        string `json:"runId"`
	WorkflowType string `json:"workflowType"`
	// EventID is the CompletionSubscribed event of the run that asked for the notification.
	EventID int64 `json:"eventId"`
	// Status is how the run ended, in the words of the HTTP API. FailureType is the type of its
	// failure; empty if it has none.
	Status      string    `json:"status"`
	FailureType string    `json:"failureType,omitempty"`
	Closed      time.Time `json:"closed"`
	// URL gets the notification; empty if EventBridge is set.
	URL         string `json:"url,omitempty"`
	EventBridge bool   `json:"eventBridge,omitempty"`
	// Result says that the notification has the result of the run, or the text of its failure.
	Result bool `json:"result,omitempty"`
}

// ID returns the id of the notification, which is the same in each attempt at it.
func (in *Input) ID() string {
	return strings.NewReplacer(".", "_", ":", "_").Replace(fmt.Sprintf("weft_%s_%d", in.RunID, in.EventID))
}

// WorkflowOf returns the id of the workflow that delivers the notification.
func (in *Input) WorkflowOf() string { return fmt.Sprintf("%s%s:%d", IDPrefix, in.RunID, in.EventID) }

// Tried is the result of an attempt that need not be made again.
type Tried struct {
	// Status is the status of the receiver's answer; 0 if it is no HTTP server.
	Status int `json:"status,omitempty"`
	// Refused says why no further attempt is made, and is empty if the receiver has the
	// notification.
	Refused string `json:"refused,omitempty"`
}
