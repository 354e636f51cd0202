package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/store"
)

// A schedule is a workflow. These endpoints say the same to it as its callers could by the requests of a workflow.

func (h *handler) createSchedule(r *http.Request) (int, any, error) {
	var body api.CreateScheduleRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	if body.Schedule == nil {
		return 0, nil, api.Invalid.New("what the schedule does is missing: give schedule")
	}
	state, err := json.Marshal(api.NewSchedule{ID: body.ScheduleID, Schedule: *body.Schedule})
	if err != nil {
		return 0, nil, err
	}
	id, err := scheduleWorkflow(body.ScheduleID)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Start(r.Context(), api.StartRequest{WorkflowID: &id, Type: api.ScheduleType, Input: state, RequestID: body.RequestID})
	switch {
	case err != nil:
		return 0, nil, ofSchedule(body.ScheduleID, err)
	case answer.Started:
		return http.StatusCreated, api.CreateScheduleResponse{ScheduleID: body.ScheduleID}, nil
	}
	return http.StatusOK, api.CreateScheduleResponse{ScheduleID: body.ScheduleID}, nil
}

func (h *handler) describeSchedule(r *http.Request) (int, any, error) {
	id, err := scheduleWorkflow(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	input, err := json.Marshal(api.DescribeSchedule{Now: h.service.Now()})
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Query(r.Context(), id, "", api.ScheduleDescribeAt, input)
	if err != nil {
		return 0, nil, ofSchedule(r.PathValue("id"), err)
	}
	if answer.Closed { // its last run can be asked as long as it is kept
		return 0, nil, noSchedule(r.PathValue("id"))
	}
	var d api.ScheduleDescription
	if err := json.Unmarshal(answer.Result, &d); err != nil {
		return 0, nil, err
	}
	return http.StatusOK, d, nil
}

func (h *handler) listSchedules(r *http.Request) (int, any, error) {
	f := store.Filter{Where: func(row *store.Summary) bool {
		return row.Type == api.ScheduleType && row.Status == history.Running.String()
	}}
	page, err := h.service.List(r.Context(), f, "schedules", r.URL.Query().Get("pageToken"), listPage)
	if err != nil {
		return 0, nil, err
	}
	answer := api.ScheduleListResponse{Schedules: []api.ScheduleSummary{}, NextPageToken: page.NextPageToken}
	for _, w := range page.Workflows {
		answer.Schedules = append(answer.Schedules, api.ScheduleSummary{
			ScheduleID: strings.TrimPrefix(w.WorkflowID, api.SchedulePrefix), CreatedAt: w.StartedAt,
		})
	}
	return http.StatusOK, answer, nil
}

func (h *handler) deleteSchedule(r *http.Request) (int, any, error) {
	id, err := scheduleWorkflow(r.PathValue("id"))
	if err == nil {
		err = h.service.Terminate(r.Context(), id, "", "the schedule was deleted")
	}
	return http.StatusOK, struct{}{}, ofSchedule(r.PathValue("id"), err)
}

// tell is the endpoint that sends an update to a schedule. requestID is where the body has the id by which a request that is
// sent again is recognised: it becomes the update's.
func tell[B any](h *handler, update string, requestID func(*B) *string) endpoint {
	return func(r *http.Request) (int, any, error) {
		var body B
		if err := decode(r, &body); err != nil {
			return 0, nil, err
		}
		id, err := scheduleWorkflow(r.PathValue("id"))
		if err != nil {
			return 0, nil, err
		}
		at := requestID(&body)
		u := api.UpdateRequest{UpdateID: *at}
		*at = ""
		if u.Input, err = json.Marshal(body); err != nil {
			return 0, nil, err
		}
		answer, err := h.service.Update(r.Context(), id, "", update, u)
		switch {
		case err != nil:
			return 0, nil, ofSchedule(r.PathValue("id"), err)
		case answer.Failure != nil: // it was refused, or has changed nothing
			return 0, nil, api.Invalid.New("%s", answer.Failure.Message)
		case answer.Stage != api.StageCompleted:
			return 0, nil, api.OutcomeUnknown.New("the schedule has not answered yet: send the request again with the same requestId")
		}
		return http.StatusOK, struct{}{}, nil
	}
}

// scheduleWorkflow is the id of the workflow that a schedule is.
func scheduleWorkflow(id string) (string, error) {
	if err := engine.CheckID("schedule's id", id); err != nil {
		return "", api.Invalid.New("%v", err)
	}
	return api.SchedulePrefix + id, nil
}

func noSchedule(id string) error { return api.NotFound.New("there is no schedule %q", id) }

// ofSchedule says of a schedule what was said of its workflow.
func ofSchedule(id string, err error) error {
	switch {
	case errors.Is(err, api.NotFound):
		return noSchedule(id)
	case errors.Is(err, api.AlreadyOpen):
		return api.AlreadyOpen.New("there is a schedule %q already: change it, delete it first, or give another scheduleId", id)
	}
	return err
}
