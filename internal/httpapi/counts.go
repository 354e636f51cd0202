package httpapi

import (
	"net/http"
	"slices"

	"github.com/seed-41655fb1/weft/internal/command"
	"github.com/seed-41655fb1/weft/internal/filter"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
)

// countRoutes are the routes of sums over runs.
var countRoutes = []Route{
	{ID: "countWorkflows", Pattern: "GET /v1/counts", Query: slices.Concat(selectParameters, []string{"groupBy", "unknown", "pageToken"}), Access: Reads, endpoint: gives((*handler).count)},
}

// countPage is how many runs are read at once to be counted.
const countPage = 1000

func (h *handler) count(r *http.Request) (int, *schema.CountResponse, error) {
	q := r.URL.Query()
	f, err := listFilter(q)
	if err != nil {
		return 0, nil, err
	}
	by := q.Get("groupBy")
	var group *filter.Grouping
	if by != "" {
		if group, err = filter.Group(by); err != nil {
			return 0, nil, refusal.Invalid.New("%v", err)
		}
	}
	page := command.ListPage{Query: asked("counts", q) + "&groupBy=" + by, Token: q.Get("pageToken"), Limit: countPage}
	if page.AllowUnknown, err = allowsUnknown(q); err != nil {
		return 0, nil, err
	}
	l, err := h.service.Process.Parser().List(f, page)
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Lists.Count(r.Context(), l, group)
	return http.StatusOK, answer, err
}
