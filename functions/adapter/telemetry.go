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

// flushTime bounds the export of spans after an invocation's answer. pause is how long spans are
// held back after a failed export. Spans that are not exported are dropped: telemetry never delays
// work.
const (
	flushTime = 500 * time.Millisecond
	pause     = 10 * time.Second
)

// The destinations of metrics: the values of settings.Function.Metrics.
const (
	metricsHealth = "health"
	metricsEMF    = "emf"
	metricsOTLP   = "otlp"
	metricsOff    = "off"
)

// telemetry has the destinations of a function's telemetry.
type telemetry struct {
	log     *slog.Logger
	metrics *emf.Recorder     // nil if the log has no metrics
	spans   observe.Telemetry // nil without an exporter
	resting time.Time         // spans are held back until then
}

// openTelemetry opens the destinations that the environment names. export may be nil.
func openTelemetry(ctx context.Context, e *environment, out io.Writer, log *slog.Logger, export observe.Open) (*telemetry, error) {
	t := &telemetry{log: log}
	if e.Metrics != metricsOff {
		t.metrics = emf.New(out, e.deployment(), emf.Options{All: e.Metrics == metricsEMF})
	}
	if e.Metrics == metricsOTLP && export == nil {
		return nil, errors.New("WEFT_METRICS is otlp, and this program exports nothing: give adapter.Settings a Telemetry, or set WEFT_METRICS to health or emf")
	}
	if export == nil {
		return t, nil
	}
	var err error
	t.spans, err = export(ctx, observe.Settings{
		Namespace: e.name(), Deployment: e.deployment(), Service: lambdacontext.FunctionName, Function: true, Metrics: e.Metrics == metricsOTLP, Log: log,
	})
	return t, err
}

// name returns the namespace of a deployment, as in spans.
func (e *environment) name() string { return cmp.Or(e.Namespace, "default") }

// deployment returns the name of a deployment, as in metrics and spans.
func (e *environment) deployment() string { return cmp.Or(e.Deployment, e.name()) }

// hub returns the hub to which the service reports its work.
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

// flush exports what an invocation has reported. Its failure is only logged, and it takes no longer
// than flushTime.
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

// newLogger returns the logger of a function. Each record is a line of JSON with the field names of
// Lambda's own lines, the name of the function, and the id of the request.
func newLogger(out io.Writer, getenv func(string) string) (*slog.Logger, error) {
	// A line that Lambda filters out need not be written.
	level, err := observe.Level(cmp.Or(getenv(settings.Variable("LogLevel")), ofLambda(getenv("AWS_LAMBDA_LOG_LEVEL"))))
	if err != nil {
		err = fmt.Errorf("%s: %w", settings.Variable("LogLevel"), err)
	}
	log := slog.New(observe.Handler(observe.JSON(out, level), requestID))
	if name := getenv("AWS_LAMBDA_FUNCTION_NAME"); name != "" {
		log = log.With("function", name)
	}
	return log, err
}

// ofSDK returns a logger for the SDK. The SDK logs no requests, and so no payloads.
func ofSDK(log *slog.Logger) logging.Logger {
	return logging.LoggerFunc(func(c logging.Classification, format string, args ...any) {
		level := slog.LevelDebug
		if c == logging.Warn {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "the AWS SDK: "+fmt.Sprintf(format, args...))
	})
}

// ofLambda returns the log level for a level of Lambda, or "" if it has none.
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
