package weftotel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/detectors/aws/lambda"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/seed-41655fb1/weft/internal/observe"
)

// Settings describe the process to an export.
type Settings = observe.Settings

// Export is an opened export. Weft flushes it after each invocation of a function, and closes it.
type Export = observe.Telemetry

// Open opens the export that the environment asks for; see the package comment. It returns nil
// without an error if the environment names no endpoint. It sets OpenTelemetry's global providers
// and its propagator (W3C trace context).
func Open(ctx context.Context, s Settings) (Export, error) {
	spans, metrics, err := wanted(os.Getenv, s)
	if err != nil || !spans && !metrics {
		return nil, err
	}
	otel.SetErrorHandler(&complaints{log: s.Log})
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(), resource.WithAttributes(append(place(s), semconv.ServiceName(cmp.Or(s.Service, "weft")))...),
		resource.WithDetectors(lambda.NewResourceDetector()), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("weftotel: %w", err)
	}
	p := Providers{}
	if spans {
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("weftotel: %w", err)
		}
		p.Spans = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about), sdktrace.WithIDGenerator(IDs()))
		otel.SetTracerProvider(p.Spans)
		otel.SetTextMapPropagator(propagation.TraceContext{})
	}
	if metrics {
		if p.Metrics, err = metricsBy(ctx, s, about); err != nil {
			return nil, fmt.Errorf("weftotel: %w", err)
		}
		otel.SetMeterProvider(p.Metrics)
	}
	return p.open(s)
}

// metricsBy returns a provider that exports by OTLP. A function exports at each flush what was
// added since the last one, because each of its processes is short-lived, and one of many.
func metricsBy(ctx context.Context, s observe.Settings, about *resource.Resource) (*sdkmetric.MeterProvider, error) {
	var options []otlpmetrichttp.Option
	var reading []sdkmetric.PeriodicReaderOption
	if s.Function {
		reading = append(reading, sdkmetric.WithInterval(time.Hour))
		if os.Getenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE") == "" {
			options = append(options, otlpmetrichttp.WithTemporalitySelector(sdkmetric.DeltaTemporalitySelector))
		}
	}
	exporter, err := otlpmetrichttp.New(ctx, options...)
	if err != nil {
		return nil, err
	}
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, reading...)), sdkmetric.WithResource(about)), nil
}

// complaints logs errors of the export, at most once a minute.
type complaints struct {
	log  *slog.Logger
	mu   sync.Mutex
	next time.Time
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.After(c.next) {
		c.next = now.Add(time.Minute)
		c.log.Warn("spans or metrics could not be exported", "error", err)
	}
}

// wanted returns what the environment asks for. It returns an error if that is not supported.
func wanted(getenv func(string) string, s observe.Settings) (spans, metrics bool, err error) {
	if getenv("OTEL_SDK_DISABLED") == "true" {
		return false, false, nil
	}
	signal := func(name string) bool {
		exporter := getenv("OTEL_" + name + "_EXPORTER")
		if exporter == "none" || cmp.Or(getenv("OTEL_EXPORTER_OTLP_"+name+"_ENDPOINT"), getenv("OTEL_EXPORTER_OTLP_ENDPOINT")) == "" {
			return false
		}
		if exporter != "" && exporter != "otlp" {
			err = errors.Join(err, fmt.Errorf("OTEL_%s_EXPORTER is %q: give otlp or none", name, exporter))
		}
		if p := cmp.Or(getenv("OTEL_EXPORTER_OTLP_"+name+"_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL")); p != "" && p != "http/protobuf" {
			err = errors.Join(err, fmt.Errorf("the protocol of OTLP is %q: give http/protobuf, and the port for it, which is usually 4318", p))
		}
		return true
	}
	spans, metrics = signal("TRACES"), s.Metrics && signal("METRICS")
	if s.Function && s.Metrics && !metrics && err == nil {
		err = errors.New("WEFT_METRICS is otlp, and there is no OTEL_EXPORTER_OTLP_ENDPOINT: set it, or let metrics go to the log alone (health or emf)")
	}
	return spans, metrics, err
}

// place returns the attributes of a deployment.
func place(s Settings) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("weft.namespace", s.Namespace), attribute.String("weft.deployment", cmp.Or(s.Deployment, s.Namespace))}
}

// Providers are OpenTelemetry's providers that a program has set up itself. Either may be nil: it
// exports nothing.
type Providers struct {
	// Spans has to have the option sdktrace.WithIDGenerator(weftotel.IDs()): the spans of a
	// workflow find each other by their ids.
	Spans   *sdktrace.TracerProvider
	Metrics *sdkmetric.MeterProvider
}

// Open is for weft.Options and adapter.Settings: weftotel.Providers{...}.Open.
func (p Providers) Open(_ context.Context, s Settings) (Export, error) {
	return p.open(s)
}

func (p Providers) open(s observe.Settings) (observe.Telemetry, error) {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	t := &telemetry{providers: p, propagator: propagation.TraceContext{}}
	if p.Spans != nil {
		t.tracer = p.Spans.Tracer(scope)
	}
	var err error
	if p.Metrics != nil {
		t.instruments, err = newInstruments(p.Metrics.Meter(scope), s)
	}
	return t, err
}
