package function

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-41655fb1/weft/internal/page"
)

// slashed returns where a browser that asked for the web page without its final slash has to go:
// below the stage live, .../live has to become .../live/, because the addresses of the page's files
// are relative to it. It returns "" for all other requests.
//
// path is the event's, and asked is the one that the caller wrote. AWS keeps a final slash in both.
func (f *Function) slashed(g *gateway, method, path, asked string) string {
	switch {
	case !f.options.Page || method != http.MethodGet && method != http.MethodHead:
		return ""
	case asked == "" || strings.HasSuffix(asked, "/") || f.path(g, strings.TrimSuffix(path, "/")+"/") != "/":
		return ""
	}
	return "./" + url.PathEscape(asked[strings.LastIndex(asked, "/")+1:]) + "/"
}

// packsNoPage makes the answer to a request for the web page plain. A REST API passes on the base64
// of a compressed body unless it is set up to decode it.
func packsNoPage(r *http.Request) {
	if r != nil && page.Has(r.URL.Path) {
		r.Header.Del("Accept-Encoding")
	}
}
