package local

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/proof/testbed"
)

// Requests that wait for the history of a run hold no memory meanwhile: those who want a page of
// it, and other clients, get theirs. When there is news, each answer needs room.
func TestWaitingHistoriesHoldNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := testbed.New(t).Start(executor.Options{}, testbed.Workload("build-1")...)
		p.Do(http.MethodPost, "/v1/workflows", `{"workflowId":"a","type":"counter"}`)
		b := newBudget(0, 1000)
		h := b.bounded(p.Process.API)
		ask := func(target string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/workflows/a/history"+target, nil))
			return w
		}
		const waiting = 3 * largeParts
		answers := make(chan *httptest.ResponseRecorder, waiting)
		for range waiting {
			go func() { answers <- ask("?from=5&wait=20s") }()
		}
		synctest.Wait()
		if w := ask(""); w.Code != http.StatusOK {
			t.Errorf("a page while %d requests wait: %d %s", waiting, w.Code, w.Body)
		}
		p.Do(http.MethodPost, "/v1/workflows/a/signals/poke", "")
		for range waiting {
			if w := <-answers; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Signaled") {
				t.Errorf("a request that waited: %d %s", w.Code, w.Body)
			}
		}
		checkAllBack(t, b)
		b = newBudget(0, 1000)
		h = b.bounded(p.Process.API)
		if !b.large.bytes.TryAcquire(b.large.most) || !b.large.bytes.TryAcquire(b.large.most/clientParts) {
			t.Fatal("the budget is not free")
		}
		if w := ask("?from=5&wait=20s"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
			t.Errorf("without room for the answer: %d %s", w.Code, w.Body)
		}
	})
}

// A stream passes through the whole server, and ends when the server stops.
func TestStreamOfAServer(t *testing.T) {
	t.Parallel()
	s, err := Open(registry(t), Options{Auth: true})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	_, token := s.Token()
	ask := func(method, target, accept, body string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+l.Addr().String()+"/v1/workflows"+target, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	stream := ask(http.MethodGet, "", "text/event-stream", "")
	lines := bufio.NewScanner(stream.Body)
	next := func(want string) {
		t.Helper()
		for lines.Scan() {
			if data, found := strings.CutPrefix(lines.Text(), "data: "); found && strings.Contains(data, want) {
				return
			}
		}
		t.Fatalf("the stream ended before %q: %v", want, lines.Err())
	}
	next(`"workflows":[]`)
	for i := range 3 {
		_ = ask(http.MethodPost, "", "", fmt.Sprintf(`{"workflowId":"w%d","type":"nothing"}`, i)).Body.Close()
		next(fmt.Sprintf(`"workflowId":"w%d"`, i))
	}
	history, err := io.ReadAll(ask(http.MethodGet, "/w0/history", "text/event-stream", "").Body)
	if text := string(history); err != nil || !strings.Contains(text, "WorkflowExecutionCompleted") || !strings.HasSuffix(text, "event: end\ndata: {}\n\n") {
		t.Errorf("the history of a closed run is %q, %v", text, err)
	}
	stop()
	for lines.Scan() {
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
