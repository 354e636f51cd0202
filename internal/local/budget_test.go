package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/engine"
)

// asker sends requests to a handler under a budget. Paths that end in /history wait for end, or for
// page if they begin with it. The answer has as many bytes as the query says.
type asker struct {
	*budget
	begun, end, page chan struct{}
	h                http.Handler
}

// newAsker returns an asker under the least budget.
func newAsker() *asker {
	a := &asker{budget: newBudget(0, 1000), begun: make(chan struct{}), end: make(chan struct{}), page: make(chan struct{})}
	a.h = a.bounded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/history") {
			end := a.end
			if strings.HasPrefix(r.URL.Path, "/v1/workflows/page/") {
				end = a.page
			}
			a.begun <- struct{}{}
			<-end
		}
		body, err := io.ReadAll(r.Body)
		size, _ := strconv.Atoi(r.URL.RawQuery)
		answer := bytes.Repeat([]byte("x"), max(1, size))
		if err != nil {
			answer = []byte("the handler could not read the body")
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.Header().Set("Read", strconv.Itoa(len(body)))
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(answer)
	}))
	return a
}

// ask sends a request about a workflow from an address, with so many bytes.
func (a *asker) ask(address, method, path string, size int) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/v1/workflows"+path, bytes.NewReader(make([]byte, size)))
	r.RemoteAddr = address
	a.h.ServeHTTP(w, r)
	return w
}

// fill takes all of the budget for large bodies and answers, for two clients, until end.
func (a *asker) fill() {
	for range clientParts {
		go a.ask("192.0.2.1:1", http.MethodGet, "/wait/history", 0)
		<-a.begun
	}
	go a.ask("192.0.2.2:1", http.MethodGet, "/wait/history", 0)
	<-a.begun
}

// checkAllBack fails the test if something of the budget is still taken.
func checkAllBack(t *testing.T, b *budget) {
	t.Helper()
	var free int64
	for _, p := range []*pool{b.small, b.large} {
		size := p.most / clientParts * largeParts
		for ; p.bytes.TryAcquire(size + 1); size++ { // a size that is no multiple of its parts
			p.bytes.Release(size + 1)
		}
		if !p.bytes.TryAcquire(size) {
			t.Error("bytes were not given back")
		}
		free += size
		p.bytes.Release(size)
		if len(p.clients) > 0 {
			t.Errorf("clients that hold nothing are kept: %v", p.clients)
		}
	}
	if free != b.size {
		t.Errorf("%d of %d bytes are free", free, b.size)
	}
}

// A request for which there is no room gets 503 and does not begin. When earlier requests have
// ended, there is room again, and all bytes are back. While a request waits for many bytes,
// requests that need few or none do not wait.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		a.fill()
		go a.ask("192.0.2.3:1", http.MethodPost, "/a/cancel", largestBody) // waits, and is finally refused
		synctest.Wait()
		const address = "192.0.2.4:1"
		for _, c := range []struct {
			method, path string
			size         int
			want         string
			status       int
		}{
			{http.MethodGet, "/a/history", 0, "urn:weft:problem:busy", 503},
			{http.MethodPost, "/a/cancel", 2 * mostSmall, "urn:weft:problem:busy", 503},
			{http.MethodGet, "/a?131072", 0, "urn:weft:problem:busy", 503},
			{http.MethodPost, "/a/cancel?131072", 0, "urn:weft:problem:outcome-unknown", 503},
			{http.MethodPost, "/a/cancel", 0, "x", 200},
			{http.MethodPost, "/a/cancel", unbudgeted, "x", 200},
			{http.MethodPost, "/a/cancel", mostSmall, "x", 200},
			{http.MethodGet, "/a?65536", mostSmall, "x", 200},
		} {
			again := make(chan struct{})
			go func() { // one request waits all the time
				defer close(again)
				a.ask("192.0.2.3:1", http.MethodPost, "/a/cancel", largestBody)
			}()
			synctest.Wait()
			began := time.Now()
			w := a.ask(address, c.method, c.path, c.size)
			if w.Code != c.status || !strings.Contains(w.Body.String(), c.want) || (c.status == 503) != (w.Header().Get("Retry-After") != "") {
				t.Errorf("%s %s of %d bytes with no room: %d %.100q", c.method, c.path, c.size, w.Code, w.Body)
			}
			if c.status == 200 && time.Since(began) > 0 {
				t.Errorf("%s %s of %d bytes waited %v behind large ones", c.method, c.path, c.size, time.Since(began))
			}
			<-again
		}
		close(a.end)
		synctest.Wait()
		if w := a.ask(address, http.MethodPost, "/a/cancel", largestBody); w.Code != http.StatusOK || w.Header().Get("Read") != strconv.Itoa(largestBody) {
			t.Errorf("there is room again: %d", w.Code)
		}
		checkAllBack(t, a.budget)
	})
}

// An answer that is smaller than what its request held needs no more room, whatever else waits.
func TestBudgetOfAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsker()
		a.fill()
		answered := make(chan *httptest.ResponseRecorder)
		a.end <- struct{}{} // room for one
		go func() { answered <- a.ask("192.0.2.3:1", http.MethodGet, "/page/history?131072", 0) }()
		<-a.begun
		go a.ask("192.0.2.4:1", http.MethodPost, "/a/cancel", largestBody) // waits
		synctest.Wait()
		began := time.Now()
		close(a.page)
		if w := <-answered; w.Code != http.StatusOK || time.Since(began) > 0 {
			t.Errorf("a page that was made: %d after %v", w.Code, time.Since(began))
		}
		close(a.end)
		synctest.Wait()
		checkAllBack(t, a.budget)
	})
}

// One client cannot hold the whole budget, neither that of large answers nor that of small ones.
func TestBudgetOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(0, 1000)
		var all []held
		for _, size := range []int64{mostSmall, b.large.most / clientParts} {
			for {
				h, ok := b.reserve(t.Context(), "greedy", size)
				if !ok {
					break
				}
				all = append(all, h)
			}
			for _, other := range []string{"one", "two"} {
				if h, ok := b.reserve(t.Context(), other, min(size, b.large.most/clientParts/4)); ok {
					all = append(all, h)
				} else {
					t.Errorf("no room for another client's %d bytes", size)
				}
			}
		}
		var sum int64
		for _, h := range all {
			sum += h.bytes
		}
		if sum > b.size {
			t.Errorf("%d bytes are held of %d", sum, b.size)
		}
		for _, h := range all {
			h.release()
		}
		checkAllBack(t, b)
	})
}

// Requests count for an IPv4 address, or a network of IPv6 addresses.
func TestClientOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[::ffff:192.0.2.1]:80": "192.0.2.1", "[::1]:80": "::/64",
		"[2001:db8::1]:80": "2001:db8::/64", "[2001:db8::ffff:1]:80": "2001:db8::/64", "[2001:db8:0:1::1]:80": "2001:db8:0:1::/64",
		"[fe80::1%eth0]:80": "fe80::/64", "": "", "pipe": "pipe",
	} {
		if got := clientOf(&http.Request{RemoteAddr: address}); got != want {
			t.Errorf("%q counts for %q, want %q", address, got, want)
		}
	}
}

// Requests beyond three quarters of the connections get 503 with the reason, and do not begin.
// Health checks are still answered.
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
