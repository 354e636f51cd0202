package weftotel_test

import (
	"encoding/json"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-41655fb1/weft/functions/adapter"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/proof/lambdahost"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/weftotel"
)

// TestMain runs this test program as a function if it is started as a bootstrap.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), testbed.Workload("build-1")...)
		return
	}
	os.Exit(m.Run())
}

// log keeps what a function writes. Each line wakes the goroutines that wait for one.
type log struct {
	mu      sync.Mutex
	written sync.Cond
	text    strings.Builder
}

func newLog() *log {
	l := &log{}
	l.written.L = &l.mu
	return l
}

// Write implements io.Writer.
func (l *log) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Broadcast()
	return l.text.Write(line)
}

// await waits until a text is in n lines, and returns the lines so far.
func (l *log) await(text string, n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for strings.Count(l.text.String(), text) < n {
		l.written.Wait()
	}
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

// apiFunction starts this program as the api function, over an empty table.
func apiFunction(t *testing.T, vars map[string]string) (http.Handler, *log) {
	t.Helper()
	table := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		const empty = `{"Items":[],"Count":0,"ScannedCount":0}`
		w.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(empty))), 10))
		_, _ = io.WriteString(w, empty)
	}))
	t.Cleanup(table.Close)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := newLog()
	f := lambdahost.Function{Name: "api", Bootstrap: program, Timeout: time.Minute, Freeze: true, Log: l, Environment: map[string]string{
		"WEFT_ROLE": "api", "WEFT_TABLE": "weft", "WEFT_NAMESPACE": "shop", "WEFT_LOG_LEVEL": "debug", "WEFT_BUILD": "build-1",
		"WEFT_QUEUE_WORKFLOW": "http://127.0.0.1/weft-workflow.fifo", "WEFT_QUEUE_TIMERS": "http://127.0.0.1/weft-timers",
		"WEFT_QUEUE_ACTIVITIES": "http://127.0.0.1/weft-activities", "AWS_ENDPOINT_URL": table.URL,
	}}
	for name, value := range vars {
		f.Environment[name] = value
	}
	h := lambdahost.New(f)
	t.Cleanup(h.Close)
	return lambdahost.Gateway(h, "api"), l
}

const callerTrace = "0af7651916cd43dd8448eb211c80319c"

func ask(t *testing.T, gateway http.Handler) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/workflows/a", nil)
	r.Header.Set("Traceparent", "00-"+callerTrace+"-b7ad6b7169203331-01")
	w := httptest.NewRecorder()
	gateway.ServeHTTP(w, r)
	if w.Code != http.StatusNotFound {
		t.Errorf("the answer is %d %s", w.Code, w.Body)
	}
}

// A function that is frozen after each answer has exported its spans and metrics before, in lines
// and in OTLP. Its log names the request and the trace.
func TestFunction(t *testing.T) {
	t.Parallel()
	r := receive(t)
	gateway, l := apiFunction(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "WEFT_METRICS": "emf", "WEFT_DEPLOYMENT": "shop-eu"})
	for range 3 {
		ask(t, gateway)
	}
	r.await(t, "GET /v1/workflows/{id}", 3)
	metrics := ""
	for _, line := range l.await(`"_aws"`, 3) {
		if strings.Contains(line, `"_aws"`) {
			metrics += line + "\n"
			continue
		}
		var fields struct{ Timestamp, Level, Message, RequestID, Trace_ID string }
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields.Message == "request" && (fields.RequestID == "" || fields.Trace_ID != callerTrace || fields.Level != "DEBUG" || fields.Timestamp == "") {
			t.Errorf("a line lacks something: %s", line)
		}
	}
	if sums := emftest.Sums(t, metrics); sums["Reads"] != 3 || strings.Count(metrics, `"Deployment":"shop-eu"`) != 3 {
		t.Errorf("the metrics are\n%s", metrics)
	}
}

// A function whose collector does not answer still serves requests, and logs the error once.
func TestFunctionWithoutCollector(t *testing.T) {
	t.Parallel()
	r := receive(t)
	r.setBroken(true)
	gateway, l := apiFunction(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL})
	ask(t, gateway)
	l.await("spans could not be handed on", 1)
	for range 3 {
		ask(t, gateway)
	}
}
