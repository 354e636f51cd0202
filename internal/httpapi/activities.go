package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/api"
)

// The token of an attempt stands in the body: paths and query strings are logged on the way.

func (h *handler) completeActivity(r *http.Request) (int, any, error) {
	var body api.CompleteActivityRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	answer, err := h.service.CompleteActivity(r.Context(), body)
	return http.StatusOK, answer, err
}

func (h *handler) failActivity(r *http.Request) (int, any, error) {
	var body api.FailActivityRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	answer, err := h.service.FailActivity(r.Context(), body)
	return http.StatusOK, answer, err
}

func (h *handler) beatActivity(r *http.Request) (int, any, error) {
	var body api.HeartbeatActivityRequest
	if err := decode(r, &body); err != nil {
		return 0, nil, err
	}
	answer, err := h.service.BeatActivity(r.Context(), body)
	return http.StatusOK, answer, err
}
