package local

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
	"github.com/seed-41655fb1/weft/internal/version"
)

// anyOrigin stands for the pages of all origins.
const anyOrigin = "*"

// forPages returns h for use by web pages of the allowed origins, and of the server's own. It
// refuses requests of other pages, reads as well as writes. It accepts requests without an origin
// and a source: programs send neither.
func forPages(h http.Handler, origins []string) (http.Handler, error) {
	protection := http.NewCrossOriginProtection()
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
		h = onlyPages(h, protection)
	}
	if len(origins) == 0 {
		return h, nil
	}
	const preflightSeconds = 600
	return cors.New(cors.Options{
		AllowedOrigins: origins, AllowedMethods: httpapi.Methods(), AllowedHeaders: []string{"*"},
		ExposedHeaders: []string{httpapi.CostHeader, version.Header, "Retry-After"}, MaxAge: preflightSeconds,
	}).Handler(h), nil
}

// onlyPages refuses requests that the protection does not allow. The protection considers a GET
// harmless. Here a GET is checked like a POST.
func onlyPages(h http.Handler, protection *http.CrossOriginProtection) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		checked := *r
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			checked.Method = http.MethodPost
		}
		if protection.Check(&checked) == nil {
			h.ServeHTTP(w, r)
			return
		}
		who := "the web pages of " + r.Header.Get("Origin")
		if r.Header.Get("Origin") == "" {
			who = "the web page that asks, which is of another origin"
		}
		httpapi.WriteProblem(w, refusal.Forbidden.New("this server does not know %s: start it with --cors-origins, or WEFT_CORS_ORIGINS", who))
	})
}
