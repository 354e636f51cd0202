// Package weftotel exports Weft's telemetry by OpenTelemetry: a trace for each workflow, and
// metrics. It is a separate package because the SDK and its exporters make a program larger and its
// start longer. A program that does not import it has neither.
//
// The local server, and a Lambda function:
//
//	weft.Main(registry, weft.Options{Telemetry: weftotel.Open})
//
//	adapter.Settings{Telemetry: weftotel.Open}.Main(adapter.FromEnvironment(), registrations...)
//
// [Open] does nothing unless the environment names an endpoint. It reads OpenTelemetry's variables:
//
//	OTEL_EXPORTER_OTLP_ENDPOINT        where to send, as in http://127.0.0.1:4318; OTLP over HTTP, in protobuf
//	OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT
//	OTEL_EXPORTER_OTLP_HEADERS         and the exporters' other variables: time-outs, compression, certificates
//	OTEL_TRACES_EXPORTER, OTEL_METRICS_EXPORTER   "none" exports no traces, or no metrics
//	OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG  which traces are kept; by default the caller decides, or all are
//	OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES   the exporting service
//	OTEL_SDK_DISABLED                  true exports nothing
//
// It sets the global tracer provider, so that spans of your activities are part of the workflow's
// trace:
//
//	func charge(ctx context.Context, o Order) (string, error) {
//		ctx, span := otel.Tracer("shop").Start(ctx, "card")
//		defer span.End()
//		...
//
// docs/observability.md has the spans, their names and attributes, and what they cost.
package weftotel
