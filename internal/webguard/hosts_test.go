package webguard

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The server answers only to its own names, for reads as for writes.
func TestHosts(t *testing.T) {
	t.Parallel()
	own, err := NewHosts([]string{"", "Weft.Example.", "10.0.0.9"})
	if err != nil {
		t.Fatal(err)
	}
	at := &net.TCPAddr{IP: net.ParseIP("192.168.1.5"), Port: 8080}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST:9999": true, "localhost.": true, "localhost.:80": true, "127.0.0.1": true, "127.9.9.9:1": true,
		"[::1]": true, "[::1]:8080": true, "[::1%lo]:8080": true, "[::ffff:127.0.0.1]:80": true, "::1": true,
		"192.168.1.5:8080": true, "[::ffff:192.168.1.5]": true, "weft.example": true, "WEFT.example.:443": true, "10.0.0.9": true,
		"": false, ":8080": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"192.168.1.6": false, "0.0.0.0": false, "[::]": false, "[::1": false, "127.1": false, "2130706433": false, "null": false, "x.localhost": false,
	} {
		h := own.Only(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), ", or give --allowed-hosts")
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodOptions} {
			r := httptest.NewRequest(method, "/v1/workflows", nil)
			r.Host = host
			r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(at)))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); (w.Code == http.StatusOK) != want || !want && !strings.Contains(w.Body.String(), "--allowed-hosts") {
				t.Errorf("%s as %q is answered %d %s", method, host, w.Code, w.Body)
			}
		}
	}
	for _, name := range []string{"http://weft.example", "*.example", "a b", ":80"} {
		if _, err := NewHosts([]string{name}); err == nil {
			t.Errorf("%q is taken for a name", name)
		}
	}
	if any, err := NewHosts([]string{"*"}); err != nil || !any.isOwn("evil.example", nil) || any.isOwn("", nil) {
		t.Errorf("* is not every name: %v", err)
	}
}
