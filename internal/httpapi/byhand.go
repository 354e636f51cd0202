package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// byHandRoutes are the routes of operators who retry what waits, or end an activity themselves.
var byHandRoutes = []Route{
	{ID: "retryWorkflow", Pattern: "POST /v1/workflows/{id}/retry", Access: Writes, endpoint: gives((*handler).retry)},
	{ID: "retryActivity", Pattern: "POST /v1/workflows/{id}/activities/{eventID}/retry", Access: Writes, endpoint: gives((*handler).retryActivity)},
	{ID: "completeActivityByHand", Pattern: "POST /v1/workflows/{id}/activities/{eventID}/complete", Access: Writes, endpoint: takes((*handler).completeByHand)},
	{ID: "failActivityByHand", Pattern: "POST /v1/workflows/{id}/activities/{eventID}/fail", Access: Writes, endpoint: takes((*handler).failByHand)},
}

func (h *handler) retry(r *http.Request) (int, *schema.RetryResponse, error) {
	c, err := h.service.Process.Parser().Target(r.PathValue("id"), runID(r))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.Retry(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) retryActivity(r *http.Request) (int, *schema.RetryActivityResponse, error) {
	c, err := h.service.Process.Parser().Activity(r.PathValue("id"), runID(r), r.PathValue("eventID"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.RetryActivity(r.Context(), c)
	return http.StatusAccepted, answer, err
}

func (h *handler) completeByHand(r *http.Request, body schema.CompleteByHandRequest) (int, *schema.ByHandResponse, error) {
	c, err := h.service.Process.Parser().CompleteByHand(r.PathValue("id"), runID(r), r.PathValue("eventID"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.EndByHand(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) failByHand(r *http.Request, body schema.FailByHandRequest) (int, *schema.ByHandResponse, error) {
	c, err := h.service.Process.Parser().FailByHand(r.PathValue("id"), runID(r), r.PathValue("eventID"), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.EndByHand(r.Context(), c)
	return http.StatusOK, answer, err
}
