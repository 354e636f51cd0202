package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// waitRoutes are the routes that say what a run waits for.
var waitRoutes = []Route{
	{ID: "getWaits", Pattern: "GET /v1/workflows/{id}/waits", Query: []string{"children"}, Access: Asks, endpoint: gives((*handler).waits)},
}

func (h *handler) waits(r *http.Request) (int, *schema.Waits, error) {
	of, err := h.service.Process.Parser().Describe(r.PathValue("id"), runID(r), r.URL.Query().Get("children"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Reports.Waits(r.Context(), of)
	return http.StatusOK, answer, err
}
