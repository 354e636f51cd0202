package httpapi

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-41655fb1/weft/internal/refusal"
)

// checkQuery refuses a query string that cannot be parsed, has a parameter that the endpoint does
// not know, or has one twice: otherwise it might select another run than the caller meant, or all
// runs. AWS's parameters of a signature are allowed.
func checkQuery(r *http.Request, t *Route) error {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refusal.Invalid.New("the query string cannot be read: %v", err)
	}
	known := t.Parameters()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch {
		case strings.HasPrefix(name, "X-Amz-"):
		case !slices.Contains(known, name) && len(known) == 0:
			return refusal.Invalid.New("there is no parameter %q: this request takes none", name)
		case !slices.Contains(known, name):
			return refusal.Invalid.New("there is no parameter %q: this request takes %s", name, strings.Join(known, ", "))
		case len(query[name]) > 1:
			return refusal.Invalid.New("the parameter %q is given %d times: give it once", name, len(query[name]))
		}
	}
	return nil
}
