package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ask returns the answer to a request of a browser.
func ask(method, path string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(w, r)
	return w
}

// unpacked returns the plain bytes of an answer.
func unpacked(t *testing.T, w *httptest.ResponseRecorder) []byte {
	t.Helper()
	if w.Header().Get("Content-Encoding") == "" {
		return w.Body.Bytes()
	}
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Each file is served with the headers that keep a page safe, packed and plain, and once only.
func TestFiles(t *testing.T) {
	t.Parallel()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	for path, f := range all {
		for accepts, packed := range map[string]bool{"": false, "gzip, deflate, br": true, "br, gzip;q=0.5": true, "gzip;q=0": false, "GZIP ; q=0.0, br": false} {
			w := ask(http.MethodGet, path, map[string]string{"Accept-Encoding": accepts})
			for name, want := range headers {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s has %s %q, want %q", path, name, got, want)
				}
			}
			if encoded := w.Header().Get("Content-Encoding") == "gzip"; w.Code != http.StatusOK || encoded != packed || w.Header().Get("Vary") != "Accept-Encoding" || w.Header().Get("Content-Type") == "" {
				t.Errorf("%s for %q is answered %d %v", path, accepts, w.Code, w.Header())
			}
			cached := w.Header().Get("Cache-Control")
			if immutable := strings.Contains(cached, "immutable"); immutable != (path != "/") || !immutable && cached != "no-cache" {
				t.Errorf("%s may be kept: %q", path, cached)
			}
			again := ask(http.MethodGet, path, map[string]string{"Accept-Encoding": accepts, "If-None-Match": w.Header().Get("ETag")})
			if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
				t.Errorf("%s that the browser has is answered %d with %d bytes", path, again.Code, again.Body.Len())
			}
			if text := unpacked(t, w); !bytes.Equal(text, f.plain) {
				t.Errorf("%s for %q has %d bytes, want %d", path, accepts, len(text), len(f.plain))
			}
		}
	}
	if w := ask(http.MethodHead, "/", nil); w.Code != http.StatusOK || w.Header().Get("Content-Security-Policy") == "" {
		t.Errorf("HEAD is answered %d", w.Code)
	}
}

// What is not the page's goes to the API.
func TestOthers(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"GET", "/v1/workflows"},
		{"GET", "/ui/none.js"},
		{"GET", "/ui/"},
		{"GET", "/ui/manifest.json"},
		{"GET", "/ui/../ui/index.html"},
		{"GET", "/index.html"},
		{"POST", "/"},
		{"DELETE", "/"},
		{"OPTIONS", "/"},
	} {
		if w := ask(c[0], c[1], nil); w.Code != http.StatusTeapot || w.Header().Get("Content-Security-Policy") != "" {
			t.Errorf("%s %s is answered %d %v", c[0], c[1], w.Code, w.Header())
		}
	}
}

// The policy allows nothing but the page's own files and its own API.
func TestPolicy(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		if !slices.Contains(strings.Split(policy, "; "), want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	for _, bad := range []string{"unsafe", "*", "http", "blob:"} {
		if strings.Contains(policy, bad) {
			t.Errorf("the policy has %s", bad)
		}
	}
}

// The committed files are those of the manifest. They are small, and name no other server.
func TestDist(t *testing.T) {
	t.Parallel()
	var named, there []string
	manifest, err := fs.ReadFile(dist, "dist/manifest.json")
	if err == nil {
		err = json.Unmarshal(manifest, &named)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "manifest.json" {
			there = append(there, e.Name())
		}
	}
	if slices.Sort(named); !slices.Equal(named, there) {
		t.Errorf("the manifest names %q, and there are %q: run make ui", named, there)
	}
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	const most = 120 << 10
	size := 0
	other := regexp.MustCompile(`https?:[^"'\x60)\s]*`)
	for path, f := range all {
		size += len(f.packed)
		for _, address := range other.FindAllString(string(f.plain), -1) {
			if !strings.HasPrefix(address, "http://www.w3.org/") { // a namespace, which nobody asks for
				t.Errorf("%s names %s", path, address)
			}
		}
	}
	if size > most {
		t.Errorf("the page has %d bytes compressed, more than its budget of %d", size, most)
	}
	t.Logf("the page has %d bytes compressed", size)
	html := string(all["/"].plain)
	if regexp.MustCompile(`(?i)<script(?:>|\s[^>]*>)[^<]`).MatchString(html) || regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=`).MatchString(html) {
		t.Error("index.html has a script or a style in it")
	}
	for _, reference := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if strings.HasPrefix(reference[1], "/") || all["/"+reference[1]] == nil {
			t.Errorf("index.html refers to %s", reference[1])
		}
	}
}

// No source turns text into markup or code: a payload can only become a text node.
func TestSources(t *testing.T) {
	t.Parallel()
	unsafe := regexp.MustCompile(`dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|srcdoc|\beval\b|new Function|createContextualFragment|DOMParser|javascript:`)
	root, looked := filepath.Join("..", "..", "ui", "src"), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Base(path) == "schema.ts" { // generated, and only types
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		looked++
		if found := unsafe.Find(text); found != nil {
			t.Errorf("%s has %s", path, found)
		}
		return nil
	})
	if err != nil || looked < 20 {
		t.Errorf("%d files were looked at: %v", looked, err)
	}
}
