package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/wire"
)

// activityRoutes are the routes of attempts that go on outside of their function.
var activityRoutes = []Route{
	{ID: "completeActivity", Pattern: "POST /v1/activities/complete", Access: Writes, endpoint: takes((*handler).completeActivity)},
	{ID: "failActivity", Pattern: "POST /v1/activities/fail", Access: Writes, endpoint: takes((*handler).failActivity)},
	{ID: "heartbeatActivity", Pattern: "POST /v1/activities/heartbeat", Access: Writes, endpoint: takes((*handler).beatActivity)},
}

// The token of an attempt is in the body, because paths and query strings are logged on the way.

func (h *handler) completeActivity(r *http.Request, body wire.CompleteActivityRequest) (int, *wire.ActivityResponse, error) {
	c, err := h.service.Parser().CompleteActivity(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.EndActivity(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) failActivity(r *http.Request, body wire.FailActivityRequest) (int, *wire.ActivityResponse, error) {
	c, err := h.service.Parser().FailActivity(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.EndActivity(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) beatActivity(r *http.Request, body wire.HeartbeatActivityRequest) (int, *wire.HeartbeatResponse, error) {
	c, err := h.service.Parser().Heartbeat(&body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.HeartbeatActivity(r.Context(), c)
	return http.StatusOK, answer, err
}
