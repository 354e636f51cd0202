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
	{ID: "countWorkflows", Pattern: "GET /v1/counts", Query: sumParameters, Access: Reads, endpoint: gives((*handler).count)},
	{ID: "sumCosts", Pattern: "GET /v1/costs", Query: sumParameters, Access: Reads, endpoint: gives((*handler).costs)},
}

// sumParameters are what the query string of a sum may have.
var sumParameters = slices.Concat(selectParameters, []string{"groupBy", "unknown", "pageToken"})

// countPage is how many runs are read at once to be counted.
const countPage = 1000

func (h *handler) count(r *http.Request) (int, *schema.CountResponse, error) {
	l, group, err := h.sumOver(r, "counts")
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Lists.Count(r.Context(), l, group)
	return http.StatusOK, answer, err
}

// sumOver returns which runs a request for a sum selects, and the value of a run by which the sum
// is grouped, or nil.
func (h *handler) sumOver(r *http.Request, what string) (*command.List, *filter.Grouping, error) {
	q := r.URL.Query()
	f, err := listFilter(q)
	if err != nil {
		return nil, nil, err
	}
	by := q.Get("groupBy")
	var group *filter.Grouping
	if by != "" {
		if group, err = filter.Group(by); err != nil {
			return nil, nil, refusal.Invalid.New("%v", err)
		}
	}
	page := command.ListPage{Query: asked(what, q) + "&groupBy=" + by, Token: q.Get("pageToken"), Limit: countPage}
	if page.AllowUnknown, err = allowsUnknown(q); err != nil {
		return nil, nil, err
	}
	l, err := h.service.Process.Parser().List(f, page)
	return l, group, err
}
