package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/seed-41655fb1/weft/internal/api"
	"github.com/seed-41655fb1/weft/internal/httpapi"
)

// anyOrigin stands for the pages of all origins.
const anyOrigin = "*"

// forPages returns h as web pages may use it: those of the origins, and of the server's own. Of others a browser would show
// no answer to the page, but it would send some requests all the same: those that write are refused here. Programs say no
// origin, and are not concerned.
func forPages(h http.Handler, origins []string) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(deny))
	for _, origin := range origins {
		if origin == anyOrigin {
			continue
		}
		err := protection.AddTrustedOrigin(origin)
		if err == nil && strings.Contains(origin, anyOrigin) {
			err = errors.New("there are no patterns")
		}
		if err != nil {
			return nil, fmt.Errorf("web pages cannot be allowed by the origin %q: give scheme, host and port, as in http://localhost:5173, or %s for all: %w", origin, anyOrigin, err)
		}
	}
	if !slices.Contains(origins, anyOrigin) {
		h = protection.Handler(h)
	}
	if len(origins) == 0 {
		return h, nil
	}
	const preflightSeconds = 600
	return cors.New(cors.Options{
		AllowedOrigins: origins, AllowedMethods: []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete}, AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{httpapi.CostHeader, "Retry-After"}, MaxAge: preflightSeconds,
	}).Handler(h), nil
}

func deny(w http.ResponseWriter, r *http.Request) {
	problem := api.Forbidden.New("this server does not know the web pages of %s: start it with --cors-origins, or WEFT_CORS_ORIGINS", r.Header.Get("Origin"))
	body, err := json.Marshal(problem)
	if err != nil {
		body = nil // the status says it
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set(httpapi.CostHeader, "writes=0, reads=0, messages=0")
	w.WriteHeader(problem.Status)
	_, _ = w.Write(append(body, '\n')) // the caller has gone: there is nobody to tell
}
