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

// A line of a function's log has the field names of Lambda's own lines, the id of the request, and
// the ids of the span.
func TestLog(t *testing.T) {
	t.Parallel()
	for vars, want := range map[[2]string]string{
		{"", ""}: "iwe", {"debug", ""}: "diwe", {"ERROR", "DEBUG"}: "e", {"", "TRACE"}: "diwe", {"", "WARN"}: "we", {"", "FATAL"}: "e",
	} {
		var out bytes.Buffer
		log, err := newLogger(&out, func(name string) string {
			return map[string]string{"WEFT_LOG_LEVEL": vars[0], "AWS_LAMBDA_LOG_LEVEL": vars[1]}[name]
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
			if fields["timestamp"] == "" || fields["level"] == "" || fields["requestId"] != "request-1" || fields["workflowId"] != "a" ||
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
		metrics    string
		export     observe.Open
		lines, otl bool
		text       string
	}{
		{metricsEMF, nil, true, false, ""},
		{metricsEMF, export, true, false, ""},
		{metricsOff, export, false, false, ""},
		{metricsOTLP, export, false, true, ""},
		{metricsOTLP, nil, false, false, "exports nothing"},
	} {
		var out bytes.Buffer
		opened, err := openTelemetry(t.Context(), &environment{Function: settings.Function{Metrics: test.metrics}}, &out, slog.New(slog.DiscardHandler), test.export)
		if err != nil {
			if test.text == "" || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%s: %v", test.metrics, err)
			}
			continue
		}
		opened.hub().Observe(t.Context(), &observe.Hung{})
		if opened.metrics != nil {
			opened.flush()
			emftest.Check(t, out.String())
		}
		if lines := strings.Contains(out.String(), `"Namespace":"default"`); lines != test.lines {
			t.Errorf("%s: the log has %q", test.metrics, out.String())
		}
		if test.export != nil && (told.Metrics != test.otl || !told.Function || told.Namespace != "default") {
			t.Errorf("%s: the exporter's settings are %+v", test.metrics, told)
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
