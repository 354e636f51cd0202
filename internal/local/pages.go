package local

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rs/cors"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/version"
	"github.com/seed-41655fb1/weft/internal/webguard"
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
		h = webguard.OnlyPages(h, protection, "start it with --cors-origins, or WEFT_CORS_ORIGINS")
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
