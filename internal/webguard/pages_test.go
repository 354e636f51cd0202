package webguard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Pages of other origins can neither read nor write. They can link to the server's own page.
func TestOnlyPages(t *testing.T) {
	t.Parallel()
	protection := http.NewCrossOriginProtection()
	if err := protection.AddTrustedOrigin("https://shop.test"); err != nil {
		t.Fatal(err)
	}
	h := OnlyPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), protection, "give --origins")
	for _, c := range []struct {
		what, method, path string
		header             map[string]string
		want               int
	}{
		{"a program", "GET", "/v1/workflows", nil, 200},
		{"the own page", "POST", "/v1/workflows", map[string]string{"Sec-Fetch-Site": "same-origin"}, 200},
		{"a typed address", "GET", "/", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a link", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		{"a link to the API", "GET", "/v1/workflows", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"a frame", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		{"a form", "POST", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		{"another page's script", "GET", "/", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		{"another page, in an old browser", "POST", "/v1/workflows", map[string]string{"Origin": "https://evil.test"}, 403},
		{"an allowed page", "POST", "/v1/workflows", map[string]string{"Origin": "https://shop.test", "Sec-Fetch-Site": "cross-site"}, 200},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1:8080"+c.path, nil)
		for name, value := range c.header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want || (w.Code == http.StatusForbidden) != strings.Contains(w.Body.String(), "give --origins") {
			t.Errorf("%s is answered %d %s, want %d", c.what, w.Code, w.Body, c.want)
		}
	}
}

// A browser says that it navigates, or accepts HTML. Scripts and programs do neither.
func TestNavigates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, mode, accept string
		want                 bool
	}{
		{"GET", "navigate", "text/html,*/*", true},
		{"GET", "", "text/html,application/xhtml+xml,*/*;q=0.8", true},
		{"GET", "cors", "text/html", false},
		{"GET", "", "*/*", false},
		{"GET", "", "", false},
		{"POST", "navigate", "text/html", false},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Header.Set("Sec-Fetch-Mode", c.mode)
		r.Header.Set("Accept", c.accept)
		if got := Navigates(r); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
