package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

// runRoutes are the routes of the runs of a workflow, one after the other.
var runRoutes = []Route{
	{ID: "listRuns", Pattern: "GET /v1/workflows/{id}/runs", Query: []string{"pageToken"}, Access: Reads, endpoint: gives((*handler).runs)},
}

func (h *handler) runs(r *http.Request) (int, *schema.RunsResponse, error) {
	of, err := h.service.Process.Parser().Runs(r.PathValue("id"), runID(r), r.URL.Query().Get("pageToken"))
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Lists.Runs(r.Context(), of)
	return http.StatusOK, answer, err
}
