package httpapi

import (
	"net/http"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// observe returns a handler that serves the requests of a route, and reports their outcomes.
func (h *handler) observe(t *Route) http.HandlerFunc {
	hub := h.service.Process.Observed()
	if !hub.On() {
		return h.serve(t.checked)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		o := &observe.Request{
			Method: r.Method, Route: t.Path(), Operation: t.Operation, InTrace: t.InTrace, Name: r.PathValue("name"), Header: r.Header.Get, Began: h.service.Process.World.Now(),
		}
		ctx, ended := hub.Request(r.Context(), o)
		o.Status, o.Cost = h.answer(w, r.WithContext(ctx), t.checked)
		o.Ended = h.service.Process.World.Now()
		ended()
	}
}
