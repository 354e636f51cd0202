package history

import (
	"fmt"
	"strings"
)

// Type is the type of an event. The numbers are stored and never change their meaning.
type Type uint8

// The types of event, in Temporal's names. Each has a row in the table below. The four of the
// workflow task are never stored as events: they are folded into the header of their commit (see
// Task).
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

	TypeWorkflowExecutionPaused   Type = 20
	TypeWorkflowExecutionUnpaused Type = 21
	TypeActivityItemsPublished    Type = 22

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

	TypeTopicItemsPublished Type = 64
	TypeTopicTruncated      Type = 65

	TypeCompletionSubscribed Type = 66
)

// Attributes are the data of an event of one type. Each type of event has one struct, named after
// it.
type Attributes interface {
	// Type returns the type of the events with these attributes.
	Type() Type
}

// The roles of events. Each type of event has one. A switch over attributes names each type, or the
// role of those that it treats alike: make lint fails otherwise, also if the switch has a default
// case.
type (
	// Arrival is an event from outside the run. It is an input event of a task.
	Arrival interface {
		Attributes
		isArrival()
	}
	// News is an event of something that the run has started. It is an input event of a task.
	News interface {
		Attributes
		isNews()
	}
	// TaskStep is a step of a workflow task. It is folded into the header of its commit.
	TaskStep interface {
		Attributes
		isTaskStep()
	}
	// Initiation is a command that starts something. Its event id names what it starts.
	Initiation interface {
		Attributes
		isInitiation()
	}
	// Record is any other command that leaves the run open.
	Record interface {
		Attributes
		isRecord()
	}
	// Closing is the command that closes the run.
	Closing interface {
		Attributes
		isClosing()
	}
)

// kinds is the table of event types. A row is the role of a type, and what else depends on the type
// alone. The columns are functions in columns.go.
var kinds = table(
	arrival[WorkflowExecutionStarted](),
	arrival[WorkflowExecutionSignaled](),
	arrival[WorkflowExecutionCancelRequested](),
	arrival[WorkflowExecutionUpdateAdmitted](),
	arrival[WorkflowExecutionUpdateFailed](),
	arrival[WorkflowExecutionOptionsUpdated](),
	arrival[WorkflowExecutionPaused](),
	arrival[WorkflowExecutionUnpaused](),
	arrival[ActivityItemsPublished](),
	arrival[CompletionSubscribed](),
	arrival(ends(func(a *WorkflowExecutionTerminated) End { return End{Terminated, nil, terminated(a), a.NewRunID} })),
	arrival(ends(func(a *WorkflowExecutionTimedOut) End { return End{TimedOut, nil, timedOut(a), a.NewRunID} }),
		continues(func(a *WorkflowExecutionTimedOut) *RunID { return &a.NewRunID })),

	news(func(a *ActivityTaskCompleted) Resolution {
		return Resolution{Activity: a.ScheduledEventID, Result: a.Result}
	}),
	news(func(a *ActivityTaskFailed) Resolution {
		return Resolution{Activity: a.ScheduledEventID, Failure: a.Failure}
	}),
	news(func(a *ActivityTaskTimedOut) Resolution {
		return Resolution{Activity: a.ScheduledEventID, Failure: a.Failure}
	}),
	news(func(a *ActivityTaskCanceled) Resolution {
		return Resolution{Activity: a.ScheduledEventID, Failure: canceled(a.Failure)}
	}),
	news(func(a *TimerFired) Resolution { return Resolution{Timer: a.StartedEventID} }),
	news(func(a *StartChildWorkflowExecutionFailed) Resolution {
		return Resolution{Child: a.InitiatedEventID, Failure: a.Failure}
	}),
	interim[ChildWorkflowExecutionStarted](),
	news(func(a *ChildWorkflowExecutionCompleted) Resolution {
		return ended(a.InitiatedEventID, a.RunID, a.Result, nil)
	}),
	news(func(a *ChildWorkflowExecutionFailed) Resolution {
		return ended(a.InitiatedEventID, a.RunID, nil, a.Failure)
	}),
	news(func(a *ChildWorkflowExecutionCanceled) Resolution {
		return ended(a.InitiatedEventID, a.RunID, nil, canceled(a.Failure))
	}),
	news(func(a *ChildWorkflowExecutionTimedOut) Resolution {
		return ended(a.InitiatedEventID, a.RunID, nil, a.Failure)
	}),
	news(func(a *ChildWorkflowExecutionTerminated) Resolution {
		return ended(a.InitiatedEventID, a.RunID, nil, a.Failure)
	}),
	news(func(a *SignalExternalWorkflowExecutionFailed) Resolution {
		return Resolution{External: a.InitiatedEventID, Failure: a.Failure}
	}),
	news(func(a *ExternalWorkflowExecutionSignaled) Resolution { return Resolution{External: a.InitiatedEventID} }),
	news(func(a *RequestCancelExternalWorkflowExecutionFailed) Resolution {
		return Resolution{External: a.InitiatedEventID, Failure: a.Failure}
	}),
	news(func(a *ExternalWorkflowExecutionCancelRequested) Resolution {
		return Resolution{External: a.InitiatedEventID}
	}),

	taskStep[WorkflowTaskScheduled](),
	taskStep[WorkflowTaskStarted](),
	taskStep[WorkflowTaskCompleted](),
	taskStep[WorkflowTaskFailed](),

	initiation(func(a *ActivityTaskScheduled) Initiated { return Initiated{Activity: a} },
		named(func(a *ActivityTaskScheduled) string { return a.ActivityType }),
		says(func(a *ActivityTaskScheduled) Attributes { return a.ofCode() })),
	initiation(func(a *TimerStarted) Initiated { return Initiated{Timer: a} },
		says(func(a *TimerStarted) Attributes { return &TimerStarted{FireAt: a.FireAt} })),
	initiation(func(a *StartChildWorkflowExecutionInitiated) Initiated { return Initiated{Child: a} },
		named(func(a *StartChildWorkflowExecutionInitiated) string { return a.WorkflowType + " " + a.WorkflowID }),
		says(func(a *StartChildWorkflowExecutionInitiated) Attributes { return a.withoutHeader() })),
	initiation(func(a *SignalExternalWorkflowExecutionInitiated) Initiated { return Initiated{External: a.delivery()} },
		named(func(a *SignalExternalWorkflowExecutionInitiated) string { return a.SignalName + " " + a.WorkflowID })),
	initiation(func(a *RequestCancelExternalWorkflowExecutionInitiated) Initiated {
		return Initiated{External: a.delivery()}
	},
		named(func(a *RequestCancelExternalWorkflowExecutionInitiated) string { return a.WorkflowID })),

	record(refers(func(a *ActivityTaskCancelRequested) int64 { return a.ScheduledEventID })),
	record(refers(func(a *TimerCanceled) int64 { return a.StartedEventID }), resolves(func(a *TimerCanceled) Resolution { return Resolution{Timer: a.StartedEventID} })),
	record(named(func(a *WorkflowExecutionUpdateAccepted) string { return a.UpdateID })),
	record(named(func(a *WorkflowExecutionUpdateCompleted) string { return a.UpdateID })),
	record(named(func(a *MarkerRecorded) string {
		return strings.TrimRight(a.MarkerName+" "+a.ID+" "+a.ActivityType, " ")
	}), says(func(*MarkerRecorded) Attributes { return nil })),
	record(named((*UpsertWorkflowSearchAttributes).names)),
	record(named((*WorkflowPropertiesModified).names)),
	record(named(func(a *TopicItemsPublished) string { return a.Topic }),
		says(func(a *TopicItemsPublished) Attributes {
			return &TopicItemsPublished{Topic: a.Topic, Count: a.Count, Items: a.Items}
		})),
	record(named(func(a *TopicTruncated) string { return a.Topic })),

	closing(func(a *WorkflowExecutionCompleted) End { return End{Completed, a.Result, nil, a.NewRunID} },
		continues(func(a *WorkflowExecutionCompleted) *RunID { return &a.NewRunID }),
		says(func(a *WorkflowExecutionCompleted) Attributes { return &WorkflowExecutionCompleted{Result: a.Result} })),
	closing(func(a *WorkflowExecutionFailed) End { return End{Failed, nil, a.Failure, a.NewRunID} },
		continues(func(a *WorkflowExecutionFailed) *RunID { return &a.NewRunID }),
		says(func(a *WorkflowExecutionFailed) Attributes { return &WorkflowExecutionFailed{Failure: a.Failure} })),
	closing(func(a *WorkflowExecutionCanceled) End { return End{Canceled, nil, canceled(a.Failure), ""} }),
	closing(func(a *WorkflowExecutionContinuedAsNew) End { return End{ContinuedAsNew, nil, nil, a.NewRunID} },
		named(func(a *WorkflowExecutionContinuedAsNew) string { return a.WorkflowType }),
		says(func(a *WorkflowExecutionContinuedAsNew) Attributes {
			return &WorkflowExecutionContinuedAsNew{WorkflowType: a.WorkflowType, Input: a.Input}
		})),
)

// Event is something that happened to a run. Its id and time follow from its place; see
// Commit.Events.
type Event struct {
	Attributes
}

// Of returns the event with these attributes.
func Of(a Attributes) Event { return Event{Attributes: a} }

// String returns the name of the type, the same as in Temporal's histories.
func (t Type) String() string {
	if k, ok := kinds[t]; ok {
		return k.name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }
