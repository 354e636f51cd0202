package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/schema"
)

func (h *handler) costs(r *http.Request) (int, *schema.CostsResponse, error) {
	l, group, err := h.sumOver(r, "costs")
	if err != nil {
		return 0, nil, err
	}
	answer, err := h.service.Lists.Costs(r.Context(), l, group)
	return http.StatusOK, answer, err
}
