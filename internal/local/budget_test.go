package local

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
)

// A request for which there is no room gets 503 and is not begun; when the ones before it have ended there is room again, and all bytes
// have been given back. Small answers need no room.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0)
		begun, end := make(chan struct{}), make(chan struct{})
		h := b.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/wait/history" {
				begun <- struct{}{}
				<-end
			}
			body := strings.Repeat("x", 2*smallAnswer)
			if r.URL.Path == "/small" {
				body = "x"
			}
			write := func() { _, _ = w.Write([]byte(body)) }
			w.Header().Set("Content-Length", map[bool]string{true: "1", false: "8192"}[len(body) == 1])
			w.WriteHeader(http.StatusOK)
			write()
		}))
		ask := func(method, path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
			return w
		}
		for range historyShare {
			go ask(http.MethodGet, "/wait/history")
			<-begun
		}
		for _, c := range []struct {
			method, path, want string
			status             int
		}{
			{http.MethodGet, "/a/history", "urn:weft:problem:busy", 503},
			{http.MethodGet, "/a", "urn:weft:problem:busy", 503},
			{http.MethodPost, "/a", "urn:weft:problem:outcome-unknown", 503},
			{http.MethodPost, "/small", "x", 200},
		} {
			w := ask(c.method, c.path)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || (c.status == 503) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("%s %s with no room: %d %q", c.method, c.path, w.Code, w.Body)
			}
		}
		close(end)
		synctest.Wait()
		if w := ask(http.MethodGet, "/a/history"); w.Code != http.StatusOK || w.Body.Len() != 2*smallAnswer {
			t.Errorf("there is room again: %d", w.Code)
		}
		if !b.bytes.TryAcquire(b.size) {
			t.Error("bytes were not given back")
		}
	})
}

func TestSize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"512MiB": 512 << 20, "2GiB": 2 << 30, "1000": 1000, "5B": 5, "1KiB": 1 << 10, "1MB": -1, "-1": -1, "": -1, "9999999TiB": -1} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); (err == nil) != (want >= 0) || err == nil && int64(s) != want {
			t.Errorf("%q: %d, %v", text, s, err)
		}
	}
}
