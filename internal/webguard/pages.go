package webguard

import (
	"net/http"
	"strings"

	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// OnlyPages refuses requests of web pages that the protection does not allow, reads as well as
// writes. It accepts a browser that opens the server's own page from a link. The refusal ends with
// the advice.
func OnlyPages(h http.Handler, protection *http.CrossOriginProtection, advice string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if allows(protection, r) || OpensPage(r) {
			h.ServeHTTP(w, r)
			return
		}
		who := "the web pages of " + r.Header.Get("Origin")
		if r.Header.Get("Origin") == "" {
			who = "the web page that asks, which is of another origin"
		}
		httpapi.WriteProblem(w, refusal.Forbidden.New("this server does not know %s: %s", who, advice))
	})
}

// allows reports whether the protection allows a request. The protection considers a GET harmless.
// Here a GET is checked like a POST.
func allows(protection *http.CrossOriginProtection, r *http.Request) bool {
	checked := *r
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		checked.Method = http.MethodPost
	}
	return protection.Check(&checked) == nil
}

// IsOwnPage reports whether a request comes from the server's own page, or from a program. It does
// not matter which other pages are allowed.
func IsOwnPage(r *http.Request) bool { return allows(http.NewCrossOriginProtection(), r) }

// Navigates reports whether a browser sends a request to show the answer to a person. Without TLS,
// browsers say so only to this machine; to others, the accepted types tell.
func Navigates(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	mode := r.Header.Get("Sec-Fetch-Mode")
	return mode == "navigate" || mode == "" && strings.Contains(r.Header.Get("Accept"), "text/html")
}

// OpensPage reports whether a browser opens the server's page in a tab of its own, perhaps from
// another page's link. The answer is the same for everybody and contains no data.
func OpensPage(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/" &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}
