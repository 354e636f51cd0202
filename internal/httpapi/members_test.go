package httpapi_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/proof/apitest"
)

// forms are the types of what is sent and answered, by their schemas. Of an update's answer there are three.
var forms = map[string]any{
	"StartRequest": api.StartRequest{}, "StartResponse": api.StartResponse{}, "SignalRequest": api.SignalRequest{},
	"SignalResponse": api.SignalResponse{}, "QueryRequest": api.QueryRequest{}, "QueryResponse": api.QueryResponse{},
	"UpdateRequest": api.UpdateRequest{}, "UpdateCompleted": api.UpdateResponse{}, "EndRequest": api.EndRequest{},
	"MoveRequest": api.MoveRequest{}, "MoveResponse": api.MoveResponse{},
	"ResetRequest": api.ResetRequest{}, "ResetResponse": api.ResetResponse{}, "ResultResponse": api.ResultResponse{},
	"WorkflowSummary": api.WorkflowSummary{}, "ListResponse": api.ListResponse{}, "Description": api.Description{},
	"PendingActivity": api.PendingActivity{}, "PendingTimer": api.PendingTimer{}, "PendingChild": api.PendingChild{}, "Parent": history.Parent{}, "UpdateInFlight": api.UpdateInFlight{},
	"CompleteActivityRequest": api.CompleteActivityRequest{}, "FailActivityRequest": api.FailActivityRequest{},
	"ActivityResponse": api.ActivityResponse{}, "HeartbeatActivityRequest": api.HeartbeatActivityRequest{},
	"HeartbeatResponse":     api.HeartbeatResponse{},
	"CreateScheduleRequest": api.CreateScheduleRequest{}, "CreateScheduleResponse": api.CreateScheduleResponse{},
	"UpdateScheduleRequest": api.UpdateScheduleRequest{}, "ScheduleNote": api.ScheduleNote{},
	"TriggerScheduleRequest": api.TriggerScheduleRequest{}, "BackfillScheduleRequest": api.BackfillScheduleRequest{},
	"Schedule": api.Schedule{}, "ScheduleSpec": api.ScheduleSpec{}, "ScheduleInterval": api.ScheduleInterval{}, "ScheduleAction": api.ScheduleAction{},
	"ScheduleSummary": api.ScheduleSummary{}, "ScheduleListResponse": api.ScheduleListResponse{},
	"ScheduleDescription": api.ScheduleDescription{}, "ScheduledRun": api.ScheduledRun{},
	"StuckTask": api.StuckTask{}, "HistoryResponse": api.HistoryResponse{}, "Problem": api.Problem{},
	"Failure": failure.Failure{}, "RetryPolicy": history.RetryPolicy{},
	"AttributeValue": history.AttributeValue{},
}

// attributes are those of each type of event.
var attributes = []history.Attributes{
	&history.WorkflowExecutionStarted{}, &history.WorkflowExecutionCompleted{}, &history.WorkflowExecutionFailed{},
	&history.WorkflowExecutionCanceled{}, &history.WorkflowExecutionTerminated{}, &history.WorkflowExecutionTimedOut{},
	&history.WorkflowExecutionContinuedAsNew{}, &history.WorkflowExecutionSignaled{}, &history.WorkflowExecutionCancelRequested{},
	&history.WorkflowExecutionUpdateAdmitted{}, &history.WorkflowExecutionUpdateAccepted{}, &history.WorkflowExecutionUpdateCompleted{}, &history.WorkflowExecutionUpdateFailed{},
	&history.WorkflowTaskScheduled{}, &history.WorkflowTaskStarted{}, &history.WorkflowTaskCompleted{}, &history.WorkflowTaskFailed{},
	&history.ActivityTaskScheduled{}, &history.ActivityTaskCompleted{}, &history.ActivityTaskFailed{}, &history.ActivityTaskTimedOut{},
	&history.ActivityTaskCancelRequested{}, &history.ActivityTaskCanceled{}, &history.TimerStarted{}, &history.TimerFired{},
	&history.TimerCanceled{}, &history.MarkerRecorded{}, &history.UpsertWorkflowSearchAttributes{}, &history.WorkflowPropertiesModified{}, &history.WorkflowExecutionOptionsUpdated{},
	&history.StartChildWorkflowExecutionInitiated{},
	&history.StartChildWorkflowExecutionFailed{},
	&history.ChildWorkflowExecutionStarted{},
	&history.ChildWorkflowExecutionCompleted{},
	&history.ChildWorkflowExecutionFailed{},
	&history.ChildWorkflowExecutionCanceled{},
	&history.ChildWorkflowExecutionTimedOut{},
	&history.ChildWorkflowExecutionTerminated{},
	&history.SignalExternalWorkflowExecutionInitiated{},
	&history.SignalExternalWorkflowExecutionFailed{},
	&history.ExternalWorkflowExecutionSignaled{},
	&history.RequestCancelExternalWorkflowExecutionInitiated{},
	&history.RequestCancelExternalWorkflowExecutionFailed{},
	&history.ExternalWorkflowExecutionCancelRequested{},
}

// The document gives each form the members that its type has, also those that no test has seen.
func TestDocumentHasTheMembers(t *testing.T) {
	t.Parallel()
	all := maps.Clone(forms)
	for _, a := range attributes {
		all[a.Type().String()+"/properties/attributes"] = reflect.ValueOf(a).Elem().Interface()
	}
	for schema, form := range all {
		haveNames(t, schema+"/properties", membersOf(reflect.TypeOf(form)))
	}
	for _, name := range namesOf[history.Type]() {
		if all[name+"/properties/attributes"] == nil {
			t.Errorf("event type %s is not compared", name)
		}
	}
	haveNames(t, "Failure/properties/kind/enum", append(namesOf[failure.Kind](), "unknown"))
	haveNames(t, "WorkflowTaskScheduled/properties/attributes/properties/kind/enum", namesOf[history.TaskKind]())
	haveNames(t, "ParentClosePolicy/enum", namesOf[history.ParentClosePolicy]())
	haveNames(t, "Status/enum", slices.DeleteFunc(namesOf[history.Status](), func(name string) bool { return name == "void" })) // never was
}

func haveNames(t *testing.T, place string, want []string) {
	t.Helper()
	described, err := apitest.Names(place)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(want); !slices.Equal(described, want) {
		t.Errorf("%s: openapi.yaml has %q, and the code %q", place, described, want)
	}
}

// namesOf are the names of the values of a type that is a number.
func namesOf[T interface {
	~uint8
	String() string
}]() (names []string) {
	for n := range 256 {
		if name := T(n).String(); name != "unknown" && !strings.Contains(name, "(") {
			names = append(names, name)
		}
	}
	return names
}

// membersOf are the names that JSON has for the fields of a struct.
func membersOf(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous:
			names = append(names, membersOf(field.Type)...)
		case name != "-":
			names = append(names, name)
		}
	}
	return names
}
