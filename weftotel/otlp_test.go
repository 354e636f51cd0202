package weftotel_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed-41655fb1/weft"
	"github.com/seed-41655fb1/weft/client"
	"github.com/seed-41655fb1/weft/internal/executor"
	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/proof/apitest"
	"github.com/seed-41655fb1/weft/proof/testbed"
	"github.com/seed-41655fb1/weft/weftotel"
)

// receiver receives OTLP over HTTP, as a collector does.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	broken   bool
	spans    map[string]int     // by name
	sums     map[string]float64 // by metric
	about    map[string]string  // the resource's attributes
	deltas   bool               // all sums are deltas
	problems []string
	came     sync.Cond
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{spans: map[string]int{}, sums: map[string]float64{}, about: map[string]string{}, deltas: true}
	r.came.L = &r.mu
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, q *http.Request) {
		var body collectortrace.ExportTraceServiceRequest
		if r.read(w, q, &body) {
			r.traces(&body)
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, q *http.Request) {
		var body collectormetrics.ExportMetricsServiceRequest
		if r.read(w, q, &body) {
			r.metrics(&body)
		}
	})
	r.Server = httptest.NewServer(mux)
	t.Cleanup(r.Close)
	return r
}

// read reads a request. The lock is held from the call until the answer is written.
func (r *receiver) read(w http.ResponseWriter, q *http.Request, into proto.Message) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	}
	body := io.Reader(q.Body)
	if q.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(body); err != nil {
			r.problems = append(r.problems, err.Error())
		}
	}
	data, err := io.ReadAll(body)
	if err == nil {
		err = proto.Unmarshal(data, into)
	}
	if err != nil {
		r.problems = append(r.problems, err.Error())
	}
	return err == nil
}

func (r *receiver) traces(body *collectortrace.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range body.GetResourceSpans() {
		r.resource(of.GetResource())
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				r.spans[s.GetName()]++
			}
		}
	}
	r.came.Broadcast()
}

// await waits until n spans of a name have arrived.
func (r *receiver) await(t *testing.T, name string, n int) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.spans[name] < n {
		r.came.Wait()
	}
}

func (r *receiver) metrics(body *collectormetrics.ExportMetricsServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, of := range body.GetResourceMetrics() {
		r.resource(of.GetResource())
		for _, scope := range of.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				r.metric(m)
			}
		}
	}
}

func (r *receiver) metric(m *metricspb.Metric) {
	const delta = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA
	labeled := func(attributes []*commonpb.KeyValue) {
		got := map[string]string{}
		for _, a := range attributes {
			got[a.GetKey()] = a.GetValue().GetStringValue()
		}
		if !maps.Equal(got, map[string]string{"weft.namespace": "shop", "weft.deployment": "shop-eu"}) {
			r.problems = append(r.problems, fmt.Sprintf("%s has the attributes %v", m.GetName(), got))
		}
	}
	for _, p := range m.GetSum().GetDataPoints() {
		labeled(p.GetAttributes())
		r.sums[m.GetName()] += float64(p.GetAsInt())
		r.deltas = r.deltas && m.GetSum().GetAggregationTemporality() == delta
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		labeled(p.GetAttributes())
		r.sums[m.GetName()] += float64(p.GetCount())
		r.deltas = r.deltas && m.GetHistogram().GetAggregationTemporality() == delta
	}
}

func (r *receiver) resource(about *resourcepb.Resource) {
	for _, a := range about.GetAttributes() {
		r.about[a.GetKey()] = a.GetValue().GetStringValue()
	}
}

func (r *receiver) setBroken(broken bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = broken
}

// open opens telemetry as the environment says.
func open(t *testing.T, s observe.Settings) observe.Telemetry {
	t.Helper()
	s.Log, s.Namespace, s.Deployment, s.Service = slog.New(slog.DiscardHandler), "shop", "shop-eu", "shop-api"
	telemetry, err := weftotel.Open(t.Context(), s)
	if err != nil || telemetry == nil {
		t.Fatalf("there is no telemetry: %v", err)
	}
	t.Cleanup(func() { _ = telemetry.Close(context.Background()) }) // its receiver may be gone
	return telemetry
}

// A flush of a function delivers its spans and metrics to the collector. The metrics are those
// since the last flush.
func TestOTLP(t *testing.T) {
	r := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	t.Setenv("AWS_LAMBDA_FUNCTION_NAME", "weft-api")
	telemetry := open(t, observe.Settings{Function: true, Metrics: true})
	p := testbed.New(t).Idle(executor.Options{Observe: observe.New(telemetry)}, testbed.Workload("build-1")...)
	for range 2 {
		p.Do(http.MethodPost, "/v1/workflows", `{"type":"counter"}`)
		if err := telemetry.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spans["task start"] != 2 || r.spans["POST /v1/workflows"] != 2 {
		t.Errorf("the spans are %v", r.spans)
	}
	if r.sums["weft.workflow_tasks"] != 2 || r.sums["weft.task_duration"] != 2 || r.sums["weft.writes"] != 2 || !r.deltas {
		t.Errorf("the metrics are %v, all of them deltas: %v", r.sums, r.deltas)
	}
	for key, want := range map[string]string{
		"service.name": "shop-api", "weft.namespace": "shop", "weft.deployment": "shop-eu", "faas.name": "weft-api", "deployment.environment.name": "test",
	} {
		if r.about[key] != want {
			t.Errorf("%s is %q, want %q", key, r.about[key], want)
		}
	}
	if r.problems != nil {
		t.Error(r.problems)
	}
}

// A collector that does not answer, or refuses, fails no request: the flush returns the error, and
// the spans are sent when the collector is back.
func TestCollectorFails(t *testing.T) {
	r := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	telemetry := open(t, observe.Settings{Function: true})
	p := testbed.New(t).Idle(executor.Options{Observe: observe.New(telemetry)}, testbed.Workload("build-1")...)
	r.setBroken(true)
	if a := p.Do(http.MethodPost, "/v1/workflows", `{"type":"counter"}`); a.Status != http.StatusCreated {
		t.Errorf("the start is answered with %d", a.Status)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := telemetry.Flush(ended); err == nil {
		t.Error("a flush without time returns no error")
	}
	r.setBroken(false)
	p.Do(http.MethodPost, "/v1/workflows", `{"type":"counter"}`)
	if err := telemetry.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := r.spans["task start"]; n != 2 {
		t.Errorf("the spans of %d of two starts arrived when the collector was back", n)
	}
}

// The local server exports too, and exports the rest when it stops.
func TestLocalServer(t *testing.T) {
	r := receive(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", r.URL)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- weft.Serve(ctx, weft.Register(testbed.Workload("build-1")...), weft.Options{
			Addr: "127.0.0.1:0", Data: t.TempDir(), Greeting: func(_ io.Writer, url string) { ready <- url }, Log: slog.New(slog.DiscardHandler),
			Telemetry: weftotel.Open,
		})
	}()
	if _, err := testbed.Counter.Start(ctx, client.New(<-ready, client.Options{HTTP: &http.Client{Transport: apitest.Transport(t, nil)}}), "a", 1); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spans["task start"] != 1 || r.sums["weft.workflow_tasks"] != 1 {
		t.Errorf("the spans are %v, the metrics %v", r.spans, r.sums)
	}
}

// Exports that the environment can ask for, and those that are not supported.
func TestEnvironment(t *testing.T) {
	for _, test := range []struct {
		name     string
		vars     map[string]string
		settings observe.Settings
		opened   bool
		text     string
	}{
		{"nothing", nil, observe.Settings{Metrics: true}, false, ""},
		{"all", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, observe.Settings{Metrics: true}, true, ""},
		{"traces alone", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, observe.Settings{Metrics: true}, true, ""},
		{"disabled", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, observe.Settings{}, false, ""},
		{"none", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, observe.Settings{}, false, ""},
		{"gRPC", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, observe.Settings{}, false, "http/protobuf"},
		{"zipkin", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "zipkin"}, observe.Settings{}, false, "otlp or none"},
		{"no endpoint", nil, observe.Settings{Function: true, Metrics: true}, false, "OTEL_EXPORTER_OTLP_ENDPOINT"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.vars {
				t.Setenv(name, value)
			}
			test.settings.Log = slog.New(slog.DiscardHandler)
			telemetry, err := weftotel.Open(t.Context(), test.settings)
			if telemetry != nil {
				defer func() { _ = telemetry.Close(t.Context()) }() // no collector receives it
			}
			if (telemetry != nil) != test.opened || (err != nil) != (test.text != "") || err != nil && !strings.Contains(err.Error(), test.text) {
				t.Errorf("it is opened: %v, and the error is %v; want %v, %q", telemetry != nil, err, test.opened, test.text)
			}
		})
	}
}
