package pageproxy

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/version"
)

// served is a proxy that serves, and a deployment behind it.
type served struct {
	t       *testing.T
	proxy   *Proxy
	address *url.URL // with the key
	home    string   // the address without it
	cookie  *http.Cookie

	mu    sync.Mutex
	notes []string
	asked []*http.Request // what the deployment was asked
}

// serve serves the page for a deployment.
func serve(t *testing.T, deployment http.HandlerFunc) *served {
	t.Helper()
	s := &served{t: t}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, r)
		s.mu.Unlock()
		deployment(w, r)
	}))
	t.Cleanup(api.Close)
	s.start(Options{URL: api.URL + "/live", Client: noRedirects(http.DefaultTransport), Version: "v1.0.0", Advice: "renew your credentials"})
	return s
}

func (s *served) start(o Options) {
	s.t.Helper()
	o.Note = func(line string) { s.notes = append(s.notes, line) }
	s.proxy = New(o)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.proxy.Serve(ctx, l); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() {
		stop()
		serving.Wait()
	})
	if s.address, err = url.Parse(s.proxy.Address(l)); err != nil {
		s.t.Fatal(err)
	}
	home := *s.address
	home.RawQuery = ""
	s.home = home.String()
}

func noRedirects(transport http.RoundTripper) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// noted returns the lines that the user has seen.
func (s *served) noted() string {
	s.proxy.mu.Lock()
	defer s.proxy.mu.Unlock()
	return strings.Join(s.notes, "\n")
}

// requests returns how many requests the deployment got.
func (s *served) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// send sends a request to the proxy, with the cookie if there is one, and these headers.
func (s *served) send(method, to, body string, header ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, to, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	for pair := range slices.Chunk(header, 2) {
		if r.Header.Set(pair[0], pair[1]); pair[0] == "Host" {
			r.Host = pair[1]
		}
	}
	resp, err := noRedirects(http.DefaultTransport).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// enter exchanges the key for the cookie.
func (s *served) enter() *served {
	s.t.Helper()
	resp := s.send("GET", s.address.String(), "")
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "./" || len(resp.Cookies()) != 1 {
		s.t.Fatalf("the key is answered %d %v", resp.StatusCode, resp.Header)
	}
	s.cookie = resp.Cookies()[0]
	return s
}

func text(t *testing.T, resp *http.Response) string {
	t.Helper()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"workflows":[]}`) }

// A browser exchanges the key for a cookie that no script and no other page gets, and only then
// reaches the deployment.
func TestTheKeyLetsOneBrowserIn(t *testing.T) {
	t.Parallel()
	s := serve(t, ok)
	api := s.home + "v1/workflows"
	if resp := s.send("GET", api, ""); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(text(t, resp), "the address that weft ui has printed") {
		t.Errorf("without a cookie the answer is %d", resp.StatusCode)
	}
	if resp := s.send("GET", s.home, ""); resp.StatusCode != http.StatusOK || !strings.Contains(text(t, resp), "<!doctype html>") || resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("the page, which has no data, is answered %d", resp.StatusCode)
	}
	for _, wrong := range []string{"", "x", s.proxy.login.cookie, s.proxy.login.key + "x"} {
		if resp := s.send("GET", s.home+"?"+url.Values{"key": {wrong}}.Encode(), ""); resp.StatusCode != http.StatusUnauthorized || len(resp.Cookies()) > 0 {
			t.Errorf("the key %q is answered %d", wrong, resp.StatusCode)
		}
	}
	if resp := s.send("HEAD", s.address.String(), ""); len(resp.Cookies()) > 0 {
		t.Error("a HEAD uses the key up")
	}
	s.enter()
	if c := s.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != s.proxy.folder+"/" || len(c.Path) < 16 || c.MaxAge != 0 || !c.Expires.IsZero() || c.Value == s.proxy.login.key {
		t.Errorf("the cookie is %+v", c)
	}
	if resp := s.send("GET", api, ""); resp.StatusCode != http.StatusOK {
		t.Errorf("with the cookie the answer is %d %s", resp.StatusCode, text(t, resp))
	}
	if resp := s.send("GET", s.address.String(), ""); resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) > 0 {
		t.Errorf("the key again, in the same browser, is answered %d %v", resp.StatusCode, resp.Cookies())
	}
	mine := s.cookie
	s.cookie = nil
	if resp := s.send("GET", s.address.String(), ""); resp.StatusCode != http.StatusUnauthorized || len(resp.Cookies()) > 0 || !strings.Contains(text(t, resp), "start weft ui again") {
		t.Errorf("the key again, in another browser, is answered %d", resp.StatusCode)
	}
	s.cookie = &http.Cookie{Name: mine.Name, Value: mine.Value + "x"}
	if resp := s.send("GET", api, ""); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a wrong cookie is answered %d", resp.StatusCode)
	}
	if n := s.requests(); n != 1 {
		t.Errorf("the deployment got %d requests, want 1", n)
	}
}

// What is not the page's own request of the API reaches the deployment not at all.
func TestOnlyThePage(t *testing.T) {
	t.Parallel()
	s := serve(t, ok).enter()
	host := s.address.Host
	for _, c := range []struct {
		what, method, to string
		header           []string
		status           int
		says             string
	}{
		{"a name that resolves to this machine", "GET", "v1/workflows", []string{"Host", "evil.example:" + s.address.Port()}, 403, "does not answer to the host"},
		{"a page of another origin", "POST", "v1/workflows", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403, "only the page"},
		{"a page of another origin that reads", "GET", "v1/workflows", []string{"Origin", "https://evil.example"}, 403, "only the page"},
		{"a page of another port", "GET", "v1/workflows", []string{"Sec-Fetch-Site", "same-site"}, 403, "only the page"},
		{"an image of another page", "GET", "v1/workflows", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403, "only the page"},
		{"another method", "PUT", "v1/workflows", nil, 405, "no method PUT"},
		{"another method of browsers", "OPTIONS", "v1/workflows", nil, 405, "no method OPTIONS"},
		{"another path", "GET", "admin", nil, 404, "only the API"},
		{"another version", "GET", "v10/workflows", nil, 404, "only the API"},
		{"a path that climbs", "GET", "v1/%2e%2e/admin", nil, 404, "only the API"},
		{"a file that there is not", "GET", "ui/app.js", nil, 404, "only the API"},
		{"no folder", "GET", "/v1/workflows", nil, 404, "the address that weft ui has printed"},
		{"another folder", "GET", "/AAAAAAAAAAAAAAAA/v1/workflows", nil, 404, "the address that weft ui has printed"},
	} {
		to := s.home + c.to
		if strings.HasPrefix(c.to, "/") {
			to = "http://" + host + c.to
		}
		resp := s.send(c.method, to, "", c.header...)
		if got := text(t, resp); resp.StatusCode != c.status || !strings.Contains(got, c.says) {
			t.Errorf("%s is answered %d %s, want %d with %q", c.what, resp.StatusCode, got, c.status, c.says)
		}
	}
	if n := s.requests(); n != 0 {
		t.Errorf("the deployment got %d requests, want none", n)
	}
	if resp := s.send("POST", s.home+"v1/workflows", "{}", "Origin", "http://"+host, "Sec-Fetch-Site", "same-origin"); resp.StatusCode != http.StatusOK {
		t.Errorf("the page itself is answered %d", resp.StatusCode)
	}
	if resp := s.send("GET", s.home, "", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); resp.StatusCode != http.StatusOK {
		t.Errorf("a link to the page is answered %d", resp.StatusCode)
	}
}

// A request arrives as it was sent, without what says who the browser is. Its answer comes back
// without what could have an effect on the browser.
func TestWhatIsPassedOn(t *testing.T) {
	t.Parallel()
	var body, header, path string
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		all, _ := io.ReadAll(r.Body)
		body, path = string(all), r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.RawQuery
		for name := range r.Header {
			header += name + " "
		}
		for name, value := range map[string]string{
			"Set-Cookie": "a=b", "WWW-Authenticate": "Basic", "Location": "https://evil.example", "Access-Control-Allow-Origin": "*", "Content-Security-Policy": "sandbox allow-scripts",
			"Clear-Site-Data": `"*"`, "Content-Type": "text/html", "Weft-Cost": "writes=1", "Weft-Resume": "7", "Retry-After": "3", "Date": "Fri, 27 Nov 2026 10:00:00 GMT",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = io.WriteString(w, "<script>")
	}).enter()
	resp := s.send("POST", s.home+"v1/workflows/a%2Fb/signals/x%20y?runId=1&a=%26", `{"input":1}`,
		"Content-Type", "application/json", "Authorization", "Bearer x", "Referer", "http://a", "X-Forwarded-For", "b", "Accept", "application/json", "Last-Event-Id", "7")
	if want := "POST /live/v1/workflows/a%2Fb/signals/x%20y?runId=1&a=%26"; path != want || body != `{"input":1}` {
		t.Errorf("the deployment got %s with %s, want %s", path, body, want)
	}
	for _, name := range []string{"Cookie", "Authorization", "Referer", "X-Forwarded-For", "Origin"} {
		if strings.Contains(header, name) {
			t.Errorf("the deployment got the header %s", name)
		}
	}
	for _, name := range []string{"Content-Type", "Accept", "Last-Event-Id"} {
		if !strings.Contains(header, name) {
			t.Errorf("the deployment did not get the header %s", name)
		}
	}
	if resp.StatusCode != http.StatusUnprocessableEntity || text(t, resp) != "<script>" {
		t.Errorf("the answer came back as %d", resp.StatusCode)
	}
	for name, want := range map[string]string{
		"Weft-Cost": "writes=1", "Weft-Resume": "7", "Retry-After": "3", "Date": "Fri, 27 Nov 2026 10:00:00 GMT", "Content-Type": "text/html", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
		"Set-Cookie":              "", "WWW-Authenticate": "", "Location": "", "Access-Control-Allow-Origin": "", "Clear-Site-Data": "",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("the header %s came back as %q, want %q", name, got, want)
		}
	}
}

// A body that no gateway takes is refused before it is sent.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, http.StatusText(int(n>>20)+190))
	}).enter()
	if resp := s.send("POST", s.home+"v1/workflows", strings.Repeat("x", mostBody+1)); resp.StatusCode != http.StatusRequestEntityTooLarge || s.requests() > 0 {
		t.Errorf("a body that is too large is answered %d", resp.StatusCode)
	}
	if resp := s.send("POST", s.home+"v1/workflows", strings.Repeat("x", mostBody)); resp.StatusCode != http.StatusOK || text(t, resp) != "OK" {
		t.Errorf("the largest body is answered %d", resp.StatusCode)
	}
}

// Each part of a stream arrives when the deployment sends it, and a reader that goes ends it.
func TestEventsAreNotHeldBack(t *testing.T) {
	t.Parallel()
	next, gone := make(chan string), make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case event := <-next:
				_, _ = io.WriteString(w, "data: "+event+"\n\n")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				close(gone)
				return
			}
		}
	}).enter()
	sent := make(chan *http.Response)
	go func() { sent <- s.send("GET", s.home+"v1/workflows/a/history", "", "Accept", "text/event-stream") }()
	next <- "1"
	resp := <-sent
	lines := bufio.NewReader(resp.Body)
	for _, event := range []string{"1", "2", "3"} {
		if event != "1" {
			next <- event
		}
		line, err := lines.ReadString('\n')
		if err != nil || line != "data: "+event+"\n" {
			t.Fatalf("%q, %v; want the event %s", line, err, event)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	_ = resp.Body.Close()
	<-gone
}

// An answer that ends too early is not taken for a whole one.
func TestCutAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}).enter()
	resp := s.send("GET", s.home+"v1/workflows", "")
	if got, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a part of an answer, %d bytes, looks whole", len(got))
	}
}

// What a gateway says to those whom it does not let in is replaced by what to do. What the API says
// is passed on.
func TestLockedOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", map[bool]string{true: "application/problem+json", false: "application/json"}[strings.HasSuffix(r.URL.Path, "own")])
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"message":"Forbidden","detail":"of the API"}`)
	}).enter()
	if got := text(t, s.send("GET", s.home+"v1/workflows", "")); !strings.Contains(got, "renew your credentials") || !strings.Contains(got, "urn:weft:problem:forbidden") {
		t.Errorf("a gateway's refusal is passed on as %s", got)
	}
	if got := text(t, s.send("GET", s.home+"v1/own", "")); !strings.Contains(got, "of the API") {
		t.Errorf("the API's refusal is passed on as %s", got)
	}
}

// A deployment that does not answer is reported once, with what to do, and again when it answers.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	failing := errors.New("the token of the session has expired")
	var sendsFirst bool
	s := &served{t: t}
	s.start(Options{URL: "https://api.example", Version: "v1.0.0", Client: noRedirects(roundTrip(func(r *http.Request) (*http.Response, error) {
		if failing == nil {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody}, nil
		}
		if sendsFirst {
			sending(r)
		}
		return nil, failing
	}))})
	s.enter()
	for _, c := range []struct {
		method string
		sends  bool
		want   []string
	}{
		{"GET", true, []string{"urn:weft:problem:busy", "the token of the session has expired", "weft doctor"}},
		{"POST", false, []string{"urn:weft:problem:busy", "nothing was done"}},
		{"POST", true, []string{"urn:weft:problem:outcome-unknown", "send it again"}},
	} {
		sendsFirst = c.sends
		resp := s.send(c.method, s.home+"v1/workflows", "")
		got := text(t, resp)
		for _, want := range c.want {
			if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(got, want) {
				t.Errorf("%s, sent: %v, is answered %d %s, want %q", c.method, c.sends, resp.StatusCode, got, want)
			}
		}
	}
	failing = nil
	s.send("GET", s.home+"v1/workflows", "")
	if want := "https://api.example does not answer: the token of the session has expired\nhttps://api.example answers again"; s.noted() != want {
		t.Errorf("the user has seen %q, want %q", s.noted(), want)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// sending lets a request look sent.
func sending(r *http.Request) {
	httptrace.ContextClientTrace(r.Context()).WroteHeaders()
}

// Another version of Weft is reported once.
func TestVersions(t *testing.T) {
	t.Parallel()
	by := "v1.0.0"
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Weft-Version", by)
		ok(w, r)
	}).enter()
	for _, by = range []string{"v1.0.0", version.Unreleased, "v0.9.0", "v0.9.0", "v1.0.0"} {
		s.send("GET", s.home+"v1/workflows", "")
	}
	lines := strings.Split(s.noted(), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "v0.9.0, and the page is of v1.0.0") || !strings.Contains(lines[1], "now has Weft v1.0.0") {
		t.Errorf("the user has seen %q", lines)
	}
	if s.proxy.Saw(""); !strings.Contains(s.noted(), "older than the page") {
		t.Errorf("the user has seen %q", s.noted())
	}
	if strings.Contains(s.noted(), s.proxy.login.key) || strings.Contains(s.noted(), s.proxy.login.cookie) {
		t.Error("a secret was printed")
	}
}

// A deployment that does not begin to answer, or stops within an answer, holds no request for ever.
func TestSilence(t *testing.T) {
	t.Parallel()
	for what, begins := range map[string]bool{"no answer": false, "half an answer": true} {
		synctest.Test(t, func(t *testing.T) {
			p := New(Options{URL: "https://api.example", Client: noRedirects(roundTrip(func(r *http.Request) (*http.Response, error) {
				if begins {
					body, w := io.Pipe()
					go func() {
						_, _ = io.WriteString(w, "half")
						<-r.Context().Done()
						_ = w.CloseWithError(context.Cause(r.Context()))
					}()
					return &http.Response{StatusCode: 200, Header: http.Header{}, Body: body}, nil
				}
				<-r.Context().Done()
				return nil, context.Cause(r.Context())
			}))})
			began, w := time.Now(), httptest.NewRecorder()
			cut := func() (value any) {
				defer func() { value = recover() }()
				p.pass(w, httptest.NewRequest("GET", "/v1/workflows", nil))
				return nil
			}()
			took, want := time.Since(began), map[bool]time.Duration{false: answerTime, true: silence}[begins]
			if took != want || (cut == http.ErrAbortHandler) != begins || !begins && !strings.Contains(w.Body.String(), "no answer in time") {
				t.Errorf("%s ends after %v, want %v: %v %s", what, took, want, cut, w.Body)
			}
		})
	}
}

// A proxy that is stopped ends the requests in progress, and listens no more.
func TestStop(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{})
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}).enter()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.proxy.Serve(ctx, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "GET "+s.proxy.folder+"/v1/workflows HTTP/1.1\r\nHost: localhost\r\nCookie: "+s.cookie.Name+"="+s.cookie.Value+"\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("it still listens")
	}
}
