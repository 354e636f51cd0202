package observe

import (
	"context"
	"log/slog"
)

// Telemetry exports spans, and metrics with them. Package weftotel has one.
type Telemetry interface {
	Tracer
	// Flush exports what is held back, until ctx ends.
	Flush(ctx context.Context) error
	// Close exports what is held back for the last time.
	Close(ctx context.Context) error
}

// Settings are the settings of a telemetry.
type Settings struct {
	// Namespace is the Weft namespace of the deployment.
	Namespace string
	// Deployment is the deployment's name; empty is the namespace.
	Deployment string
	// Service names the process, unless the environment does.
	Service string
	// Function says that the process is a Lambda function: it is frozen between invocations, and is
	// flushed before that.
	Function bool
	// Metrics says that it exports metrics, too.
	Metrics bool
	// Log gets the errors of the export.
	Log *slog.Logger
}

// Open opens a telemetry. It returns nil if the environment asks for none.
type Open func(ctx context.Context, s Settings) (Telemetry, error)
