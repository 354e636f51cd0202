package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// workflowRoutes are the routes of workflows and their runs.
var workflowRoutes = []Route{
	{ID: "startWorkflow", Pattern: "POST /v1/workflows", Query: []string{"wait"}, Access: Writes, Operation: "start", endpoint: takes((*handler).start)},
	{ID: "listWorkflows", Pattern: "GET /v1/workflows", Query: slices.Concat(listParameters, []string{"version", "wait"}), Access: Reads, Streams: true, endpoint: gives((*handler).list)},
	{ID: "describeWorkflow", Pattern: "GET /v1/workflows/{id}", Query: []string{"children"}, Access: Reads, endpoint: gives((*handler).describe)},
	{ID: "deleteWorkflow", Pattern: "DELETE /v1/workflows/{id}", Access: Ends, endpoint: gives((*handler).delete)},
	{ID: "getResult", Pattern: "GET /v1/workflows/{id}/result", Query: []string{"wait"}, Access: Reads, endpoint: gives((*handler).result)},
	{ID: "getHistory", Pattern: "GET /v1/workflows/{id}/history", Query: []string{"pageToken", "pageSize", "from", "wait"}, Access: Reads, ReadsRun: true, Streams: true, endpoint: gives((*handler).history)},
	{ID: "signalWorkflow", Pattern: "POST /v1/workflows/{id}/signals/{name}", Access: Writes, Operation: "signal", InTrace: true, endpoint: takes((*handler).signal)},
	{ID: "queryWorkflow", Pattern: "POST /v1/workflows/{id}/queries/{name}", Access: Asks, Operation: "query", InTrace: true, endpoint: takes((*handler).query)},
	{ID: "updateWorkflow", Pattern: "POST /v1/workflows/{id}/updates/{name}", Access: Writes, Operation: "update", endpoint: takes((*handler).update)},
	{ID: "pollUpdate", Pattern: "GET /v1/workflows/{id}/updates/{updateID}", Query: []string{"wait"}, Access: Reads, endpoint: gives((*handler).poll)},
	{ID: "failUpdate", Pattern: "POST /v1/workflows/{id}/updates/{updateID}/fail", Access: Writes, endpoint: takes((*handler).failUpdate)},
	{ID: "cancelWorkflow", Pattern: "POST /v1/workflows/{id}/cancel", Access: Writes, Operation: "cancel", InTrace: true, endpoint: takes((*handler).cancel)},
	{ID: "terminateWorkflow", Pattern: "POST /v1/workflows/{id}/terminate", Access: Ends, Operation: "terminate", InTrace: true, endpoint: takes((*handler).terminate)},
	{ID: "resetWorkflow", Pattern: "POST /v1/workflows/{id}/reset", Access: Writes, endpoint: takes((*handler).reset)},
	{ID: "moveWorkflow", Pattern: "POST /v1/workflows/{id}/move", Access: Writes, endpoint: takes((*handler).move)},
}

func (h *handler) start(r *http.Request, body schema.StartRequest) (int, *schema.StartResponse, error) {
	c, err := waiting(h.service.Process.Parser(), r).StartAndAwait(&body, r.URL.Query().Get("wait"))
	if err != nil {
		return 0, nil, err
	}
	begin := h.service.Requests.StartAndAwait
	if c.Wait() == 0 {
		begin = func(ctx context.Context, c command.StartAndAwait) (*schema.StartResponse, error) {
			return h.service.Requests.Start(ctx, c.Start)
		}
	}
	answer, err := begin(r.Context(), c)
	if err != nil {
		return 0, nil, err
	}
	if answer.Started {
		return http.StatusCreated, answer, nil
	}
	return http.StatusOK, answer, nil
}

func (h *handler) signal(r *http.Request, body schema.SignalRequest) (int, *schema.SignalResponse, error) {
	c, err := h.parser(r).Signal(r.PathValue("id"), runID(r), r.PathValue("name"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.Signal(r.Context(), c)
	return http.StatusAccepted, answer, err
}

func (h *handler) query(r *http.Request, body schema.QueryRequest) (int, *schema.QueryResponse, error) {
	c, err := h.service.Process.Parser().Query(r.PathValue("id"), runID(r), r.PathValue("name"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.Query(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) update(r *http.Request, body schema.UpdateRequest) (int, *schema.UpdateResponse, error) {
	c, err := waiting(h.parser(r), r).Update(r.PathValue("id"), runID(r), r.PathValue("name"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.Update(r.Context(), c)
	return updateStatus(answer), answer, err
}

func (h *handler) poll(r *http.Request) (int, *schema.UpdateResponse, error) {
	c, err := waiting(h.service.Process.Parser(), r).Poll(r.PathValue("id"), runID(r), r.PathValue("updateID"), r.URL.Query().Get("wait"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.PollUpdate(r.Context(), c)
	return updateStatus(answer), answer, err
}

func (h *handler) failUpdate(r *http.Request, body schema.FailUpdateRequest) (int, *schema.UpdateResponse, error) {
	c, err := h.service.Process.Parser().FailUpdate(r.PathValue("id"), runID(r), r.PathValue("updateID"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.FailUpdate(r.Context(), c)
	return http.StatusOK, answer, err
}

// updateStatus returns the HTTP status of an update's stage: 422 if the update is not durable.
func updateStatus(answer *schema.UpdateResponse) int {
	switch {
	case answer == nil:
		return 0
	case answer.Stage == schema.StageRejected:
		return http.StatusUnprocessableEntity
	case answer.Stage == schema.StageAccepted, answer.Stage == schema.StageAdmitted:
		return http.StatusAccepted
	}
	return http.StatusOK
}

func (h *handler) cancel(r *http.Request, body schema.EndRequest) (int, none, error) {
	c, err := h.service.Process.Parser().End(r.PathValue("id"), runID(r), body.Reason)
	if err != nil {
		return 0, none{}, err
	}
	err = h.service.Requests.Cancel(r.Context(), c)
	return http.StatusAccepted, none{}, err
}

func (h *handler) terminate(r *http.Request, body schema.EndRequest) (int, none, error) {
	c, err := h.service.Process.Parser().End(r.PathValue("id"), runID(r), body.Reason)
	if err != nil {
		return 0, none{}, err
	}
	err = h.service.Requests.Terminate(r.Context(), c)
	return http.StatusOK, none{}, err
}

func (h *handler) delete(r *http.Request) (int, none, error) {
	c, err := h.service.Process.Parser().Delete(r.PathValue("id"), runID(r))
	if err != nil {
		return 0, none{}, err
	}
	err = h.service.Maintenance.Delete(r.Context(), c)
	return http.StatusOK, none{}, err
}

func (h *handler) reset(r *http.Request, body schema.ResetRequest) (int, *schema.ResetResponse, error) {
	c, err := h.service.Process.Parser().Reset(r.PathValue("id"), runID(r), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.Reset(r.Context(), c)
	return http.StatusCreated, answer, err
}

func (h *handler) move(r *http.Request, body schema.MoveRequest) (int, *schema.MoveResponse, error) {
	c, err := h.service.Process.Parser().Move(r.PathValue("id"), runID(r), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.Move(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) describe(r *http.Request) (int, *schema.Description, error) {
	of, err := h.service.Process.Parser().Describe(r.PathValue("id"), runID(r), r.URL.Query().Get("children"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Reports.Describe(r.Context(), of)
	return http.StatusOK, answer, err
}

func (h *handler) result(r *http.Request) (int, *schema.ResultResponse, error) {
	of, err := waiting(h.service.Process.Parser(), r).Await(r.PathValue("id"), runID(r), r.URL.Query().Get("wait"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.Result(r.Context(), of)
	if err == nil && !answer.Status.Closed() {
		return http.StatusAccepted, answer, nil
	}
	return http.StatusOK, answer, err
}

// maxHistoryPage bounds the bytes of events in a page of a history, unless its only event is
// larger. Lambda takes answers of 6 MB, and an answer there is a JSON string: quotes and
// backslashes take twice the space.
const maxHistoryPage = 1 << 20

// fitting encodes as many of the first events as a page holds, and at least one.
func fitting(events []schema.HistoryEvent) ([]json.RawMessage, error) {
	page, size := []json.RawMessage{}, 0
	for i := range events {
		encoded, err := json.Marshal(&events[i])
		if err != nil {
			return nil, err
		}
		if size += len(encoded) + 1; size > maxHistoryPage && i > 0 {
			break
		}
		page = append(page, encoded)
	}
	return page, nil
}
