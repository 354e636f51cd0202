package isolate

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/semaphore"
)

// Calls wait until their bodies and their answers fit into the budget. A call that is larger than
// the budget runs alone.
func TestCallsKeepToTheirBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fit = 3
		var mu sync.Mutex
		inside, most, done := 0, 0, 0
		h := withinBudget(fit*least, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			inside++
			most = max(most, inside)
			mu.Unlock()
			time.Sleep(time.Second) // of the bubble's clock
			mu.Lock()
			inside--
			mu.Unlock()
			_, _ = w.Write(make([]byte, 2*least))
			mu.Lock()
			defer mu.Unlock()
			done++
		}))
		const small, large = 9, 4
		for range small {
			go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")))
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if most != fit || done != small {
			t.Errorf("%d small calls at once, %d done; want %d and %d", most, done, fit, small)
		}
		most = 0
		mu.Unlock()
		for range large {
			body := strings.NewReader(strings.Repeat("x", 5*int(least)))
			go h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", body))
		}
		time.Sleep(time.Minute)
		mu.Lock()
		if most != 1 || done != small+large {
			t.Errorf("%d large calls at once, %d done; want 1 and %d", most, done, small+large)
		}
	})
}

// idle returns a pool whose only slot has no process.
func idle(mostWaiting int64) *Pool {
	p := &Pool{oneByOne: make(chan struct{}, 1), stopped: make(chan struct{}), waiting: semaphore.NewWeighted(mostWaiting), given: semaphore.NewWeighted(budget)}
	p.slots = []*slot{{pool: p, next: make(chan *process)}}
	p.solo = &slot{pool: p, next: make(chan *process)}
	return p
}

// A request that finds no child is refused after waitFor, and at once if too many wait.
func TestWaitingRequestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle(1)
		ask := func() (status int, after time.Duration, retry string) {
			began, w := time.Now(), httptest.NewRecorder()
			p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/workflows/a/signals/s", strings.NewReader("{}")))
			return w.Code, time.Since(began), w.Header().Get("Retry-After")
		}
		go func() {
			if status, after, retry := ask(); status != http.StatusServiceUnavailable || after != waitFor || retry == "" {
				t.Errorf("the one that waits: %d after %v, Retry-After %q", status, after, retry)
			}
		}()
		synctest.Wait()
		if status, after, retry := ask(); status != http.StatusServiceUnavailable || after != 0 || retry == "" {
			t.Errorf("one more: %d after %v, Retry-After %q", status, after, retry)
		}
		time.Sleep(time.Minute)
		if !p.waiting.TryAcquire(1) {
			t.Error("a request that was refused still counts as waiting")
		}
	})
}

// A suspect waits for the solo child no longer than waitFor, and does not keep it from others.
func TestWaitingSuspectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := idle(1)
		p.suspects.add("a", 0)
		_, _, err := p.reserve(t.Context(), job{workflow: "a", runsCode: true, request: true})
		if !errors.Is(err, errBusy) {
			t.Errorf("%v, want %v", err, errBusy)
		}
		if len(p.oneByOne) != 0 {
			t.Error("the solo child is still taken")
		}
	})
}

// A request that is marked ends its wait after shortFor; others wait as they ask.
func TestMarkedRequestsWaitShortly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const other = time.Hour
		h := shortly(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(other):
			}
		}))
		for mark, want := range map[string]time.Duration{"": other, "1": shortFor} {
			r, began := httptest.NewRequest(http.MethodPost, "/", nil), time.Now()
			if mark != "" {
				r.Header.Set(headerShort, mark)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got := time.Since(began); got != want {
				t.Errorf("%s %q: %v, want %v", headerShort, mark, got, want)
			}
		}
	})
}

// A request is marked if it is carried out alone, or if it has waited long for its child: all waits
// end within 25 s.
func TestLongWaitsForAChildCount(t *testing.T) {
	for _, c := range []struct {
		alone  bool
		waited time.Duration
		want   string
	}{{false, 0, ""}, {false, longWait - 1, ""}, {false, longWait, "1"}, {false, waitFor, "1"}, {true, 0, "1"}} {
		header := http.Header{headerShort: {"a caller's"}}
		markShort(header, c.alone, c.waited)
		if got := header.Get(headerShort); got != c.want {
			t.Errorf("alone %t, after a wait of %v: %q, want %q", c.alone, c.waited, got, c.want)
		}
	}
	const longest = 20 * time.Second // of a wait in the child
	if most := max(longWait+longest, waitFor+shortFor); most > 25*time.Second {
		t.Errorf("a request may take %v", most)
	}
}

// Suspects and parked workflows survive a restart, with the same program.
func TestSuspectsSurviveARestart(t *testing.T) {
	log, file := slog.New(slog.DiscardHandler), filepath.Join(t.TempDir(), "suspects.json")
	var s suspects
	s.open(file, "one", log)
	s.add("suspect", 0)
	s.add("cleared", 0)
	for range soloDeaths {
		s.add("parked", certain)
	}
	s.clear("cleared")
	for build, wantParked := range map[string]bool{"one": true, "two": false} {
		var again suspects
		again.open(file, build, log)
		for workflow, want := range map[string][2]bool{"suspect": {true, false}, "parked": {true, wantParked}, "cleared": {}} {
			if suspect, parked := again.state(workflow); suspect != want[0] || parked != want[1] {
				t.Errorf("build %s, %s: suspect %v, parked %v; want %v", build, workflow, suspect, parked, want)
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(file)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v: want nothing but the file", entries, err)
	}
}

// A file that cannot be read or written does not stop anything.
func TestSuspectsWithoutTheirFile(t *testing.T) {
	log, dir := slog.New(slog.DiscardHandler), t.TempDir()
	file := filepath.Join(dir, "suspects.json")
	for _, text := range []string{"", "{", `{"version":99,"workflows":[{"workflowId":"a","deaths":3}]}`} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var s suspects
		s.open(file, "one", log)
		if suspect, _ := s.state("a"); suspect {
			t.Errorf("%q: a is a suspect", text)
		}
	}
	var s suspects
	s.open(filepath.Join(dir, "none", "suspects.json"), "one", log)
	s.add("a", 0)
	if suspect, _ := s.state("a"); !suspect {
		t.Error("a is no suspect: it is to be one until the restart")
	}
}

// A token names its workflow; the token itself is nobody's id.
func TestTokensAreNotIDs(t *testing.T) {
	for body, want := range map[string]string{
		`{"workflowId":"a"}`: "a", `{"token":"c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldC1zZWNyZXQ"}`: "", `{`: "",
	} {
		if got := named([]byte(body)); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
