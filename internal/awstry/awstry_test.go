package awstry_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-41655fb1/weft/internal/awstry"
)

// short is a timeout of a try. No test fails because something takes longer than this.
const short = 50 * time.Millisecond

// A try on a connection that has gone silent fails by itself, although the caller has no deadline.
// The next try uses a new connection, although others are idle.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, silent := map[string]int{}, map[string]bool{}
	all, end := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		seen[r.RemoteAddr]++
		hangs := silent[r.RemoteAddr]
		mu.Unlock()
		switch {
		case hangs:
			<-end
		case r.URL.Path == "/together":
			<-all
		}
	}))
	defer server.Close()
	defer close(end)
	limit := time.Minute
	c := awstry.Wrap(nil, func(*http.Request) time.Duration { return limit })
	get := func(path string) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err
	}
	const pooled = 3
	var group sync.WaitGroup
	for range pooled {
		group.Go(func() {
			if err := get("/together"); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		mu.Lock()
		n := len(seen)
		mu.Unlock()
		if n == pooled {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(all)
	group.Wait()
	mu.Lock()
	for address := range seen { // the process is frozen, and thawed
		silent[address] = true
	}
	mu.Unlock()
	limit = short
	var passes net
	if err := get("/"); !errors.Is(err, awstry.ErrSilent) || !errors.As(err, &passes) || !passes.Timeout() {
		t.Fatalf("a silent connection: %v", err)
	}
	limit = time.Minute
	if err := get("/"); err != nil {
		t.Errorf("the next try: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != pooled+1 {
		t.Errorf("there were %d connections, want %d", len(seen), pooled+1)
	}
}

// net is what the SDK's retryers ask an error for.
type net interface {
	error
	Timeout() bool
}

// An answer that begins and then stops fails as well.
func TestSilentBody(t *testing.T) {
	t.Parallel()
	end := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("half"))
		w.(http.Flusher).Flush()
		<-end
	}))
	defer server.Close()
	defer close(end)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := awstry.Wrap(nil, awstry.For(0, 10*short)).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got, err := io.ReadAll(resp.Body); string(got) != "half" || !errors.Is(err, awstry.ErrSilent) {
		t.Errorf("%q, %v", got, err)
	}
}

// stops is a client of a server whose answers begin at once and then stop.
type stops struct{ context.Context }

// Do begins an answer.
func (s *stops) Do(r *http.Request) (*http.Response, error) {
	s.Context = r.Context()
	return &http.Response{Body: s}, nil
}

// Read blocks until the request's context ends.
func (s *stops) Read([]byte) (int, error) {
	<-s.Done()
	return 0, s.Err()
}

// Close implements io.Closer.
func (s *stops) Close() error { return nil }

// The timeout grows for answers that begin and do not end, as for those that do not begin: an
// answer may be large, and the connection slow.
func TestSlowBodiesGetMoreTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := awstry.Wrap(&stops{}, awstry.For(time.Second, 0))
		for _, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 4 * time.Second} {
			began := time.Now()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, awstry.ErrSilent) || time.Since(began) != want {
				t.Errorf("after %v: %v, want %v", time.Since(began), err, want)
			}
			_ = resp.Body.Close()
		}
	})
}

// slow is a client of a server that needs a minute.
type slow struct{ deadline time.Time }

// TryTimeout implements awstry.Slow.
func (*slow) TryTimeout() time.Duration { return time.Minute }

// Do records the deadline of the request.
func (s *slow) Do(r *http.Request) (*http.Response, error) {
	s.deadline, _ = r.Context().Deadline()
	return &http.Response{Body: http.NoBody}, nil
}

// The client of a slow server raises the limit, and never lowers it.
func TestSlowServers(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{short, time.Hour} {
		inner := &slow{}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		resp, err := awstry.Wrap(inner, awstry.For(limit, 0)).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if least := before.Add(max(limit, time.Minute)); inner.deadline.Before(least) {
			t.Errorf("a limit of %v: the try ends at %v, want no earlier than %v", limit, inner.deadline, least)
		}
	}
}
