package history

import "fmt"

// Type is the type of an event. The numbers are stored and never change their meaning.
type Type uint8

// The types of event, in Temporal's names. The four of the workflow task are never stored as events: they stand
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

// kind is one row of the table of event types.
type kind struct {
	name string
	make func() Attributes
}

// kinds is the table of event types: the name of each, and how to make an empty one to decode into.
var kinds = map[Type]kind{
	TypeWorkflowExecutionStarted:                        {"WorkflowExecutionStarted", func() Attributes { return new(WorkflowExecutionStarted) }},
	TypeWorkflowExecutionCompleted:                      {"WorkflowExecutionCompleted", func() Attributes { return new(WorkflowExecutionCompleted) }},
	TypeWorkflowExecutionFailed:                         {"WorkflowExecutionFailed", func() Attributes { return new(WorkflowExecutionFailed) }},
	TypeWorkflowExecutionCanceled:                       {"WorkflowExecutionCanceled", func() Attributes { return new(WorkflowExecutionCanceled) }},
	TypeWorkflowExecutionTerminated:                     {"WorkflowExecutionTerminated", func() Attributes { return new(WorkflowExecutionTerminated) }},
	TypeWorkflowExecutionTimedOut:                       {"WorkflowExecutionTimedOut", func() Attributes { return new(WorkflowExecutionTimedOut) }},
	TypeWorkflowExecutionContinuedAsNew:                 {"WorkflowExecutionContinuedAsNew", func() Attributes { return new(WorkflowExecutionContinuedAsNew) }},
	TypeWorkflowExecutionSignaled:                       {"WorkflowExecutionSignaled", func() Attributes { return new(WorkflowExecutionSignaled) }},
	TypeWorkflowExecutionCancelRequested:                {"WorkflowExecutionCancelRequested", func() Attributes { return new(WorkflowExecutionCancelRequested) }},
	TypeWorkflowExecutionUpdateAdmitted:                 {"WorkflowExecutionUpdateAdmitted", func() Attributes { return new(WorkflowExecutionUpdateAdmitted) }},
	TypeWorkflowExecutionUpdateAccepted:                 {"WorkflowExecutionUpdateAccepted", func() Attributes { return new(WorkflowExecutionUpdateAccepted) }},
	TypeWorkflowExecutionUpdateCompleted:                {"WorkflowExecutionUpdateCompleted", func() Attributes { return new(WorkflowExecutionUpdateCompleted) }},
	TypeWorkflowExecutionUpdateFailed:                   {"WorkflowExecutionUpdateFailed", func() Attributes { return new(WorkflowExecutionUpdateFailed) }},
	TypeWorkflowTaskScheduled:                           {"WorkflowTaskScheduled", nil},
	TypeWorkflowTaskStarted:                             {"WorkflowTaskStarted", nil},
	TypeWorkflowTaskCompleted:                           {"WorkflowTaskCompleted", nil},
	TypeWorkflowTaskFailed:                              {"WorkflowTaskFailed", nil},
	TypeActivityTaskScheduled:                           {"ActivityTaskScheduled", func() Attributes { return new(ActivityTaskScheduled) }},
	TypeActivityTaskCompleted:                           {"ActivityTaskCompleted", func() Attributes { return new(ActivityTaskCompleted) }},
	TypeActivityTaskFailed:                              {"ActivityTaskFailed", func() Attributes { return new(ActivityTaskFailed) }},
	TypeActivityTaskTimedOut:                            {"ActivityTaskTimedOut", func() Attributes { return new(ActivityTaskTimedOut) }},
	TypeActivityTaskCancelRequested:                     {"ActivityTaskCancelRequested", func() Attributes { return new(ActivityTaskCancelRequested) }},
	TypeActivityTaskCanceled:                            {"ActivityTaskCanceled", func() Attributes { return new(ActivityTaskCanceled) }},
	TypeTimerStarted:                                    {"TimerStarted", func() Attributes { return new(TimerStarted) }},
	TypeTimerFired:                                      {"TimerFired", func() Attributes { return new(TimerFired) }},
	TypeMarkerRecorded:                                  {"MarkerRecorded", func() Attributes { return new(MarkerRecorded) }},
	TypeUpsertWorkflowSearchAttributes:                  {"UpsertWorkflowSearchAttributes", func() Attributes { return new(UpsertWorkflowSearchAttributes) }},
	TypeWorkflowPropertiesModified:                      {"WorkflowPropertiesModified", func() Attributes { return new(WorkflowPropertiesModified) }},
	TypeStartChildWorkflowExecutionInitiated:            {"StartChildWorkflowExecutionInitiated", func() Attributes { return new(StartChildWorkflowExecutionInitiated) }},
	TypeStartChildWorkflowExecutionFailed:               {"StartChildWorkflowExecutionFailed", func() Attributes { return new(StartChildWorkflowExecutionFailed) }},
	TypeChildWorkflowExecutionStarted:                   {"ChildWorkflowExecutionStarted", func() Attributes { return new(ChildWorkflowExecutionStarted) }},
	TypeChildWorkflowExecutionCompleted:                 {"ChildWorkflowExecutionCompleted", func() Attributes { return new(ChildWorkflowExecutionCompleted) }},
	TypeChildWorkflowExecutionFailed:                    {"ChildWorkflowExecutionFailed", func() Attributes { return new(ChildWorkflowExecutionFailed) }},
	TypeChildWorkflowExecutionCanceled:                  {"ChildWorkflowExecutionCanceled", func() Attributes { return new(ChildWorkflowExecutionCanceled) }},
	TypeChildWorkflowExecutionTimedOut:                  {"ChildWorkflowExecutionTimedOut", func() Attributes { return new(ChildWorkflowExecutionTimedOut) }},
	TypeChildWorkflowExecutionTerminated:                {"ChildWorkflowExecutionTerminated", func() Attributes { return new(ChildWorkflowExecutionTerminated) }},
	TypeSignalExternalWorkflowExecutionInitiated:        {"SignalExternalWorkflowExecutionInitiated", func() Attributes { return new(SignalExternalWorkflowExecutionInitiated) }},
	TypeSignalExternalWorkflowExecutionFailed:           {"SignalExternalWorkflowExecutionFailed", func() Attributes { return new(SignalExternalWorkflowExecutionFailed) }},
	TypeExternalWorkflowExecutionSignaled:               {"ExternalWorkflowExecutionSignaled", func() Attributes { return new(ExternalWorkflowExecutionSignaled) }},
	TypeRequestCancelExternalWorkflowExecutionInitiated: {"RequestCancelExternalWorkflowExecutionInitiated", func() Attributes { return new(RequestCancelExternalWorkflowExecutionInitiated) }},
	TypeRequestCancelExternalWorkflowExecutionFailed:    {"RequestCancelExternalWorkflowExecutionFailed", func() Attributes { return new(RequestCancelExternalWorkflowExecutionFailed) }},
	TypeExternalWorkflowExecutionCancelRequested:        {"ExternalWorkflowExecutionCancelRequested", func() Attributes { return new(ExternalWorkflowExecutionCancelRequested) }},
	TypeTimerCanceled:                                   {"TimerCanceled", func() Attributes { return new(TimerCanceled) }},
	TypeWorkflowExecutionOptionsUpdated:                 {"WorkflowExecutionOptionsUpdated", func() Attributes { return new(WorkflowExecutionOptionsUpdated) }},
}

// String is the name of the type, the same as in Temporal's histories.
func (t Type) String() string {
	if k, ok := kinds[t]; ok {
		return k.name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
