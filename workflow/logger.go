package workflow

import (
	"context"
	"log/slog"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/seed-41655fb1/weft/engine"
)

// replayLogger drops the logs of workflow code while it is replayed.
type replayLogger struct {
	slog.Handler
	in *engine.Instance
}

func newReplayLogger(in *engine.Instance) *replayLogger {
	info := in.Info()
	h := slog.Default().Handler().WithAttrs([]slog.Attr{
		slog.String("workflowId", info.WorkflowID), slog.String("runId", string(info.RunID)), slog.String("workflowType", info.WorkflowType),
	})
	return &replayLogger{h, in}
}

// Enabled returns false while the workflow is replayed.
func (l *replayLogger) Enabled(ctx context.Context, level slog.Level) bool {
	return !l.in.Replaying() && l.Handler.Enabled(ctx, level)
}

// WithAttrs keeps the replay check.
func (l *replayLogger) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &replayLogger{l.Handler.WithAttrs(attrs), l.in}
}

// WithGroup keeps the replay check.
func (l *replayLogger) WithGroup(name string) slog.Handler {
	return &replayLogger{l.Handler.WithGroup(name), l.in}
}

// Logger returns a logger that is silent on replay and names the run. It writes to the handler of
// slog.Default. A task that is retried, or an update that is refused in the end, logs each time.
func Logger(ctx Context) *slog.Logger {
	return slog.New(newReplayLogger(ctx.instance()))
}

// Random returns a source of random numbers that repeats the same numbers on replay. Workflow code
// must not use the functions of math/rand or crypto/rand.
func Random(ctx Context) *rand.Rand { return ctx.instance().Random() }

// NewID returns a random id (a UUID) that is the same on replay.
func NewID(ctx Context) string {
	r := Random(ctx)
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // the variant of RFC 9562
	return id.String()
}
