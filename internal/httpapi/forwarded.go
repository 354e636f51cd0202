package httpapi

import (
	"context"
	"net/http"

	"github.com/seed-41655fb1/weft/internal/command"
)

type forwardedKey struct{}

// Forwarded returns the context of a request that the process of another build has forwarded,
// because this build has the code of its run.
func Forwarded(ctx context.Context) context.Context {
	return context.WithValue(ctx, forwardedKey{}, true)
}

// parser returns the parser of a request for a run.
func (h *handler) parser(r *http.Request) *command.Parser {
	p := h.service.Process.Parser()
	if r.Context().Value(forwardedKey{}) == nil {
		return p
	}
	forwarded := *p
	forwarded.Forwarded = true
	return &forwarded
}
