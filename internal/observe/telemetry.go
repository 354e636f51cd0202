package observe

import (
	"context"
	"log/slog"
)

// Telemetry is where spans go, and metrics with them. Package weftotel has one.
type Telemetry interface {
	Tracer
	// Flush hands on what is held back, as far as ctx allows.
	Flush(ctx context.Context) error
	// Close is Flush for the last time.
	Close(ctx context.Context) error
}

// Settings are what a telemetry is opened with.
type Settings struct {
	// Namespace is the Weft namespace of the deployment.
	Namespace string
	// Service names what runs, unless the environment does.
	Service string
	// Function says that the process is a Lambda function: it is frozen between invocations, and flushed before.
	Function bool
	// Metrics says that it takes metrics, too.
	Metrics bool
	// Log takes what goes wrong with the export.
	Log *slog.Logger
}

// Open opens a telemetry. It returns nil if the environment asks for none.
type Open func(ctx context.Context, s Settings) (Telemetry, error)
