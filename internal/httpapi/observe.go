package httpapi

import (
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// operations are what requests ask for, by their patterns, besides a look.
var operations = map[string]string{
	"POST /v1/workflows":                     "start",
	"POST /v1/workflows/{id}/signals/{name}": "signal",
	"POST /v1/workflows/{id}/queries/{name}": "query",
	"POST /v1/workflows/{id}/updates/{name}": "update",
	"POST /v1/workflows/{id}/cancel":         "cancel",
	"POST /v1/workflows/{id}/terminate":      "terminate",
}

// observe wraps the endpoint of a pattern: what came of the request is told.
func (h *handler) observe(pattern string, e endpoint) http.HandlerFunc {
	hub := h.service.Observed()
	if !hub.On() {
		return h.serve(e)
	}
	_, route, _ := strings.Cut(pattern, " ")
	return func(w http.ResponseWriter, r *http.Request) {
		o := &observe.Request{
			Method: r.Method, Route: route, Operation: operations[pattern], Name: r.PathValue("name"), Header: r.Header.Get, Began: h.service.Now(),
		}
		ctx, ended := hub.Request(r.Context(), o)
		o.Status, o.Cost = h.answer(w, r.WithContext(ctx), e)
		o.Ended = h.service.Now()
		ended()
	}
}
