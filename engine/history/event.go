package history

import "fmt"

// Type is the type of an event. The numbers are stored and never change their meaning.
type Type uint8

// The types of event, in Temporal's names. Each has a row in the table of roles.go. The four of the workflow task are never stored as events: they stand
// folded in the header of their commit (see Task).
const (
	TypeWorkflowExecutionStarted         Type = 1
	TypeWorkflowExecutionCompleted       Type = 2
	TypeWorkflowExecutionFailed          Type = 3
	TypeWorkflowExecutionCanceled        Type = 4
	TypeWorkflowExecutionTerminated      Type = 5
	TypeWorkflowExecutionTimedOut        Type = 6
	TypeWorkflowExecutionContinuedAsNew  Type = 7
	TypeWorkflowExecutionSignaled        Type = 8
	TypeWorkflowExecutionCancelRequested Type = 9
	TypeWorkflowExecutionUpdateAccepted  Type = 10
	TypeWorkflowExecutionUpdateCompleted Type = 11
	TypeWorkflowExecutionUpdateAdmitted  Type = 12
	TypeWorkflowExecutionUpdateFailed    Type = 13

	TypeWorkflowExecutionOptionsUpdated Type = 15

	TypeWorkflowTaskScheduled Type = 16
	TypeWorkflowTaskStarted   Type = 17
	TypeWorkflowTaskCompleted Type = 18
	TypeWorkflowTaskFailed    Type = 19

	TypeActivityTaskScheduled       Type = 24
	TypeActivityTaskCompleted       Type = 25
	TypeActivityTaskFailed          Type = 26
	TypeActivityTaskTimedOut        Type = 27
	TypeActivityTaskCancelRequested Type = 28
	TypeActivityTaskCanceled        Type = 29

	TypeTimerStarted  Type = 32
	TypeTimerFired    Type = 33
	TypeTimerCanceled Type = 34

	TypeMarkerRecorded Type = 40

	TypeUpsertWorkflowSearchAttributes Type = 44
	TypeWorkflowPropertiesModified     Type = 45

	TypeStartChildWorkflowExecutionInitiated            Type = 48
	TypeStartChildWorkflowExecutionFailed               Type = 49
	TypeChildWorkflowExecutionStarted                   Type = 50
	TypeChildWorkflowExecutionCompleted                 Type = 51
	TypeChildWorkflowExecutionFailed                    Type = 52
	TypeChildWorkflowExecutionCanceled                  Type = 53
	TypeChildWorkflowExecutionTimedOut                  Type = 54
	TypeChildWorkflowExecutionTerminated                Type = 55
	TypeSignalExternalWorkflowExecutionInitiated        Type = 56
	TypeSignalExternalWorkflowExecutionFailed           Type = 57
	TypeExternalWorkflowExecutionSignaled               Type = 58
	TypeRequestCancelExternalWorkflowExecutionInitiated Type = 59
	TypeRequestCancelExternalWorkflowExecutionFailed    Type = 60
	TypeExternalWorkflowExecutionCancelRequested        Type = 61
)

// Attributes is what an event of one type carries. Each type of event has one struct, named after it.
type Attributes interface {
	// Type is the type of the events that carry these attributes.
	Type() Type
}

// Event is something that happened to a run. Its id and time follow from its place; see Commit.Events.
type Event struct {
	Attributes
}

// Of returns the event that carries these attributes.
func Of(a Attributes) Event { return Event{Attributes: a} }

// String is the name of the type, the same as in Temporal's histories.
func (t Type) String() string {
	if k, ok := kinds[t]; ok {
		return k.name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
