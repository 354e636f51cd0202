package schema

// DescribedNotification is a notification of a run's end that somebody asked for.
type DescribedNotification struct {
	// EventID is the event that asked for it.
	EventID int64 `json:"eventId"`
	// Origin is the scheme, the host and the port of the receiver; absent for the event bus. The
	// rest of its URL may be secret, and is in the history alone.
	Origin      string `json:"origin,omitempty"`
	EventBridge bool   `json:"eventBridge,omitempty"`
	// Result says that the notification has the result, or the text of the failure.
	Result bool `json:"result,omitempty"`
	// State says where the notification stands.
	State NotificationState `json:"state"`
	// WorkflowID is the workflow that delivers it; absent unless the run has notified.
	WorkflowID string `json:"workflowId,omitempty"`
}

// NotificationState says where a notification stands.
type NotificationState string

// The states of notifications.
const (
	// NotificationPending is one of an open run.
	NotificationPending NotificationState = "pending"
	// NotificationPassedOn is one that the run which follows will deliver.
	NotificationPassedOn NotificationState = "passedOn"
	// NotificationDelivering is one that the receiver does not have yet.
	NotificationDelivering NotificationState = "delivering"
	// NotificationDelivered is one that the receiver has.
	NotificationDelivered NotificationState = "delivered"
	// NotificationFailed is one that the receiver did not take. A reset of the workflow that
	// delivers it delivers it again.
	NotificationFailed NotificationState = "failed"
)
