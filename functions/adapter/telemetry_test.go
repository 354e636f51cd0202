package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf/emftest"
	"github.com/seed-41655fb1/weft/internal/settings"
	"github.com/seed-41655fb1/weft/internal/tracelog"
)

// A line of a function's log has the field names of Lambda's own lines, the names of the function
// and the request, and the ids of the span.
func TestLog(t *testing.T) {
	t.Parallel()
	for vars, want := range map[[2]string]string{
		{"", ""}: "iwe", {"debug", ""}: "diwe", {"ERROR", "DEBUG"}: "e", {"", "TRACE"}: "diwe", {"", "WARN"}: "we", {"", "FATAL"}: "e",
	} {
		var out bytes.Buffer
		log, err := newLogger(&out, func(name string) string {
			return map[string]string{"WEFT_LOG_LEVEL": vars[0], "AWS_LAMBDA_LOG_LEVEL": vars[1], "AWS_LAMBDA_FUNCTION_NAME": "shop-api"}[name]
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "request-1"})
		ctx = tracelog.With(ctx, "trace-1", "span-1")
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			log.With("workflowId", "a").Log(ctx, level, strings.ToLower(level.String()[:1]))
		}
		got := ""
		for line := range strings.Lines(out.String()) {
			fields := map[string]string{}
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatal(err)
			}
			got += fields["message"]
			if fields["timestamp"] == "" || fields["level"] == "" || fields["requestId"] != "request-1" || fields["function"] != "shop-api" || fields["workflowId"] != "a" ||
				fields["trace_id"] != "trace-1" || fields["span_id"] != "span-1" {
				t.Errorf("a line lacks something: %s", line)
			}
		}
		if got != want {
			t.Errorf("%q writes %q, want %q", vars, got, want)
		}
	}
	if _, err := newLogger(&bytes.Buffer{}, func(string) string { return "loud" }); err == nil || !strings.Contains(err.Error(), "WEFT_LOG_LEVEL") {
		t.Errorf("an unknown level: %v", err)
	}
}

// exported is a telemetry whose Flush returns err. If err is nil, Flush blocks until its context
// ends.
type exported struct {
	observe.Tracer
	flushed int
	err     error
}

func (*exported) Observe(context.Context, observe.Event) {}

func (e *exported) Flush(ctx context.Context) error {
	if e.flushed++; e.err != nil {
		return e.err
	}
	<-ctx.Done()
	return ctx.Err()
}

func (*exported) Close(context.Context) error { return nil }

// WEFT_METRICS selects the destination of metrics, and the exporter learns the environment.
func TestOpenTelemetry(t *testing.T) {
	t.Parallel()
	var told observe.Settings
	export := func(_ context.Context, s observe.Settings) (observe.Telemetry, error) {
		if told = s; s.Service == "fails" {
			return nil, errors.New("no such collector")
		}
		return &exported{}, nil
	}
	for _, test := range []struct {
		metrics string
		export  observe.Open
		// lines are the metrics in the log.
		lines string
		otl   bool
		text  string
	}{
		{metricsHealth, nil, "health", false, ""},
		{metricsHealth, export, "health", false, ""},
		{metricsEMF, nil, "all", false, ""},
		{metricsEMF, export, "all", false, ""},
		{metricsOff, export, "", false, ""},
		{metricsOTLP, export, "health", true, ""},
		{metricsOTLP, nil, "", false, "exports nothing"},
	} {
		var out bytes.Buffer
		e := &environment{Function: settings.Function{Deployment: "shop", Namespace: "ns", Metrics: test.metrics}}
		opened, err := openTelemetry(t.Context(), e, &out, slog.New(slog.DiscardHandler), test.export)
		if err != nil {
			if test.text == "" || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v", test.metrics, err)
			}
			continue
		}
		opened.hub().Observe(t.Context(), &observe.LostRace{})
		opened.hub().Observe(t.Context(), &observe.Hung{})
		if opened.metrics != nil {
			opened.flush()
		}
		sums, lines := emftest.Sums(t, out.String()), ""
		switch {
		case sums["LostRaces"] == 1 && sums["HungInstances"] == 1:
			lines = "all"
		case sums["HungInstances"] == 1:
			lines = "health"
		}
		if lines != test.lines || lines != "" && !strings.Contains(out.String(), `"Deployment":"shop"`) {
			t.Errorf("%s: the log has %q", test.metrics, out.String())
		}
		if test.export != nil && (told.Metrics != test.otl || !told.Function || told.Namespace != "ns" || told.Deployment != "shop") {
			t.Errorf("%s: the exporter's settings are %+v", test.metrics, told)
		}
	}
}

// Metrics and spans have the name of the deployment: by default its namespace.
func TestNameOfDeployment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ deployment, namespace, want string }{
		{"", "", "default"}, {"", "ns", "ns"}, {"shop", "", "shop"}, {"shop", "ns", "shop"},
	} {
		e := environment{Function: settings.Function{Deployment: test.deployment, Namespace: test.namespace}}
		if got := e.deployment(); got != test.want {
			t.Errorf("deployment %q of namespace %q is %q, want %q", test.deployment, test.namespace, got, test.want)
		}
	}
}

// A collector that does not answer delays one invocation for a moment, and then none for a while.
func TestFlushIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, spans := range []*exported{{}, {err: errors.New("refused")}} {
			var out bytes.Buffer
			told := &telemetry{log: slog.New(slog.NewTextHandler(&out, nil)), spans: spans}
			began := time.Now()
			for range 5 {
				told.flush()
			}
			if took := time.Since(began); took > flushTime || spans.flushed != 1 || strings.Count(out.String(), "spans could not be handed on") != 1 {
				t.Errorf("%d flushes took %v, and logged %q", spans.flushed, took, out.String())
			}
			time.Sleep(pause)
			if told.flush(); spans.flushed != 2 {
				t.Error("the export is not tried again")
			}
		}
	})
}
