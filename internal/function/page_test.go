package function

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/internal/page"
)

// pageFunction returns the api function of a process. Its answers are not compared with the
// document of the API, which does not have the page.
func pageFunction(t *testing.T, o Options) *Function {
	t.Helper()
	_, p := process(t)
	o.Log = quiet()
	f, err := New(API, p.Process, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// pageFile returns the path of a file that the page names, relative to the page.
func pageFile(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	page.Handler(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	found := regexp.MustCompile(`src="(ui/[^"]+)"`).FindStringSubmatch(w.Body.String())
	if found == nil {
		t.Fatalf("the page names no script: %s", w.Body)
	}
	return found[1]
}

// The page and its files reach a browser through each kind of gateway, below a stage and a base
// path, and only if the function serves them.
func TestPage(t *testing.T) {
	t.Parallel()
	with, without := pageFunction(t, Options{Page: true, BasePath: "/shop"}), pageFunction(t, Options{BasePath: "/shop"})
	file := pageFile(t)
	for _, c := range []struct {
		stage, path string
		status      int
	}{
		{"$default", "/", 200},
		{"$default", "/" + file, 200},
		{"prod", "/prod/", 200},
		{"prod", "/prod/shop/" + file, 200},
		{"prod", "/shop/", 200},
		{"ui", "/ui/", 200},
		{"ui", "/ui/" + file, 200},
		{"ui", "/" + file, 200},
		{"prod", "/elsewhere/", 404},
		{"prod", "/elsewhere/" + file, 404},
		{"prod", "/ui/app.js", 404},
		{"prod", "/ui/", 404},
	} {
		for _, format := range formats {
			e := accepting(requested(t, format, "GET", c.path, "", ""), "gzip")
			within(e, "requestContext")["stage"] = c.stage
			a := ask(t, with, e)
			if a.StatusCode != c.status || c.status == 200 && a.header("Content-Security-Policy") == "" {
				t.Errorf("%s: %s at the stage %s: %d %v, want %d", format, c.path, c.stage, a.StatusCode, a.Headers, c.status)
			}
			if c.status != http.StatusOK {
				continue
			}
			body := a.Body
			if zipped := format != "rest.json"; a.IsBase64Encoded != zipped || (a.header("Content-Encoding") == "gzip") != zipped {
				t.Errorf("%s: %s is compressed: %v, want %v", format, c.path, a.IsBase64Encoded, zipped)
			} else if zipped {
				body = unzipped(t, a)
			}
			if want := map[bool]string{true: "<!doctype html>", false: "function"}[strings.HasSuffix(c.path, "/")]; !strings.Contains(body, want) {
				t.Errorf("%s: %s is answered without %s", format, c.path, want)
			}
			if a := ask(t, without, e); a.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s is answered %d although the page is off", format, c.path, a.StatusCode)
			}
		}
	}
}

// A browser that has a file gets no second copy, and a HEAD has no body.
func TestPageIsKept(t *testing.T) {
	t.Parallel()
	f := pageFunction(t, Options{Page: true})
	for _, format := range formats {
		first := ask(t, f, requested(t, format, "GET", "/", "", ""))
		again := requested(t, format, "GET", "/", "", "")
		for name, value := range map[string]any{"headers": first.header("Etag"), "multiValueHeaders": []string{first.header("Etag")}} {
			if headers, ok := again[name].(object); ok {
				headers["if-none-match"] = value
			}
		}
		if a := ask(t, f, again); first.header("Etag") == "" || a.StatusCode != http.StatusNotModified || a.Body != "" {
			t.Errorf("%s: what the browser has is answered %d with %d bytes", format, a.StatusCode, len(a.Body))
		}
		if a := ask(t, f, requested(t, format, "HEAD", "/", "", "")); a.StatusCode != http.StatusOK || a.Body != "" {
			t.Errorf("%s: HEAD is answered %d with %d bytes", format, a.StatusCode, len(a.Body))
		}
		if a := ask(t, f, requested(t, format, "POST", "/", "", "{}")); a.StatusCode < 400 {
			t.Errorf("%s: POST is answered %d", format, a.StatusCode)
		}
	}
}

// The addresses of the page's files are relative, so a browser that leaves out the final slash is
// sent to the address with one.
func TestPageWithoutSlash(t *testing.T) {
	t.Parallel()
	f, off := pageFunction(t, Options{Page: true, BasePath: "/shop"}), pageFunction(t, Options{BasePath: "/shop"})
	for _, c := range []struct{ format, stage, path, asked, location string }{
		{"rest.json", "live", "/", "/live", "./live/"},
		{"rest.json", "live", "/shop", "/shop", "./shop/"},
		{"rest.json", "live", "/", "/live/", ""},
		{"rest.json", "live", "/", "", ""},
		{"rest.json", "live", "/other", "/live/other", ""},
		{"rest.json", "live", "/v1/workflows", "/live/v1/workflows", ""},
		{"rest.json", "live", "/", "//evil.example/javascript:x", "./javascript:x/"},
		{"http-api.json", "prod", "/prod", "", "./prod/"},
		{"http-api.json", "prod", "/prod/shop", "", "./shop/"},
		{"http-api.json", "prod", "/prod/", "", ""},
		{"function-url.json", "$default", "/shop", "", "./shop/"},
		{"function-url.json", "$default", "/", "", ""},
	} {
		e := requested(t, c.format, "GET", c.path, "", "")
		within(e, "requestContext")["stage"] = c.stage
		if c.format == "rest.json" {
			within(e, "requestContext")["path"] = c.asked
		}
		a := ask(t, f, e)
		if a.header("Location") != c.location || (a.StatusCode == http.StatusTemporaryRedirect) != (c.location != "") {
			t.Errorf("%s: %s (%s) is answered %d, to %q; want %q", c.format, c.path, c.asked, a.StatusCode, a.header("Location"), c.location)
		}
		if a := ask(t, off, e); a.header("Location") != "" {
			t.Errorf("%s: %s leads to %q although the page is off", c.format, c.path, a.header("Location"))
		}
	}
	if a := ask(t, f, requested(t, "function-url.json", "POST", "/shop", "", "")); a.header("Location") != "" {
		t.Errorf("a POST is sent to %q", a.header("Location"))
	}
}

// A function URL that streams sends the page compressed, and without base64.
func TestStreamedPage(t *testing.T) {
	t.Parallel()
	f := pageFunction(t, Options{Page: true, Stream: true, BasePath: "/shop"})
	a := stream(t, f, accepting(requested(t, "function-url.json", "GET", "/", "", ""), ""))
	if a.StatusCode != http.StatusOK || !strings.Contains(a.Body, "<!doctype html>") {
		t.Errorf("the page is answered %d %.100q", a.StatusCode, a.Body)
	}
	a = stream(t, f, accepting(requested(t, "function-url.json", "GET", "/shop/"+pageFile(t), "", ""), "gzip"))
	if a.StatusCode != http.StatusOK || a.header("Content-Encoding") != "gzip" || !strings.HasPrefix(a.Body, "\x1f\x8b") {
		t.Errorf("its script is answered %d %v", a.StatusCode, a.Headers)
	}
	if a := stream(t, f, requested(t, "function-url.json", "GET", "/shop", "", "")); a.header("Location") != "./shop/" {
		t.Errorf("without a slash it leads to %q", a.header("Location"))
	}
}
