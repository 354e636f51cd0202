package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// activityRoutes are the routes of attempts that go on outside of their function.
var activityRoutes = []Route{
	{ID: "completeActivity", Pattern: "POST /v1/activities/complete", Access: Writes, endpoint: takes((*handler).completeActivity)},
	{ID: "failActivity", Pattern: "POST /v1/activities/fail", Access: Writes, endpoint: takes((*handler).failActivity)},
	{ID: "heartbeatActivity", Pattern: "POST /v1/activities/heartbeat", Access: Writes, endpoint: takes((*handler).beatActivity)},
}

// The token of an attempt is in the body, because paths and query strings are logged on the way.

func (h *handler) completeActivity(r *http.Request, body schema.CompleteActivityRequest) (int, *schema.ActivityResponse, error) {
	c, err := h.service.Process.Parser().CompleteActivity(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.EndActivity(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) failActivity(r *http.Request, body schema.FailActivityRequest) (int, *schema.ActivityResponse, error) {
	c, err := h.service.Process.Parser().FailActivity(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.EndActivity(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) beatActivity(r *http.Request, body schema.HeartbeatActivityRequest) (int, *schema.HeartbeatResponse, error) {
	c, err := h.service.Process.Parser().Heartbeat(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Requests.HeartbeatActivity(r.Context(), c)
	return http.StatusOK, answer, err
}
