package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// pauseRoutes are the routes that pause and resume runs.
var pauseRoutes = []Route{
	{ID: "pauseWorkflow", Pattern: "POST /v1/workflows/{id}/pause", Access: Writes, endpoint: takes((*handler).pauseRun)},
	{ID: "resumeWorkflow", Pattern: "POST /v1/workflows/{id}/resume", Access: Writes, endpoint: takes((*handler).resumeRun)},
}

func (h *handler) pauseRun(r *http.Request, body schema.PauseRequest) (int, *schema.PauseResponse, error) {
	c, err := h.service.Process.Parser().Pause(r.PathValue("id"), runID(r), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.Pause(r.Context(), c)
	return http.StatusOK, answer, err
}

func (h *handler) resumeRun(r *http.Request, body schema.PauseRequest) (int, *schema.PauseResponse, error) {
	c, err := h.service.Process.Parser().Resume(r.PathValue("id"), runID(r), &body)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Steering.Resume(r.Context(), c)
	return http.StatusOK, answer, err
}
