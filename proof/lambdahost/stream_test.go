package lambdahost_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/backend"
	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/queue"
	queuememory "github.com/seed-41655fb1/weft/queue/memory"
	storememory "github.com/seed-41655fb1/weft/store/memory"
	"github.com/seed-41655fb1/weft/workflow"
)

// serveAPI is an api function of Weft, over a store and queues in its memory.
func serveAPI() {
	nothing := workflow.NewWorkflow[workflow.None, workflow.None]("nothing")
	adapter.Settings{Backend: func(context.Context, []string) (*backend.Backend, error) {
		return &backend.Backend{Store: storememory.New(storememory.Options{}), Queue: queuememory.New(queue.Standard(), queuememory.Options{})}, nil
	}}.Main(adapter.API, workflow.Bind(nothing, func(workflow.Context, workflow.None) (workflow.None, error) { return workflow.None{}, nil }))
}

// urlOf returns the address of the function URL of an api function, and the function's host.
func urlOf(t *testing.T, timeout time.Duration, stream string) (string, *lambdahost.Host) {
	t.Helper()
	h := host(t, lambdahost.Function{Timeout: timeout, Freeze: true, Log: os.Stderr, Environment: map[string]string{
		"SERVES": "api", "WEFT_STREAM": stream, "WEFT_LOG_LEVEL": "error",
		"WEFT_QUEUE_WORKFLOW": "https://queues.example.com/w", "WEFT_QUEUE_TIMERS": "https://queues.example.com/t", "WEFT_QUEUE_ACTIVITIES": "https://queues.example.com/a",
	}})
	server := httptest.NewServer(lambdahost.StreamingURL(h, "f"))
	t.Cleanup(server.Close)
	return server.URL + "/v1/workflows", h
}

func send(t *testing.T, method, url, accept, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// A function whose URL streams gives every answer in the form that the URL demands. Its readers of
// server-sent events get a message while the function still works.
func TestStreamingFunction(t *testing.T) {
	t.Parallel()
	url, h := urlOf(t, 4*time.Second, "on")
	started := send(t, http.MethodPost, url, "", `{"workflowId":"a b","type":"nothing"}`)
	if started.StatusCode != http.StatusBadRequest || started.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("a refusal: %d %v", started.StatusCode, started.Header)
	}
	started = send(t, http.MethodPost, url, "", `{"workflowId":"a","type":"nothing"}`)
	text, err := io.ReadAll(started.Body)
	if err != nil || started.StatusCode != http.StatusCreated || started.Header.Get("Weft-Cost") == "" || !strings.Contains(string(text), `"workflowId":"a"`) {
		t.Fatalf("%d %v %s, %v", started.StatusCode, started.Header, text, err)
	}
	history, err := io.ReadAll(send(t, http.MethodGet, url+"/a/history", "text/event-stream", "").Body)
	if err != nil || !strings.Contains(string(history), "WorkflowExecutionCompleted") || !strings.HasSuffix(string(history), "event: end\ndata: {}\n\n") {
		t.Errorf("the history of a closed run is %q, %v", history, err)
	}
	list := send(t, http.MethodGet, url, "text/event-stream", "")
	if list.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("the headers are %v", list.Header)
	}
	lines := bufio.NewScanner(list.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
	}
	if !strings.Contains(lines.Text(), `"workflowId":"a"`) || len(h.Busy()) != 1 {
		t.Errorf("the reader has %q, and %d functions work, want one", lines.Text(), len(h.Busy()))
	}
	for lines.Scan() { // until the function's time is over
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream ends with %v", err)
	}
	if s := h.Stats()["f"]; s.Started != 1 || len(s.Failed) != 0 {
		t.Errorf("%+v: want one process for all, and no failure", s)
	}
}

// Without WEFT_STREAM the function does not know that the URL streams.
func TestFunctionThatDoesNotStream(t *testing.T) {
	t.Parallel()
	url, _ := urlOf(t, time.Minute, "off")
	if answer := send(t, http.MethodGet, url, "", ""); answer.StatusCode != http.StatusBadGateway {
		t.Errorf("an answer of another form: %d", answer.StatusCode)
	}
}

// framed is a function with one answer.
type framed struct {
	text, contentType string
	ends              error
}

func (f framed) InvokeStream(context.Context, string, []byte) (io.ReadCloser, string, error) {
	if f.text == "" {
		return nil, "", f.ends
	}
	reader := io.Reader(strings.NewReader(f.text))
	if f.ends != nil {
		reader = io.MultiReader(reader, failing{f.ends})
	}
	return io.NopCloser(reader), f.contentType, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestStreamingURL(t *testing.T) {
	t.Parallel()
	const typ, zeros = "application/vnd.awslambda.http-integration-response", "\x00\x00\x00\x00\x00\x00\x00\x00"
	died := errors.New("the process died")
	for name, c := range map[string]struct {
		framed
		status int
		body   string
	}{
		"whole":          {framed{`{"statusCode":201,"headers":{"x":"y"},"cookies":["a=b"]}` + zeros + "body\x00", typ, nil}, 201, "body\x00"},
		"without a body": {framed{`{"statusCode":204}` + zeros, typ, nil}, 204, ""},
		"another type":   {framed{`{"statusCode":201}` + zeros, "application/json", nil}, 502, ""},
		"no status":      {framed{`{}` + zeros, typ, nil}, 502, ""},
		"no JSON":        {framed{`{` + zeros, typ, nil}, 502, ""},
		"no zeros":       {framed{`{"statusCode":201}`, typ, nil}, 502, ""},
		"a long head":    {framed{strings.Repeat("x", 1<<20), typ, nil}, 502, ""},
		"it fails":       {framed{"", "", died}, 502, ""},
		"it dies early":  {framed{`{"statusCode":201}`, typ, died}, 502, ""},
	} {
		w := httptest.NewRecorder()
		lambdahost.StreamingURL(c.framed, "f").ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/a%2Fb", nil))
		if w.Code != c.status || c.status < 500 && w.Body.String() != c.body {
			t.Errorf("%s: %d %q, want %d %q", name, w.Code, w.Body, c.status, c.body)
		}
	}
	defer func() {
		if recover() != http.ErrAbortHandler {
			t.Error("the caller of a function that dies in its answer takes the answer for whole")
		}
	}()
	lambdahost.StreamingURL(framed{`{"statusCode":200}` + zeros + "half", typ, died}, "f").ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
}
