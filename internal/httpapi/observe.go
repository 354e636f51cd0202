package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/seed-41655fb1/weft/engine/failure"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/schema"
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
		defer func() {
			if o.Ended.IsZero() { // it panicked
				o.Status, o.Cause, o.Ended = http.StatusInternalServerError, refusal.ByDefect, h.service.Process.World.Now()
			}
			o.Slow = h.isSlow(o)
			h.warn(o)
			ended()
		}()
		h.answer(w, r.WithContext(ctx), t.checked, o)
	}
}

// isSlow reports whether a request took longer than a request should.
func (h *handler) isSlow(o *observe.Request) bool {
	most := h.service.Process.Options.SlowRequest
	return most > 0 && o.Took() > most
}

// slow is the cause of the lines about slow requests.
const slow = "slow"

// warn logs a request that failed because of the server or of workflow code, or was slow: at most a
// line a minute for each cause.
func (h *handler) warn(o *observe.Request) {
	cause, message := string(o.Cause), "a request failed"
	switch {
	case !o.Left && o.Cause != refusal.ByCaller && (o.Status >= http.StatusInternalServerError || o.Cause == refusal.ByCode):
	case o.Slow:
		cause, message = slow, "a request was slow"
	default:
		return
	}
	h.troubles.Of(cause).Fails(h.log, slog.LevelWarn, o.Ended, message, nil, "cause", cause, "operation", o.Method+" "+o.Route, "status", o.Status, "took", o.Took())
}

// causeOfRefusal returns what a refused request failed by; empty if nothing failed. A query whose
// handler returns an error has not failed, and one whose handler panics has.
func causeOfRefusal(refused *refusal.Error) refusal.Cause {
	if refused.Kind == refusal.QueryFailed && hasPanicked(refused.Failure) {
		return refusal.ByCode
	}
	return refused.Cause
}

// causeOf returns what an answered request failed by: an update whose validator panicked is
// rejected, and has failed by code.
func causeOf(answer any) refusal.Cause {
	if u, ok := answer.(*schema.UpdateResponse); ok && u.Stage == schema.StageRejected && hasPanicked(u.Failure) {
		return refusal.ByCode
	}
	return ""
}

func hasPanicked(f *failure.Failure) bool { return f != nil && f.Kind == failure.KindPanic }
