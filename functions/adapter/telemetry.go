package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/smithy-go/logging"

	"github.com/seed-41655fb1/weft/internal/observe"
	"github.com/seed-41655fb1/weft/internal/observe/emf"
	"github.com/seed-41655fb1/weft/internal/settings"
)

// flushTime is how long an invocation waits, after its answer was sent, for spans to be handed on; pause is how long they
// are held back after that failed. What does not go is dropped: telemetry never holds work up.
const (
	flushTime = 500 * time.Millisecond
	pause     = 10 * time.Second
)

// Where metrics go: the values of settings.Function.Metrics.
const (
	metricsEMF  = "emf"
	metricsOTLP = "otlp"
	metricsOff  = "off"
)

// telemetry is what a function tells of its work.
type telemetry struct {
	log     *slog.Logger
	metrics *emf.Recorder     // nil if they are not written to the log
	spans   observe.Telemetry // nil if there are none
	resting time.Time         // until when spans are held back
}

// openTelemetry opens what the environment asks for. export may be nil.
func openTelemetry(ctx context.Context, e *environment, out io.Writer, log *slog.Logger, export observe.Open) (*telemetry, error) {
	t := &telemetry{log: log}
	if e.Metrics == metricsEMF {
		t.metrics = emf.New(out, e.name(), nil)
	}
	if e.Metrics == metricsOTLP && export == nil {
		return nil, errors.New("WEFT_METRICS is otlp, and this program exports nothing: give adapter.Settings a Telemetry, or set WEFT_METRICS to emf")
	}
	if export == nil {
		return t, nil
	}
	var err error
	t.spans, err = export(ctx, observe.Settings{
		Namespace: e.name(), Service: lambdacontext.FunctionName, Function: true, Metrics: e.Metrics == metricsOTLP, Log: log,
	})
	return t, err
}

// name is the namespace of a deployment, as metrics and spans have it.
func (e *environment) name() string { return cmp.Or(e.Namespace, "default") }

// hub is where the service tells of its work.
func (t *telemetry) hub() *observe.Hub {
	sinks := []observe.Sink{observe.Log(t.log)}
	if t.metrics != nil {
		sinks = append(sinks, t.metrics)
	}
	if t.spans != nil {
		sinks = append(sinks, t.spans)
	}
	return observe.New(sinks...)
}

// flush hands on what an invocation has told. It fails nothing and takes no longer than flushTime.
func (t *telemetry) flush() {
	if t.metrics != nil {
		if err := t.metrics.Flush(); err != nil {
			t.log.Warn("metrics are lost", "error", err)
		}
	}
	if t.spans == nil || time.Now().Before(t.resting) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushTime)
	defer cancel()
	if err := t.spans.Flush(ctx); err != nil {
		t.resting = time.Now().Add(pause)
		t.log.Warn("spans could not be handed on; they are held back for a while, and dropped if they become too many", "pause", pause.String(), "error", err)
	}
}

// newLogger returns the logger of a function: a line of JSON each, with the names that Lambda gives its own lines, and
// the id of the request.
func newLogger(out io.Writer, getenv func(string) string) (*slog.Logger, error) {
	// What Lambda is told to let through need not be written.
	level, err := observe.Level(cmp.Or(getenv(settings.Variable("LogLevel")), ofLambda(getenv("AWS_LAMBDA_LOG_LEVEL"))))
	if err != nil {
		err = fmt.Errorf("%s: %w", settings.Variable("LogLevel"), err)
	}
	inner := slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: lambdacontext.ReplaceAttr})
	return slog.New(observe.Handler(inner, requestID)), err
}

// ofSDK takes what the SDK has to say: it logs no requests, and so no payloads.
func ofSDK(log *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(c logging.Classification, format string, args ...any) {
		level := slog.LevelDebug
		if c == logging.Warn {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "the AWS SDK: "+fmt.Sprintf(format, args...))
	})
}

// ofLambda is a level of Lambda's as a level of the log.
func ofLambda(level string) string {
	switch strings.ToUpper(level) {
	case "TRACE", "DEBUG":
		return "debug"
	case "WARN":
		return "warn"
	case "ERROR", "FATAL":
		return "error"
	}
	return ""
}

func requestID(ctx context.Context) []slog.Attr {
	if c, ok := lambdacontext.FromContext(ctx); ok {
		return []slog.Attr{slog.String("requestId", c.AwsRequestID)}
	}
	return nil
}
