package local

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/disk"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/store"
)

// A caller that does not show the token may ask for the health and nothing else.
func TestToken(t *testing.T) {
	t.Parallel()
	secret := newToken()
	inner := serve(t)
	h := apitest.Handler(t, (&token{text: secret}).demand(inner))
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+password))
	}
	for given, want := range map[string]int{
		basic(secret): 200, basic(secret[1:]): 401, basic(""): 401, "Basic": 401,
		"": 401, "Bearer": 401, "Bearer ": 401, "Bearer " + secret[1:]: 401, "Bearer " + secret + "x": 401, "Basic " + secret: 401, secret: 401,
		"Bearer " + secret: 200, "bearer  " + secret: 200,
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/workflows", nil)
		if given != "" {
			r.Header.Set("Authorization", given)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != want || (want == 401) != strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ") || strings.Contains(w.Body.String(), secret) {
			t.Errorf("%q is answered %d %v %s", given, w.Code, w.Header(), w.Body)
		}
	}
}

// A browser is asked for a password only if its user opens a page. It sends that password also for
// the pages of others, where it counts for nothing, whatever origins are allowed.
func TestTokenInABrowser(t *testing.T) {
	t.Parallel()
	secret := newToken()
	h := (&token{text: secret}).demand(serve(t, "*"))
	for _, c := range []struct {
		what, path, site, mode, dest, accept, origin string
		sent                                         bool
		want                                         int
		challenge                                    string
	}{
		{"the first visit", "/", "none", "navigate", "document", "text/html", "", false, 401, "Basic "},
		{"the first visit without TLS", "/", "", "", "", "text/html", "", false, 401, "Basic "},
		{"a script after the token has changed", "/v1/workflows", "same-origin", "cors", "empty", "*/*", "", false, 401, "Bearer "},
		{"the page", "/", "none", "navigate", "document", "text/html", "", true, 200, ""},
		{"a link to the page", "/", "cross-site", "navigate", "document", "text/html", "", true, 200, ""},
		{"the page's script", "/v1/workflows", "same-origin", "cors", "empty", "*/*", "", true, 200, ""},
		{"another page's script", "/v1/workflows", "cross-site", "cors", "empty", "*/*", "https://evil.test", true, 401, "Bearer "},
		{"another page's script, in an old browser", "/v1/workflows", "", "", "", "*/*", "https://evil.test", true, 401, "Bearer "},
		{"another page's image", "/v1/workflows", "cross-site", "no-cors", "image", "image/*", "", true, 401, "Bearer "},
		{"a page of another port", "/v1/workflows", "same-site", "cors", "empty", "*/*", "http://127.0.0.1:9", true, 401, "Bearer "},
		{"a link to the API", "/v1/workflows", "cross-site", "navigate", "document", "text/html", "", true, 401, "Basic "},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8080"+c.path, nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest, "Accept": c.accept, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if c.sent {
			r.SetBasicAuth("ada", secret)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want || !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), c.challenge) || c.challenge == "" && w.Header().Get("WWW-Authenticate") != "" {
			t.Errorf("%s is answered %d %v, want %d", c.what, w.Code, w.Header(), c.want)
		}
	}
}

// The page is there unless it is switched off. The API is the same.
func TestPageOff(t *testing.T) {
	t.Parallel()
	for _, off := range []bool{false, true} {
		s, err := Open(registry(t), Options{NoPage: off})
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{"/": map[bool]int{false: 200, true: 404}[off], "/ui/none.js": 404, "/v1/workflows": 200, "/healthz": 200} {
			w := httptest.NewRecorder()
			if s.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != want {
				t.Errorf("with NoPage %v, %s is answered %d, want %d", off, path, w.Code, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The server's answer is the example in the document.
func TestNoTokenExample(t *testing.T) {
	t.Parallel()
	operations, err := apitest.Document()
	if err != nil {
		t.Fatal(err)
	}
	o, _ := apitest.Find(operations, http.MethodPost, "/v1/workflows")
	w := httptest.NewRecorder()
	(&token{text: newToken()}).demand(nil).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/workflows", nil))
	var got any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if want := o.Answered[http.StatusUnauthorized]["noToken"].Value; !reflect.DeepEqual(got, jsonOf(t, want)) {
		t.Errorf("%v; openapi.yaml has %v", got, want)
	}
}

// jsonOf returns a value after encoding to JSON and decoding.
func jsonOf(t *testing.T, value any) (plain any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &plain)
	}
	if err != nil {
		t.Fatal(err)
	}
	return plain
}

// A token is created once, and only the owner may read its file.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file+".new", []byte("left by a crash"), 0o644); err != nil {
		t.Fatal(err)
	}
	first, err := openToken(dir)
	if err != nil || !first.made || len(first.text) != 43 {
		t.Fatalf("%+v, %v", first, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if again, err := openToken(dir); err != nil || again.made || again.text != first.text {
		t.Errorf("opened again: %+v, %v", again, err)
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := openToken(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") || strings.Contains(err.Error(), first.text) {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	for _, text := range []string{"", "short", strings.Repeat("x", 600), strings.Repeat("a b", 20)} {
		if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := openToken(dir); err == nil || !strings.Contains(err.Error(), "delete it") {
			t.Errorf("%q is taken for a token: %v", text, err)
		}
	}
}

// /readyz says why nothing can be written, and /healthz that the process answers.
func TestHealth(t *testing.T) {
	t.Parallel()
	var fails error
	h := &health{next: http.NotFoundHandler(), probe: func() error { return fails }}
	full := fmt.Errorf("%w: the log: %w", disk.ErrFull, &os.PathError{Op: "write", Path: "/secret", Err: syscall.ENOSPC})
	for _, c := range []struct {
		fails        error
		path, detail string
		status       int
	}{
		{nil, "/readyz", "", 200},
		{full, "/readyz", "no space left on device", 503},
		{full, "/healthz", "", 200},
		{errors.New("broken: /secret"), "/readyz", "its log says why", 503},
		{nil, "/readyz", "", 200},
		{nil, "/other", "", 404},
	} {
		fails = c.fails
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, c.path, nil))
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.detail) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: %s is answered %d %s", c.fails, c.path, w.Code, w.Body)
		}
	}
}

// A hung disk makes the server not ready, and blocks only one probe, however many callers ask.
func TestHealthOfADiskThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang, probes := make(chan struct{}), 0
		h := &health{probe: func() error { probes++; <-hang; return nil }}
		for range 3 {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "has not answered") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		close(hang)
		synctest.Wait()
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil)); w.Code != http.StatusOK || probes != 2 {
			t.Errorf("%d after %d probes", w.Code, probes)
		}
	})
}

func TestLoadTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	err = errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	if c, err := LoadTLS(certFile, keyFile); err != nil || c == nil {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := LoadTLS("", ""); err != nil || c != nil {
		t.Errorf("%v, %v", c, err)
	}
	for _, files := range [][2]string{{certFile, ""}, {"", keyFile}, {certFile, certFile}, {keyFile, certFile}, {filepath.Join(dir, "none"), keyFile}} {
		if _, err := LoadTLS(files[0], files[1]); err == nil || !strings.Contains(err.Error(), "give") {
			t.Errorf("%q: %v", files, err)
		}
	}
}

// fullLog is a log on a full disk.
type fullLog struct{ store.Log }

// Append implements store.Log.
func (fullLog) Append(context.Context, ...store.Item) error {
	return fmt.Errorf("%w: the log: %w", disk.ErrFull, &os.PathError{Op: "write", Path: "/secret", Err: syscall.ENOSPC})
}

// A caller whom a full disk refuses gets the reason at once.
func TestFullDiskSaysWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, err := inMemory(&Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		b.ports.Log = fullLog{b.ports.Log}
		o := Options{Log: slog.New(slog.DiscardHandler)}
		o.setDefaults()
		s, err := o.serve(registry(t), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		w := ask(t, s.Handler(), http.MethodPost, "")
		if text := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(text, "no space left on device") || strings.Contains(text, "secret") || w.Header().Get("Retry-After") == "" {
			t.Errorf("%d %v %s", w.Code, w.Header(), text)
		}
		if took := time.Since(began); took > 0 { // by the bubble's clock
			t.Errorf("it waited for %v", took)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
