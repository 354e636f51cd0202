package local

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/engine"
)

// A request for which there is no room gets 503 and is not begun; when the ones before it have ended there is room again, and all bytes
// have been given back. Small answers need no room.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, 1000)
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

// Requests beyond three quarters of the connections get 503 with the reason, and have not begun. Health is asked for beside them.
func TestRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const connections, most = 8, 6
		b, begun, end := newBudget(0, connections), 0, make(chan struct{})
		h := b.bounded(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begun++
			<-end
			w.WriteHeader(http.StatusOK)
		}))
		var answers []*httptest.ResponseRecorder
		for range connections {
			w := httptest.NewRecorder()
			answers = append(answers, w)
			go h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/workflows/a/result?wait=20s", nil))
			synctest.Wait()
		}
		if begun != most {
			t.Errorf("%d requests have begun, want %d", begun, most)
		}
		for _, w := range answers[most:] {
			if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), tooManyRequests) {
				t.Errorf("a request too many: %d %s", w.Code, w.Body)
			}
		}
		close(end)
		synctest.Wait()
		again := httptest.NewRecorder()
		if h.ServeHTTP(again, httptest.NewRequest(http.MethodGet, "/a", nil)); again.Code != http.StatusOK {
			t.Errorf("a request when the others have ended: %d", again.Code)
		}
	})
}

// A connection beyond the bound waits until another one closes, and is answered then.
func TestConnectionsAtOnce(t *testing.T) {
	t.Parallel()
	s, err := Open(&engine.Registry{}, Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.connections = 2
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(s.Serve(ctx, l), s.Close()) }()
	var connections []net.Conn
	ask := func(i int) (status string, err error) {
		if _, err := io.WriteString(connections[i], "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return "", err
		}
		answer, err := http.ReadResponse(bufio.NewReader(connections[i]), nil)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.Status, err
	}
	for i := range 3 {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		connections = append(connections, c)
		defer c.Close()
		if i < s.connections {
			if status, err := ask(i); err != nil || status != "200 OK" {
				t.Fatalf("connection %d: %s, %v", i, status, err)
			}
		}
	}
	last := make(chan string, 1)
	go func() {
		status, err := ask(2)
		if err != nil {
			status = err.Error()
		}
		last <- status
	}()
	for range 100 { // long enough for the server to answer, if it did
		if status, err := ask(0); err != nil || status != "200 OK" {
			t.Fatalf("the first connection: %s, %v", status, err)
		}
	}
	if len(last) > 0 {
		t.Errorf("the connection beyond the bound was answered: %s", <-last)
	}
	_ = connections[1].Close()
	if status := <-last; status != "200 OK" {
		t.Errorf("the connection beyond the bound, when another has closed: %s", status)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
