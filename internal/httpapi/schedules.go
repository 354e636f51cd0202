package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/engine/history"
	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schedule/stored"
	"github.com/seed-41655fb1/weft/internal/schema"
	"github.com/seed-41655fb1/weft/store"
)

// scheduleRoutes are the routes of schedules.
var scheduleRoutes = []Route{
	{ID: "createSchedule", Pattern: "POST /v1/schedules", Access: Writes, endpoint: takes((*handler).createSchedule)},
	{ID: "listSchedules", Pattern: "GET /v1/schedules", Query: []string{"pageToken"}, Access: Reads, endpoint: gives((*handler).listSchedules)},
	{ID: "describeSchedule", Pattern: "GET /v1/schedules/{id}", Access: Asks, endpoint: gives((*handler).describeSchedule)},
	{ID: "deleteSchedule", Pattern: "DELETE /v1/schedules/{id}", Access: Ends, endpoint: gives((*handler).deleteSchedule)},
	{ID: "updateSchedule", Pattern: "POST /v1/schedules/{id}/update", Access: Writes, endpoint: updates(stored.UpdateChange, StoredChange, checkChange)},
	{ID: "pauseSchedule", Pattern: "POST /v1/schedules/{id}/pause", Access: Writes, endpoint: updates(stored.UpdatePause, StoredNote)},
	{ID: "unpauseSchedule", Pattern: "POST /v1/schedules/{id}/unpause", Access: Writes, endpoint: updates(stored.UpdateUnpause, StoredNote)},
	{ID: "triggerSchedule", Pattern: "POST /v1/schedules/{id}/trigger", Access: Writes, endpoint: updates(stored.UpdateTrigger, StoredTrigger)},
	{ID: "backfillSchedule", Pattern: "POST /v1/schedules/{id}/backfill", Access: Writes, endpoint: updates(stored.UpdateBackfill, StoredBackfill)},
}

// A schedule is a workflow. These endpoints send it the same requests that its callers could send
// as requests of a workflow.

func (h *handler) createSchedule(r *http.Request, body schema.CreateScheduleRequest) (status int, answer schema.CreateScheduleResponse, err error) {
	if body.Schedule == nil {
		return 0, answer, refusal.Invalid.New("what the schedule does is missing: give schedule")
	}
	refused := h.checkAction(&body.Schedule.Action)
	if refused != nil && body.RequestID == "" {
		return 0, answer, refused
	}
	answer.ScheduleID = body.ScheduleID
	state, err := json.Marshal(stored.Input{ID: body.ScheduleID, Schedule: storedSchedule(body.Schedule)})
	if err != nil {
		return 0, answer, err
	}
	id, err := scheduleWorkflow(body.ScheduleID)
	if err != nil {
		return 0, answer, err
	}
	c, err := h.service.Process.Parser().StartOwn(&schema.StartRequest{
		WorkflowID: &id, Type: stored.WorkflowType, Input: state, Header: body.Header, RequestID: body.RequestID,
	})
	if err != nil {
		return 0, answer, err
	}
	if refused != nil {
		return http.StatusOK, answer, h.unlessStarted(r, c, body.RequestID, refused)
	}
	started, err := h.service.Requests.Start(r.Context(), c)
	switch {
	case err != nil:
		return 0, answer, ofSchedule(body.ScheduleID, err)
	case started.Started:
		return http.StatusCreated, answer, nil
	}
	return http.StatusOK, answer, nil
}

func (h *handler) describeSchedule(r *http.Request) (status int, d schema.ScheduleDescription, err error) {
	id, err := scheduleWorkflow(r.PathValue("id"))
	if err != nil {
		return 0, d, err
	}
	input, err := json.Marshal(stored.Describe{Now: h.service.Process.World.Now()})
	if err != nil {
		return 0, d, err
	}
	answer, err := h.sendQuery(r, id, stored.QueryDescribeAt, input)
	if err != nil {
		return 0, d, ofSchedule(r.PathValue("id"), err)
	}
	if answer.Closed { // its last run answers until it is deleted
		return 0, d, noSchedule(r.PathValue("id"))
	}
	var s stored.Description
	if err := json.Unmarshal(answer.Result, &s); err != nil {
		return 0, d, err
	}
	return http.StatusOK, DescribedSchedule(&s), nil
}

func (h *handler) listSchedules(r *http.Request) (status int, answer schema.ScheduleListResponse, err error) {
	page, err := h.listOwn(r, "schedules", func(row *store.Summary) bool {
		return row.Type == stored.WorkflowType && row.Status == history.Running.String()
	})
	if err != nil {
		return 0, answer, err
	}
	answer.Schedules, answer.NextPageToken = []schema.ScheduleSummary{}, page.NextPageToken
	for _, w := range page.Workflows {
		answer.Schedules = append(answer.Schedules, schema.ScheduleSummary{
			ScheduleID: strings.TrimPrefix(w.WorkflowID, stored.IDPrefix), CreatedAt: w.StartedAt,
		})
	}
	return http.StatusOK, answer, nil
}

func (h *handler) deleteSchedule(r *http.Request) (int, none, error) {
	id, err := scheduleWorkflow(r.PathValue("id"))
	if err != nil {
		return 0, none{}, err
	}
	c, err := h.service.Process.Parser().End(id, "", "the schedule was deleted")
	if err == nil {
		err = h.service.Requests.Terminate(r.Context(), c)
	}
	return http.StatusOK, none{}, ofSchedule(r.PathValue("id"), err)
}

// updates returns the endpoint that sends an update to a schedule. store returns the update's input
// in its stored form, and the id of the request, which becomes the update's id. The checks refuse a
// request that was not carried out before.
func updates[B, S any](update string, store func(*B) (input S, requestID string), checks ...func(*handler, *B) error) endpoint {
	return takes(func(h *handler, r *http.Request, body B) (int, none, error) {
		var refused error
		for _, check := range checks {
			refused = cmp.Or(refused, check(h, &body))
		}
		id, err := scheduleWorkflow(r.PathValue("id"))
		if err != nil {
			return 0, none{}, cmp.Or(refused, err)
		}
		input, requestID := store(&body)
		if refused != nil {
			return http.StatusOK, none{}, h.unlessUpdated(r, id, requestID, "schedule", refused)
		}
		return http.StatusOK, none{}, ofSchedule(r.PathValue("id"), h.sendUpdate(r, id, update, input, requestID, "schedule"))
	})
}

// checkChange refuses a change to an action that checkAction refuses.
func checkChange(h *handler, b *schema.UpdateScheduleRequest) error {
	if b.Schedule == nil {
		return nil // the schedule refuses it
	}
	return h.checkAction(&b.Schedule.Action)
}

// checkAction refuses an action with search attributes that no filter finds, with a type that does
// not exist, or with an input that is not of the declared type of its workflow. The schedule
// refuses a missing type, and types of Weft's own.
func (h *handler) checkAction(a *schema.ScheduleAction) error {
	if a.Type == "" || engine.OwnType(a.Type) {
		return command.CheckAttributeNames(a.SearchAttributes)
	}
	registry := h.service.Process.Registry
	return h.service.Process.Parser().CheckCarried(&engine.CarriedStart{
		Type: a.Type, Code: registry.Workflow(a.Type), Known: registry.WorkflowNames(), Input: history.Payload(a.Input), SearchAttributes: a.SearchAttributes,
	}, "action.input")
}

// scheduleWorkflow returns the id of a schedule's workflow.
func scheduleWorkflow(id string) (string, error) {
	if err := engine.CheckID("schedule's id", id); err != nil {
		return "", refusal.Invalid.New("%v", err)
	}
	return stored.IDPrefix + id, nil
}

func noSchedule(id string) error { return refusal.NotFound.New("there is no schedule %q", id) }

// ofSchedule turns an error about a schedule's workflow into one about the schedule.
func ofSchedule(id string, err error) error {
	switch {
	case errors.Is(err, refusal.NotFound):
		return noSchedule(id)
	case errors.Is(err, refusal.AlreadyOpen):
		return refusal.AlreadyOpen.New("there is a schedule %q already: change it, delete it first, or give another scheduleId", id)
	}
	return err
}
