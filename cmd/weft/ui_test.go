package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/seed-41655fb1/weft/internal/cli"
	"github.com/seed-41655fb1/weft/internal/httpapi"
	"github.com/seed-41655fb1/weft/internal/refusal"
)

// page is a `weft ui` that runs, and a browser that has opened the address that it printed.
type page struct {
	home    string // the address without the key
	key     string
	browser *http.Client
	errs    *bytes.Buffer // read it when the command has ended
	stop    func() cli.Code
}

// openPage runs `weft ui` with flags until the test ends, and opens the address that it prints.
func openPage(t *testing.T, flags ...string) *page {
	t.Helper()
	out, printed := io.Pipe()
	p := &page{errs: &bytes.Buffer{}}
	s := &cli.Session{In: strings.NewReader(""), Out: printed, Err: p.errs, Getenv: func(string) string { return "" }, AWS: signs}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan cli.Code, 1)
	go func() {
		ended <- run(ctx, s, append([]string{"ui"}, flags...))
		_ = printed.Close() // it never fails
	}()
	p.stop = sync.OnceValue(func() cli.Code {
		stop()
		return <-ended
	})
	t.Cleanup(func() { p.stop() })
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), "?key=") {
	}
	address, err := url.Parse(strings.TrimSpace(lines.Text()))
	if err != nil || address.Host == "" {
		t.Fatalf("no address was printed: %q, %v; code %d: %s", lines.Text(), err, p.stop(), p.errs)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // the rest of what it prints
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.key, p.browser = address.Query().Get("key"), &http.Client{Jar: jar}
	if resp, body := p.get(t, address.String()); resp.StatusCode != http.StatusOK || !strings.Contains(body, "<!doctype html>") || resp.Request.URL.RawQuery != "" {
		t.Fatalf("the printed address is answered %d at %s: %s", resp.StatusCode, resp.Request.URL, body)
	}
	address.RawQuery = ""
	p.home = address.String()
	return p
}

func (p *page) get(t *testing.T, address string) (*http.Response, string) {
	t.Helper()
	resp, err := p.browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// signs is a configuration of AWS with credentials.
func signs(_ context.Context, region, _ string) (aws.Config, error) {
	return aws.Config{Region: region, Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "a-session")}, nil
}

// signed demands of each request that it is signed with the credentials of signs, over its path,
// its query and its body, as API Gateway does.
func signed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		hash := sha256.Sum256(body)
		at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		again := &http.Request{Method: r.Method, Host: r.Host, URL: &url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}, Header: http.Header{}, ContentLength: int64(len(body))}
		_, rest, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
		names, _, _ := strings.Cut(rest, ",")
		for name := range strings.SplitSeq(names, ";") {
			if name != "host" && name != "content-length" {
				again.Header.Set(name, r.Header.Get(name))
			}
		}
		if err == nil {
			config, _ := signs(r.Context(), "", "")
			secret, _ := config.Credentials.Retrieve(r.Context())
			err = v4.NewSigner().SignHTTP(r.Context(), secret, again, hex.EncodeToString(hash[:]), "execute-api", "eu-west-1", at)
		}
		if err != nil || again.Header.Get("Authorization") != r.Header.Get("Authorization") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"message":"The request signature we calculated does not match"}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// proxied is the API of a server with the tests' workflows, behind a handler.
func proxied(t *testing.T, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	to, err := url.Parse(work(t, "", steered(nil)...))
	if err != nil {
		t.Fatal(err)
	}
	behind := httptest.NewServer(wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.RequestURI, r.URL.Scheme, r.URL.Host, r.Host = "", to.Scheme, to.Host, to.Host
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		for name, values := range resp.Header {
			w.Header()[name] = values
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	})))
	t.Cleanup(behind.Close)
	return behind.URL
}

// The page of a deployment that demands signatures works through weft ui, which signs.
func TestUISigns(t *testing.T) {
	t.Parallel()
	p := openPage(t, "--url", proxied(t, signed), "--auth", "aws", "--region", "eu-west-1")
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"v1/workflows", `{"workflowId":"cart-1","type":"cart","input":{"owner":"ada"}}`, http.StatusCreated, "cart-1"},
		{"v1/workflows/cart-1/signals/a%20%C3%BC%2Fb?runId=", `{"input":"x"}`, http.StatusBadRequest, `takes no signal \"a ü/b\"`},
	} {
		resp, err := p.browser.Post(p.home+c.path, "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.text) || resp.Header.Get("Weft-Cost") == "" {
			t.Fatalf("%s is answered %d %s, %v", c.path, resp.StatusCode, body, err)
		}
	}
	for path, want := range map[string]string{
		"v1/workflows/cart-1/history?pageToken=":                      `"workflowType":"cart"`,
		"v1/workflows?pageSize=10&filter=WorkflowType+%3D+%27cart%27": `"workflowId":"cart-1"`,
	} {
		if resp, body := p.get(t, p.home+path); resp.StatusCode != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s is answered %d %s, want %s", path, resp.StatusCode, body, want)
		}
	}
	if code := p.stop(); code != cli.Done || strings.Contains(p.errs.String(), p.key) {
		t.Errorf("it ended with %d and printed %q", code, p.errs)
	}
}

// A bearer token is sent with each request, and the browser never gets it.
func TestUISendsTheToken(t *testing.T) {
	t.Parallel()
	p := openPage(t, "--token", "a-token", "--url", proxied(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer a-token" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}))
	if resp, body := p.get(t, p.home+"v1/deployment"); resp.StatusCode != http.StatusOK || strings.Contains(body, "a-token") {
		t.Errorf("the answer is %d %s", resp.StatusCode, body)
	}
}

// A deployment of another version of Weft is pointed out, and the page is served anyway.
func TestUIShowsTheVersion(t *testing.T) {
	t.Parallel()
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		httpapi.WriteProblem(w, refusal.NotFound.New("there is nothing at this path"))
	}))
	t.Cleanup(old.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"version":"v0.0.1\u001b[2J","build":"b","features":{},"limits":{},"now":"2026-11-27T10:00:00Z"}`)
	}))
	t.Cleanup(other.Close)
	for address, want := range map[string]string{other.URL: `the deployment has Weft v0.0.1\x1b[2J, and the page is of`, old.URL: "older than the page"} {
		p := openPage(t, "--url", address)
		if code := p.stop(); code != cli.Done || !strings.Contains(p.errs.String(), want) {
			t.Errorf("it ended with %d and printed %q, want %q", code, p.errs, want)
		}
	}
}

// A command line that cannot work ends, and says what to do.
func TestUIDoesNotStart(t *testing.T) {
	t.Parallel()
	shut := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	t.Cleanup(shut.Close)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, taken, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		code cli.Code
		says string
	}{
		"ui --url=http://127.0.0.1:1":                  {cli.Unreachable, "no answer from http://127.0.0.1:1"},
		"ui --url=" + shut.URL:                         {cli.Unreachable, "--token-file"},
		"ui --url=" + work(t, "") + " --port=" + taken: {cli.Usage, "choose another --port"},
		"ui --url=http://127.0.0.1:1 --port=70000":     {cli.Usage, "port"},
		"ui --url=http://127.0.0.1:1 --auth=bearer":    {cli.Usage, "there is no bearer token"},
	} {
		if code, out, errs := exits(t, strings.Fields(line)...); code != want.code || !strings.Contains(errs, want.says) || out != "" {
			t.Errorf("weft %s: code %d\n%s\n%s\nwant %d, %q", line, code, out, errs, want.code, want.says)
		}
	}
}
