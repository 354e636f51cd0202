package local

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-41655fb1/weft/engine"
	"github.com/seed-41655fb1/weft/internal/bridge"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/workflow"
)

const devPage = "http://localhost:5173"

// serve returns a server in memory for the pages of these origins, with a workflow that ends at
// once.
func serve(t *testing.T, origins ...string) http.Handler {
	t.Helper()
	s, err := Open(registry(t), Options{Origins: origins})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s.Handler()
}

// registry has a workflow that ends at once.
func registry(t *testing.T) *engine.Registry {
	t.Helper()
	types := &engine.Registry{}
	nothing := workflow.NewWorkflow[workflow.None, workflow.None]("nothing")
	if err := bridge.Register(types, workflow.Bind(nothing, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil })); err != nil {
		t.Fatal(err)
	}
	return types
}

// ask sends a start, as a browser sends it for a page of an origin. Without an origin the caller is
// a program.
func ask(t *testing.T, h http.Handler, method, origin string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8080/v1/workflows", strings.NewReader(`{"type":"nothing"}`))
	if origin != "" {
		r.Header.Set("Origin", origin)
		r.Header.Set("Sec-Fetch-Site", "cross-site")
	}
	if method == http.MethodOptions {
		r.Header.Set("Access-Control-Request-Method", http.MethodPost)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
	} else {
		h = apitest.Handler(t, h)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Allowed pages may do what they ask for, and no other page can write.
func TestPages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allowed, origin  string
		preflight, start int
		allowOrigin      string // the Access-Control-Allow-Origin of the answers
	}{
		{"", "", 405, 201, ""},
		{"", devPage, 405, 403, ""},
		{"", "null", 405, 403, ""},
		{devPage, "", 405, 201, ""},
		{devPage, devPage, 204, 201, devPage},
		{devPage, "http://localhost:5174", 204, 403, ""},
		{devPage + ",https://shop.test", "https://shop.test", 204, 201, "https://shop.test"},
		{"*", "https://anybody.test", 204, 201, "*"},
	} {
		var origins []string
		if c.allowed != "" {
			origins = strings.Split(c.allowed, ",")
		}
		h := serve(t, origins...)
		preflight := &httptest.ResponseRecorder{Code: c.preflight}
		if c.origin != "" {
			preflight = ask(t, h, http.MethodOptions, c.origin)
		}
		start := ask(t, h, http.MethodPost, c.origin)
		got := start.Header().Get("Access-Control-Allow-Origin")
		if preflight.Code != c.preflight || start.Code != c.start || got != c.allowOrigin || preflight.Header().Get("Access-Control-Allow-Origin") != c.allowOrigin {
			t.Errorf("with %q allowed, a page of %q: preflight %d %v, start %d %v", c.allowed, c.origin, preflight.Code, preflight.Header(), start.Code, start.Header())
		}
		if exposed := start.Header().Get("Access-Control-Expose-Headers"); c.allowOrigin != "" && exposed != "Weft-Cost, Weft-Version, Retry-After" {
			t.Errorf("exposed: %q", exposed)
		}
		if allowed := preflight.Header().Get("Access-Control-Allow-Headers"); c.allowOrigin != "" && allowed != "authorization,content-type" {
			t.Errorf("allowed: %q", allowed)
		}
		read := http.StatusOK // reads are guarded as writes are
		if c.start == http.StatusForbidden {
			read = c.start
		}
		if list := ask(t, h, http.MethodGet, c.origin); list.Code != read || list.Header().Get("Access-Control-Allow-Origin") != c.allowOrigin {
			t.Errorf("list: %d %v", list.Code, list.Header())
		}
	}
}

// The server's answer is the example in the document.
func TestUnknownPageExample(t *testing.T) {
	t.Parallel()
	operations, err := apitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	o, _ := apitest.Find(operations, http.MethodPost, "/v1/workflows")
	var got any
	if err := json.Unmarshal(ask(t, serve(t), http.MethodPost, devPage).Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(o.Answered[http.StatusForbidden]["unknownPage"].Value)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(got); err != nil || string(text) != string(want) {
		t.Errorf("%s, %v; openapi.yaml has %s", text, err, want)
	}
}

func TestInvalidOrigins(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"localhost:5173", "http://localhost:5173/", "http://localhost/page", "http://*.test", ""} {
		if _, err := Open(&engine.Registry{}, Options{Origins: []string{origin}}); err == nil || !strings.Contains(err.Error(), "as in http://localhost:5173") {
			t.Errorf("%q: %v", origin, err)
		}
	}
}
